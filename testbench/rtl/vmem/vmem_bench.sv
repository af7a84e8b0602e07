`default_nettype none
// VMEM with plain pins, for benches: C++ finds each field of a port by its name.
module vmem_bench
  import chip_pkg::*;
#(
  localparam int unsigned AddrBits = $clog2(VmemWords),
  localparam int unsigned CountBits = $clog2(DmaWords + 1),
  localparam int unsigned WordBits = WordBytes * 8,
  localparam int unsigned BeatChunks = DmaWords * WordBytes / weft_pkg::DmaGranuleBytes,
  localparam int unsigned Granules = WordBytes / 8,    // of a word: 64 bits, each with its ECC
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
  output logic [NumMxu-1:0][WordBits-1:0] x_rdata_o,
  output logic [NumMxu-1:0][Granules-1:0] x_poison_o,
  // MXUs: weights
  input  logic [NumMxu-1:0]               w_req_i,
  input  logic [NumMxu-1:0][AddrBits-1:0] w_addr_i,
  output logic [NumMxu-1:0]               w_gnt_o,
  output logic [NumMxu-1:0]               w_rvalid_o,
  output logic [NumMxu-1:0][WordBits-1:0] w_rdata_o,
  output logic [NumMxu-1:0][Granules-1:0] w_poison_o,
  // VPU: operand a, a port for each row of a group; one word or the pair from an even address
  input  logic [Sublanes-1:0]          va_req_i,
  input  logic                         va_pair_i,
  input  logic [Sublanes-1:0][AddrBits-1:0]   va_addr_i,
  output logic [Sublanes-1:0]          va_gnt_o,
  output logic [Sublanes-1:0]          va_rvalid_o,
  output logic [Sublanes-1:0][2*WordBits-1:0] va_rdata_o,
  output logic [Sublanes-1:0][2*Granules-1:0] va_poison_o,
  // VPU: operand b
  input  logic [Sublanes-1:0]          vb_req_i,
  input  logic                         vb_pair_i,
  input  logic [Sublanes-1:0][AddrBits-1:0]   vb_addr_i,
  output logic [Sublanes-1:0]          vb_gnt_o,
  output logic [Sublanes-1:0]          vb_rvalid_o,
  output logic [Sublanes-1:0][2*WordBits-1:0] vb_rdata_o,
  output logic [Sublanes-1:0][2*Granules-1:0] vb_poison_o,
  // VPU: result
  input  logic [Sublanes-1:0]          vw_req_i,
  input  logic                         vw_pair_i,
  input  logic                         vw_upper_i,
  input  logic [Sublanes-1:0][AddrBits-1:0]   vw_addr_i,
  input  logic [Sublanes-1:0][2*WordBits-1:0] vw_wdata_i,
  output logic [Sublanes-1:0]          vw_gnt_o,
  // DMA out: 1 to DmaWords consecutive words
  input  logic                         dr_req_i,
  input  logic [AddrBits-1:0]          dr_addr_i,
  input  logic [CountBits-1:0]         dr_words_i,
  output logic                         dr_gnt_o,
  output logic                         dr_rvalid_o,
  output logic [DmaWords*WordBits-1:0] dr_rdata_o,
  output logic [DmaWords*Granules-1:0] dr_poison_o,
  // DMA in: 1 to DmaWords consecutive words, a strobe for each 16 bytes
  input  logic                         dw_req_i,
  input  logic [AddrBits-1:0]          dw_addr_i,
  input  logic [CountBits-1:0]         dw_words_i,
  input  logic [BeatChunks-1:0]        dw_strb_i,
  input  logic [DmaWords*WordBits-1:0] dw_wdata_i,
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
  port_pkg::words_answer_t x_answer, w_answer;
  port_pkg::rows_answer_t va_answer, vb_answer;
  port_pkg::beat_answer_t dr_answer;
  assign {x_poison_o, x_rdata_o} = x_answer;
  assign {w_poison_o, w_rdata_o} = w_answer;
  assign {va_poison_o, va_rdata_o} = va_answer;
  assign {vb_poison_o, vb_rdata_o} = vb_answer;
  assign {dr_poison_o, dr_rdata_o} = dr_answer;

  vmem u_vmem (
    .clk_i, .rst_ni, .x_req_i, .x_addr_i, .x_gnt_o, .x_rvalid_o, .x_o(x_answer),
    .w_req_i, .w_addr_i, .w_gnt_o, .w_rvalid_o, .w_o(w_answer),
    .va_req_i, .va_i('{pair: va_pair_i, addr: va_addr_i}), .va_gnt_o, .va_rvalid_o,
    .va_o(va_answer), .vb_req_i, .vb_i('{pair: vb_pair_i, addr: vb_addr_i}), .vb_gnt_o,
    .vb_rvalid_o, .vb_o(vb_answer), .vw_req_i,
    .vw_i('{upper: vw_upper_i, pair: vw_pair_i, addr: vw_addr_i, data: vw_wdata_i}), .vw_gnt_o,
    .dr_req_i, .dr_gnt_o, .dr_rvalid_o,
    .dr_i('{words: dr_words_i, addr: dr_addr_i}), .dr_o(dr_answer), .dw_req_i, .dw_gnt_o,
    .dw_i('{words: dw_words_i, addr: dw_addr_i, strb: dw_strb_i, data: dw_wdata_i}),
    .cnt_grant_o, .cnt_conflict_o, .cnt_corrected_o, .cnt_poison_o, .flip_i, .flip_write_o);
endmodule
`default_nettype wire
