// middle is used, and nothing drives it.
module undriven (input logic a_i, output logic y_o);
  wire middle;
  assign y_o = a_i & middle;
endmodule
