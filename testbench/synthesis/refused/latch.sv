// Kept open by enable_i: a latch.
module latch (input logic enable_i, input logic [3:0] d_i, output logic [3:0] q_o);
  always_latch if (enable_i) q_o = d_i;
endmodule
