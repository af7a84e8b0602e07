`default_nettype none
// Sum, maximum or minimum of a row as a binary tree of neighbours, a level a cycle, a row a cycle.
//
// The trick: the nodes stand in heap order (node k has the children 2k and 2k + 1, the lanes are
// nodes N to 2N - 1), so the whole pipelined tree is one loop over k. A node whose right half lies
// at or beyond cols passes its left child through: an absent lane is no zero.
//
//   lanes    0   1   2   3      nodes N .. 2N-1
//             \ /     \ /        level 1, level 2, ...
//              +   ..  +          node 1: root_o
// Latency log2(N) steps, throughput one row a step.
module vpu_reduce
  import weft_pkg::*;
  import chip_pkg::*;
(
  input  logic            clk_i,
  // a command starts: which lanes are there
  input  logic            load_i,
  input  logic [15:0]     cols_i,
  // one step of all levels; i32: integers, largest or smallest instead of sum
  input  logic            step_i,
  input  logic            i32_i,
  input  logic            largest_i,
  input  logic            smallest_i,
  input  logic [32*N-1:0] row_i,
  output logic [31:0]     root_o
);
  localparam int unsigned Levels = $clog2(N);

  if (N < 2 || N != 2 ** Levels) begin : gen_check_n
    $error("vpu_reduce: N = %0d is no power of two of at least 2", N);
  end

  // Private to the process below (all others read root_q), hence blocking assignment is no race.
  // verilator lint_off BLKSEQ
  logic [31:0] node[N];     // node 0 does not exist
  logic [31:0] joins[N];    // all ones: the right child is there
  logic [31:0] left[N], right[N], result[N];
  logic [31:0] root_q;

  // The first lane under node k's right child decides whether that child is there.
  task automatic load();
    logic [31:0] first;
    for (int unsigned k = 0; k < N; k++) begin
      first = 2 * k + 1;
      for (int unsigned level = 0; level < Levels; level++)
        first = first < N ? first << 1 : first;
      joins[k] = first - N < 32'(cols_i) ? '1 : '0;
    end
  endtask

  function automatic logic [31:0] step();
    for (int unsigned k = 0; k < N / 2; k++) begin
      left[k] = node[2*k];
      right[k] = node[2*k+1];
    end
    for (int unsigned i = 0; i < N / 2; i++) begin
      left[N/2+i] = row_i[64*i +: 32];
      right[N/2+i] = row_i[64*i+32 +: 32];
    end
    unique case ({i32_i, largest_i, smallest_i})
      3'b010: for (int unsigned k = 0; k < N; k++)
        result[k] = vpu_lane_pkg::f32_max(left[k], right[k]);
      3'b001: for (int unsigned k = 0; k < N; k++)
        result[k] = vpu_lane_pkg::f32_min(left[k], right[k]);
      3'b100: for (int unsigned k = 0; k < N; k++) result[k] = left[k] + right[k];
      3'b110: for (int unsigned k = 0; k < N; k++)
        result[k] = vpu_lane_pkg::i32_max(left[k], right[k]);
      3'b101: for (int unsigned k = 0; k < N; k++)
        result[k] = vpu_lane_pkg::i32_min(left[k], right[k]);
      default: for (int unsigned k = 0; k < N; k++)
        result[k] = vpu_lane_pkg::f32_add(left[k], right[k]);
    endcase
    for (int unsigned k = 0; k < N; k++)
      node[k] = (result[k] & joins[k]) | (left[k] & ~joins[k]);
    return node[1];
  endfunction

  // verilator lint_on BLKSEQ

  always_ff @(posedge clk_i) begin
    if (load_i) load();
    if (step_i) root_q <= step();
  end

  assign root_o = root_q;
endmodule
`default_nettype wire
