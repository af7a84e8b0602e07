`default_nettype none
// Results of rcp and rsqrt, as vpu_functions computes them: of operands whose subnormals are zeros.
module result_function (
  input  wire logic [31:0] x_i, p_i,
  output logic [31:0]      rcp_o, rsqrt_o
);
  wire [31:0] x = vpu_lane_pkg::f32_canonical(x_i);
  assign rcp_o = vpu_function_pkg::rcp_result(x, p_i);
  assign rsqrt_o = vpu_function_pkg::rsqrt_result(x, p_i);
endmodule
`default_nettype wire
