`default_nettype none
// Who may touch which bank in this cycle: a mask of banks for each request, granted in the order of
// the deadlines.
//
// Reads:  x > w > va > vb > dr, x and w of MXU 0 before those of MXU 1.  Writes: vw > dw.
// The VPU's rows each have a port; of a group the first rows go first, so two that write one word
// do so in their order.
// Reads and writes never meet: a bank has a port for each. An access is granted whole or not
// at all. A DMA request that was refused StarveLimit times in a row goes first, once. Combinational
// from request to grant; the two refusal counts are the only state.
module vmem_arbiter #(
  parameter int unsigned Banks = 16,
  parameter int unsigned DmaWords = 4,
  parameter int unsigned Mxus = 1,
  parameter int unsigned Sublanes = 1,
  parameter int unsigned StarveLimit = 15,
  localparam int unsigned BankBits = $clog2(Banks),
  localparam int unsigned CountBits = $clog2(DmaWords + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // reads
  input  logic [Mxus-1:0]      x_req_i,
  input  logic [Mxus*BankBits-1:0] x_bank_i,
  output logic [Mxus-1:0]      x_gnt_o,
  input  logic [Mxus-1:0]      w_req_i,
  input  logic [Mxus*BankBits-1:0] w_bank_i,
  output logic [Mxus-1:0]      w_gnt_o,
  input  logic [Sublanes-1:0]  va_req_i,
  input  logic                 va_pair_i,
  input  logic [Sublanes*BankBits-1:0] va_bank_i,
  output logic [Sublanes-1:0]  va_gnt_o,
  input  logic [Sublanes-1:0]  vb_req_i,
  input  logic                 vb_pair_i,
  input  logic [Sublanes*BankBits-1:0] vb_bank_i,
  output logic [Sublanes-1:0]  vb_gnt_o,
  input  logic                 dr_req_i,
  input  logic [CountBits-1:0] dr_words_i,
  input  logic [BankBits-1:0]  dr_bank_i,
  output logic                 dr_gnt_o,
  // writes
  input  logic [Sublanes-1:0]  vw_req_i,
  input  logic                 vw_pair_i,
  input  logic [Sublanes*BankBits-1:0] vw_bank_i,
  output logic [Sublanes-1:0]  vw_gnt_o,
  input  logic                 dw_req_i,
  input  logic [CountBits-1:0] dw_words_i,
  input  logic [BankBits-1:0]  dw_bank_i,
  output logic                 dw_gnt_o
);
  localparam int unsigned StarveBits = $clog2(StarveLimit + 1);

  logic [StarveBits-1:0] dr_refused_q, dw_refused_q;
  wire dr_first = dr_req_i && dr_refused_q == StarveBits'(StarveLimit);
  wire dw_first = dw_req_i && dw_refused_q == StarveBits'(StarveLimit);

  // The banks of `words` consecutive words: ones rotated left by the first bank.
  function automatic logic [Banks-1:0] banks(input logic [BankBits-1:0] first,
                                             input logic [CountBits-1:0] words);
    logic [2*Banks-1:0] ones;
    ones  = (({{(2 * Banks - 1) {1'b0}}, 1'b1} << words) - 1'b1) << first;
    banks = ones[Banks-1:0] | ones[2*Banks-1:Banks];
  endfunction

  logic [Mxus*Banks-1:0] x_mask, w_mask;
  for (genvar u = 0; u < Mxus; u++) begin : gen_mask
    assign x_mask[u*Banks+:Banks] = banks(x_bank_i[u*BankBits+:BankBits], CountBits'(1));
    assign w_mask[u*Banks+:Banks] = banks(w_bank_i[u*BankBits+:BankBits], CountBits'(1));
  end
  logic [Sublanes*Banks-1:0] va_mask, vb_mask, vw_mask;
  for (genvar i = 0; i < Sublanes; i++) begin : gen_row_mask
    assign va_mask[i*Banks+:Banks] = banks(va_bank_i[i*BankBits+:BankBits],
                                           va_pair_i ? CountBits'(2) : CountBits'(1));
    assign vb_mask[i*Banks+:Banks] = banks(vb_bank_i[i*BankBits+:BankBits],
                                           vb_pair_i ? CountBits'(2) : CountBits'(1));
    assign vw_mask[i*Banks+:Banks] = banks(vw_bank_i[i*BankBits+:BankBits],
                                           vw_pair_i ? CountBits'(2) : CountBits'(1));
  end
  wire [Banks-1:0] dr_mask = banks(dr_bank_i, dr_words_i);
  wire [Banks-1:0] dw_mask = banks(dw_bank_i, dw_words_i);

  logic [Banks-1:0] taken;  // read ports that a higher priority has
  always_comb begin
    taken    = dr_first ? dr_mask : '0;
    for (int unsigned u = 0; u < Mxus; u++) begin
      x_gnt_o[u] = x_req_i[u] && (taken & x_mask[u*Banks+:Banks]) == '0;
      taken      = x_gnt_o[u] ? taken | x_mask[u*Banks+:Banks] : taken;
    end
    for (int unsigned u = 0; u < Mxus; u++) begin
      w_gnt_o[u] = w_req_i[u] && (taken & w_mask[u*Banks+:Banks]) == '0;
      taken      = w_gnt_o[u] ? taken | w_mask[u*Banks+:Banks] : taken;
    end
    for (int unsigned i = 0; i < Sublanes; i++) begin
      va_gnt_o[i] = va_req_i[i] && (taken & va_mask[i*Banks+:Banks]) == '0;
      taken       = va_gnt_o[i] ? taken | va_mask[i*Banks+:Banks] : taken;
    end
    for (int unsigned i = 0; i < Sublanes; i++) begin
      vb_gnt_o[i] = vb_req_i[i] && (taken & vb_mask[i*Banks+:Banks]) == '0;
      taken       = vb_gnt_o[i] ? taken | vb_mask[i*Banks+:Banks] : taken;
    end
    dr_gnt_o = dr_first || (dr_req_i && (taken & dr_mask) == '0);
  end

  logic [Banks-1:0] written;  // write ports that a higher priority has
  always_comb begin
    written = dw_first ? dw_mask : '0;
    for (int unsigned i = 0; i < Sublanes; i++) begin
      vw_gnt_o[i] = vw_req_i[i] && (written & vw_mask[i*Banks+:Banks]) == '0;
      written     = vw_gnt_o[i] ? written | vw_mask[i*Banks+:Banks] : written;
    end
    dw_gnt_o = dw_first || (dw_req_i && (written & dw_mask) == '0);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      dr_refused_q <= '0;
      dw_refused_q <= '0;
    end else begin
      if (!dr_req_i || dr_gnt_o) dr_refused_q <= '0;
      else dr_refused_q <= dr_refused_q + 1'b1;
      if (!dw_req_i || dw_gnt_o) dw_refused_q <= '0;
      else dw_refused_q <= dw_refused_q + 1'b1;
    end
  end
endmodule
`default_nettype wire
