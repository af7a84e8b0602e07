// An operator % of a property is a value that the solver chooses: a new one for each place and cycle.
(* techmap_celltype = "$mod" *)
module free_result (A, B, Y);
  parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 1, B_WIDTH = 1, Y_WIDTH = 1;
  input [A_WIDTH-1:0] A;
  input [B_WIDTH-1:0] B;
  output [Y_WIDTH-1:0] Y;
  \$anyseq #(.WIDTH(Y_WIDTH)) value (.Y(Y));
endmodule
