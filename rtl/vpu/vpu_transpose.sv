`default_nettype none
// Turns rows into columns: takes up to N rows, then gives their columns, one a step.
//
//   row_i ─► [N x N x 32 bits] ─► column ─► [column_o]
//
// Latency: emit_i to column_o 1 step. Throughput one row or one column a step, not both.
module vpu_transpose
  import chip_pkg::*;
(
  input  logic            clk_i,
  input  logic            load_i,    // row_i becomes row `index_i`
  input  logic            emit_i,    // column `index_i`
  input  logic [15:0]     index_i,
  input  logic [32*N-1:0] row_i,
  output logic [32*N-1:0] column_o
);
  localparam int unsigned IndexBits = $clog2(N * N);

  // Private to the process below, hence blocking assignment is no race.
  // verilator lint_off BLKSEQ
  logic [31:0] element[N*N];  // row-major
  logic [32*N-1:0] column_d, column_q;

  task automatic load();
    for (int unsigned i = 0; i < N; i++)
      element[IndexBits'(32'(index_i) * N + i)] = row_i[32*i +: 32];
  endtask

  task automatic emit();
    for (int unsigned i = 0; i < N; i++)
      column_d[32*i +: 32] = element[IndexBits'(N * i + 32'(index_i))];
  endtask
  // verilator lint_on BLKSEQ

  always_ff @(posedge clk_i) begin
    if (load_i) load();
    if (emit_i) begin
      emit();
      column_q <= column_d;
    end
  end

  assign column_o = column_q;
endmodule
`default_nettype wire
