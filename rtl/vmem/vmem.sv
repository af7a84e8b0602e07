`default_nettype none
// The scratchpad: VmemWords words of WordBytes bytes in VmemBanks banks; word a lies in bank a %
// VmemBanks, row a / VmemBanks.
//
//   x w va vb dr ──► vmem_arbiter ──gnt──► vmem_storage ──► rdata, one cycle after gnt
//          vw dw ──►                 ──gnt──►
//
// gnt answers req in the same cycle; a refused request is repeated by its owner. Every bank is read
// once and written once a cycle, so all ports can move in every cycle whose banks differ. A
// read beside a write of the same word sees the new one.
module vmem
  import chip_pkg::*;
#(
  localparam int unsigned AddrBits = $clog2(VmemWords),
  localparam int unsigned CountBits = $clog2(DmaWords + 1),
  localparam int unsigned Sublanes = VpuSublanes,
  localparam int unsigned Counts = 4 + 2 * NumMxu
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  // MXUs: rows of x
  input  logic [NumMxu-1:0]               x_req_i,
  input  logic [NumMxu-1:0][AddrBits-1:0] x_addr_i,
  output logic [NumMxu-1:0]               x_gnt_o,
  output logic [NumMxu-1:0]               x_rvalid_o,
  output port_pkg::words_answer_t         x_o,
  // MXUs: weights
  input  logic [NumMxu-1:0]               w_req_i,
  input  logic [NumMxu-1:0][AddrBits-1:0] w_addr_i,
  output logic [NumMxu-1:0]               w_gnt_o,
  output logic [NumMxu-1:0]               w_rvalid_o,
  output port_pkg::words_answer_t         w_o,
  // VPU: operand a, a port for each row of a group; one word or the pair from an even address
  input  logic [Sublanes-1:0]          va_req_i,
  input  port_pkg::rows_read_t         va_i,
  output logic [Sublanes-1:0]          va_gnt_o,
  output logic [Sublanes-1:0]          va_rvalid_o,
  output port_pkg::rows_answer_t       va_o,
  // VPU: operand b
  input  logic [Sublanes-1:0]          vb_req_i,
  input  port_pkg::rows_read_t         vb_i,
  output logic [Sublanes-1:0]          vb_gnt_o,
  output logic [Sublanes-1:0]          vb_rvalid_o,
  output port_pkg::rows_answer_t       vb_o,
  // VPU: result
  input  logic [Sublanes-1:0]          vw_req_i,
  input  port_pkg::rows_write_t        vw_i,
  output logic [Sublanes-1:0]          vw_gnt_o,
  // DMA out: 1 to DmaWords consecutive words
  input  logic                         dr_req_i,
  input  port_pkg::beat_read_t         dr_i,
  output logic                         dr_gnt_o,
  output logic                         dr_rvalid_o,
  output port_pkg::beat_answer_t       dr_o,
  // DMA in: 1 to DmaWords consecutive words, a strobe for each 16 bytes
  input  logic                         dw_req_i,
  input  port_pkg::beat_write_t        dw_i,
  output logic                         dw_gnt_o,
  // counters, this cycle: x and w of each MXU, vpu read (a or b), vpu write, dma read, dma write
  output logic [Counts-1:0]            cnt_grant_o,
  output logic [Counts-1:0]            cnt_conflict_o,
  // granules with an error that were read in the last cycle
  output logic [15:0]                  cnt_corrected_o,
  output logic [15:0]                  cnt_poison_o,
  // fault injection
  input  core_pkg::flip_t              flip_i,
  output logic                         flip_write_o
);
  localparam int unsigned BankBits = $clog2(VmemBanks);
  if (VmemBanks != 1 << BankBits) $error("VmemBanks is %0d, not a power of two", VmemBanks);
  if (VmemWords % VmemBanks != 0)
    $error("VmemWords %0d is no multiple of VmemBanks %0d", VmemWords, VmemBanks);
  if (DmaWords > VmemBanks) $error("DmaWords %0d exceeds VmemBanks %0d", DmaWords, VmemBanks);
  if (WordBytes % weft_pkg::DmaGranuleBytes != 0)
    $error("WordBytes %0d is no multiple of the DMA's granule", WordBytes);

  logic [NumMxu*BankBits-1:0] x_bank, w_bank;
  logic [Sublanes-1:0][BankBits-1:0] va_bank, vb_bank, vw_bank;
  for (genvar u = 0; u < NumMxu; u++) begin : gen_bank
    assign x_bank[u*BankBits+:BankBits] = x_addr_i[u][BankBits-1:0];
    assign w_bank[u*BankBits+:BankBits] = w_addr_i[u][BankBits-1:0];
  end

  for (genvar i = 0; i < Sublanes; i++) begin : gen_row_bank
    assign va_bank[i] = va_i.addr[i][BankBits-1:0];
    assign vb_bank[i] = vb_i.addr[i][BankBits-1:0];
    assign vw_bank[i] = vw_i.addr[i][BankBits-1:0];
  end

  vmem_arbiter #(
    .Banks(VmemBanks), .DmaWords(DmaWords), .Mxus(NumMxu), .Sublanes(Sublanes)
  ) u_arbiter (
    .clk_i, .rst_ni,
    .x_req_i, .x_bank_i(x_bank), .x_gnt_o,
    .w_req_i, .w_bank_i(w_bank), .w_gnt_o,
    .va_req_i, .va_pair_i(va_i.pair), .va_bank_i(va_bank), .va_gnt_o,
    .vb_req_i, .vb_pair_i(vb_i.pair), .vb_bank_i(vb_bank), .vb_gnt_o,
    .dr_req_i, .dr_words_i(dr_i.words), .dr_bank_i(dr_i.addr[BankBits-1:0]), .dr_gnt_o,
    .vw_req_i, .vw_pair_i(vw_i.pair), .vw_bank_i(vw_bank), .vw_gnt_o,
    .dw_req_i, .dw_words_i(dw_i.words), .dw_bank_i(dw_i.addr[BankBits-1:0]), .dw_gnt_o
  );

  vmem_storage u_storage (
    .clk_i,
    .x_en_i(x_gnt_o), .x_addr_i, .x_o, .w_en_i(w_gnt_o), .w_addr_i, .w_o,
    .va_en_i(va_gnt_o), .va_i, .va_o, .vb_en_i(vb_gnt_o), .vb_i, .vb_o,
    .dr_en_i(dr_gnt_o), .dr_i, .dr_o, .vw_en_i(vw_gnt_o), .vw_i, .dw_en_i(dw_gnt_o), .dw_i,
    .cnt_corrected_o, .cnt_poison_o, .flip_i, .flip_write_o
  );

  always_ff @(posedge clk_i) begin
    x_rvalid_o  <= rst_ni ? x_gnt_o : '0;
    w_rvalid_o  <= rst_ni ? w_gnt_o : '0;
    va_rvalid_o <= rst_ni ? va_gnt_o : '0;
    vb_rvalid_o <= rst_ni ? vb_gnt_o : '0;
    dr_rvalid_o <= rst_ni && dr_gnt_o;
  end

  assign cnt_grant_o = {dw_gnt_o, dr_gnt_o, vw_gnt_o != '0, (va_gnt_o | vb_gnt_o) != '0, w_gnt_o,
                        x_gnt_o};
  assign cnt_conflict_o = {
    dw_req_i && !dw_gnt_o, dr_req_i && !dr_gnt_o, (vw_req_i & ~vw_gnt_o) != '0,
    ((va_req_i & ~va_gnt_o) | (vb_req_i & ~vb_gnt_o)) != '0, w_req_i & ~w_gnt_o, x_req_i & ~x_gnt_o
  };

  // A pair starts at an even address, a DMA access has at least one word.
  for (genvar i = 0; i < Sublanes; i++) begin : gen_even
    VaEven_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
                               va_req_i[i] && va_i.pair |-> !va_i.addr[i][0]);
    VbEven_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
                               vb_req_i[i] && vb_i.pair |-> !vb_i.addr[i][0]);
    VwEven_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
                               vw_req_i[i] && vw_i.pair |-> !vw_i.addr[i][0]);
    VwUpper_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                vw_req_i[i] |-> !(vw_i.pair && vw_i.upper));
  end
  DrWords_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
                              dr_req_i |-> dr_i.words != '0 && dr_i.words <= CountBits'(DmaWords));
  DwWords_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
                              dw_req_i |-> dw_i.words != '0 && dw_i.words <= CountBits'(DmaWords));
endmodule
`default_nettype wire
