// For properties that the slang front end reads: a value that the solver chooses, once or anew in each cycle. Where
// Yosys 0.23 reads, the same is written (* anyconst *) and (* anyseq *).
module any_const #(parameter int unsigned WIDTH = 1) (output logic [WIDTH-1:0] Y);
endmodule
module any_seq #(parameter int unsigned WIDTH = 1) (output logic [WIDTH-1:0] Y);
endmodule
