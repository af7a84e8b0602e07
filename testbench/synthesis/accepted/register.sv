// A register with an enable: hardware.
module register (input logic clk_i, input logic enable_i, input logic [3:0] d_i, output logic [3:0] q_o);
  always_ff @(posedge clk_i) if (enable_i) q_o <= d_i;
endmodule
