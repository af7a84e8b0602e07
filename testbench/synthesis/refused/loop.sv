// y_o depends on itself within the cycle.
module loop (input logic a_i, output wire y_o);
  wire back = ~(a_i & y_o);
  assign y_o = ~(back & a_i);
endmodule
