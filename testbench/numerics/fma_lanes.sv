`default_nettype none
// Test top: the multiply-add of a PE in 256 lanes at once, without a clock: fma(), and one link of
// the array's unpacked chain with its verdict on range.
module fma_lanes (
  input  wire logic [15:0] a_i [256],
  input  wire logic [15:0] b_i [256],
  input  wire logic [31:0] c_i [256],
  output logic [31:0]      fma_o [256],
  output logic [31:0]      link_o [256],
  output logic [31:0]      link_seen_o [256]   // bits outside ExpLegal: the link may not be taken
);
  import bf16_fma_pkg::*;

  always_comb begin
    for (int unsigned j = 0; j < 256; j++) fma_o[j] = fma(a_i[j], b_i[j], c_i[j]);
  end
  always_comb begin
    for (int unsigned j = 0; j < 256; j++) begin
      logic [31:0] m, e, c_e, odd;
      c_e = sum_exponent(c_i[j]);
      odd = special(a_i[j]) | special(b_i[j]) | sum_special(c_i[j]) ? SignBit : 32'd0;
      add_product(sum_significand(c_i[j]), c_e, (significand(a_i[j]) << 13) * significand(b_i[j]),
                  exponent(a_i[j]) + exponent(b_i[j]), m, e);
      link_o[j] = pack(m, e);
      link_seen_o[j] = (c_e | (c_e + 32'd3) | e | (e + 32'd3) | odd) & ~ExpLegal;
    end
  end
endmodule
`default_nettype wire
