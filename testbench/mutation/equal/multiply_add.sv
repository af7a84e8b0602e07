`default_nettype none
// fma() of all operands.
module multiply_add (
  input  wire logic [15:0] a_i, b_i,
  input  wire logic [31:0] c_i,
  output logic [31:0]      sum_o
);
  import bf16_fma_pkg::*;
  assign sum_o = fma(a_i, b_i, c_i);
endmodule
`default_nettype wire
