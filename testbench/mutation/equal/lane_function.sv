`default_nettype none
// A function of vpu_lane_pkg, for a proof that a mutant of it gives the same for all operands.
module lane_function #(
  parameter int unsigned Function = 0
) (
  input  wire logic [31:0] a_i, b_i, c_i,
  output logic [31:0]      y_o
);
  import vpu_lane_pkg::*;
  if (Function == 0) begin : gen_add
    assign y_o = f32_add(a_i, b_i);
  end else begin : gen_fma
    assign y_o = f32_fma(a_i, b_i, c_i);
  end
endmodule
`default_nettype wire
