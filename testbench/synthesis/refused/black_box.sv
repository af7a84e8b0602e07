// A cell whose inside is not told, and which is no RAM.
(* blackbox *)
module unknown_cell (input logic a_i, output logic y_o);
endmodule
module black_box (input logic a_i, output logic y_o);
  unknown_cell u_cell (.a_i, .y_o);
endmodule
