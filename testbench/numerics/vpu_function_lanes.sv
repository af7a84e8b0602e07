`default_nettype none
// Test top: the VPU's function unit of preset v5e-1mxu on rows of values, one row a clock.
module vpu_function_lanes
  import chip_pkg::*;
(
  input  logic            clk_i,
  input  logic [7:0]      op_i,
  input  logic [32*N-1:0] a_i,
  output logic [32*N-1:0] y_o    // six clocks later
);
  logic [32*N-1:0] x;

  for (genvar i = 0; i < N; i++) begin : gen_lane
    assign x[32*i +: 32] = vpu_lane_pkg::f32_canonical(a_i[32*i +: 32]);
  end

  vpu_functions u_functions (.clk_i, .step_i(1'b1), .op_i, .x_i(x), .y_o);
endmodule
`default_nettype wire
