`default_nettype none
// The arithmetic of a PE as a bench sees it: fma(), and one link of the unpacked chain with its verdict on range.
module fma_probe (
  input  wire logic [15:0] a_i,
  input  wire logic [15:0] b_i,
  input  wire logic [31:0] c_i,
  output logic [31:0]      fma_o,
  output logic [31:0]      link_o,
  output logic             link_valid_o     // the link met only what the unpacked form knows
);
  import bf16_fma_pkg::*;
  logic [31:0] m, e, seen;

  assign fma_o = fma(a_i, b_i, c_i);
  always_comb begin
    seen = sum_exponent(c_i) | (sum_exponent(c_i) + 32'd3);
    add_product(sum_significand(c_i), sum_exponent(c_i), (significand(a_i) << 13) * significand(b_i),
                exponent(a_i) + exponent(b_i), m, e);
    seen = seen | e | (e + 32'd3);
    link_o = pack(m, e);
    link_valid_o = ((seen & ~ExpLegal) == 32'd0) & !special(a_i) & !special(b_i) & !sum_special(c_i);
  end
endmodule
`default_nettype wire
