// One wire, two drivers.
module two_drivers (input logic a_i, input logic b_i, output wire y_o);
  assign y_o = a_i;
  assign y_o = b_i;
endmodule
