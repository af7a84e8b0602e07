`default_nettype none
// Turns rows into columns: takes up to N rows, then gives their columns, a group a step.
//
//   rows_i ─► [N x N x 32 bits] ─► columns ─► [columns_o]
//
// Latency: emit_i to columns_o 1 step. Throughput Sublanes rows or columns a step, not both.
module vpu_transpose
  import chip_pkg::*;
#(
  parameter int unsigned Sublanes = VpuSublanes
) (
  input  logic                          clk_i,
  input  logic                          load_i,    // row i of rows_i becomes row `index_i` + i
  input  logic                          emit_i,    // columns from `index_i` on
  input  logic [15:0]                   index_i,
  input  logic [Sublanes-1:0][32*N-1:0] rows_i,
  output logic [Sublanes-1:0][32*N-1:0] columns_o
);
  localparam int unsigned IndexBits = $clog2(N * N);

  if (N % Sublanes != 0) $error("vpu_transpose: %0d rows are no groups of %0d", N, Sublanes);

  // Private to the process below, hence blocking assignment is no race.
  // verilator lint_off BLKSEQ
  logic [31:0] element[N*N];  // row-major
  logic [Sublanes-1:0][32*N-1:0] columns_d, columns_q;

  task automatic load();
    for (int unsigned s = 0; s < Sublanes; s++)
      for (int unsigned i = 0; i < N; i++)
        element[IndexBits'((32'(index_i) + s) * N + i)] = rows_i[s][32*i +: 32];
  endtask

  task automatic emit();
    for (int unsigned s = 0; s < Sublanes; s++)
      for (int unsigned i = 0; i < N; i++)
        columns_d[s][32*i +: 32] = element[IndexBits'(N * i + 32'(index_i) + s)];
  endtask
  // verilator lint_on BLKSEQ

  always_ff @(posedge clk_i) begin
    if (load_i) load();
    if (emit_i) begin
      emit();
      columns_q <= columns_d;
    end
  end

  assign columns_o = columns_q;
endmodule
`default_nettype wire
