`default_nettype none
// A chain of multiply-adds in unpacked form: the sums that pack() meets. Products are any number that two significands can give.
module sum_chain (
  input  wire logic        clk_i, rst_ni, start_i,
  input  wire logic [31:0] c_i,
  input  wire logic [29:0] product_i,
  input  wire logic [31:0] exponent_i,
  output logic [31:0]      sum_o
);
  import bf16_fma_pkg::*;
  logic [31:0] m_q, e_q, m_d, e_d;
  wire [31:0] product = product_i == 30'h20000000 ? 32'd0 : {{2{product_i[29]}}, product_i};
  always_comb add_product(m_q, e_q, product, exponent_i, m_d, e_d);
  always_ff @(posedge clk_i) begin
    m_q <= start_i ? sum_significand(c_i) : m_d;
    e_q <= start_i ? sum_exponent(c_i) : e_d;
    if (!rst_ni) m_q <= 32'd0;
  end
  assign sum_o = pack(m_q, e_q);
  wire invariant_m = $signed(m_q) <= 32'sh10000000 && $signed(m_q) >= -32'sh10000000;
endmodule
`default_nettype wire
