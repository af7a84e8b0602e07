// The array as vector loops and as PE instances, side by side behind the real mxu_issue, fed with tiles of weights and rows
// of x as the walks feed them: any sizes, data, idles and seeds. INT8: the type of
// all tiles. Lanes below a row's cols are compared in
// the cycle in which ACC takes them.
module array_equal
  import mxu_pkg::*;
(
  input logic         clk_i,
  input logic         rst_ni,
  input logic         row_valid_i,
  input logic         tile_last_i,       // the row is its tile's last
  input word_t        x_i,
  input logic [1:0]   seed_i,
  input lanes_t       acc_i,             // what ACC reads for seeds
  input logic         weight_valid_i,
  input word_t        w_i,
  input count_t       rows_i, cols_i     // of a tile, taken with its first word
);
  localparam int unsigned Last = Flight;
  // Four bits of each value are free: those that make it special, and two more.
  localparam word_t Free = {N{16'hc003}};
  localparam lanes_t FreeSum = {N{32'hc0000003}};
  typedef struct packed {
    count_t rows;
    count_t cols;
  } tile_t;
  logic reset_done = 1'b0;
  tile_t  loading_q, active_q, loading, active;
  count_t words_q;                       // of the tile that is loaded
  logic   start_q;                       // the next row is its tile's first
  logic [Last:0] issued_q;               // bit k: a row was issued k + 1 cycles ago
  logic [Last:0][LaneBits:0] cols_q;

  assign loading = words_q == 0 ? '{rows: rows_i, cols: cols_i} : loading_q;
  assign active = start_q ? loading_q : active_q;

  row_ctl_t row;
  weight_ctl_t weight;
  always_comb begin
    row = '0;
    row.swap = start_q;
    row.tile_last = tile_last_i;
    row.rows = active.rows;
    row.cols = active.cols;
    row.int8 = `INT8;
    weight.first = words_q == 0;
    weight.last = words_q + 1'b1 == loading.rows;
    weight.index = words_q;
    weight.row = loading.rows - 1'b1 - words_q;
    weight.cols = loading.cols;
    weight.int8 = `INT8;
  end

  logic row_issue, weight_issue, flight;
  mxu_issue u_issue (
      .clk_i, .rst_ni, .arriving_i(1'b0), .active_i(1'b0), .rows_left_i(1'b0), .retire_o(), .row_valid_i, .row_i(row),
      .hazard_i(1'b0), .weight_valid_i, .weight_i(weight), .row_stop_i(1'b0), .weight_stop_i(1'b0), .kill_i('0), .no_weights_o(),
      .row_issue_o(row_issue), .weight_issue_o(weight_issue), .flight_o(flight), .cnt_busy_o(), .cnt_weight_wait_o(),
      .cnt_acc_wait_o(), .cnt_vmem_wait_o(), .cnt_drain_o(), .cnt_idle_o(), .cnt_macs_o());

  wire seed_e seed = seed_e'(seed_i);
  wire count_t forward_cols = cols_q[Depth-1];
  wire step = row_issue | flight;
  lanes_t sum_loops, sum_pes;
  logic [N-1:0] overflow_loops, overflow_pes;
  mxu_array u_loops (
      .clk_i, .rst_ni, .step_i(step), .row_valid_i(row_issue), .row_i(row), .seed_select_i(seed),
      .forward_cols_i(forward_cols), .x_i(x_i & Free), .weight_valid_i(weight_issue), .weight_i(weight), .w_i(w_i & Free), .seed_i(acc_i & FreeSum),
      .sum_o(sum_loops), .overflow_o(overflow_loops));
  mxu_array_structural u_pes (
      .clk_i, .rst_ni, .step_i(step), .row_valid_i(row_issue), .row_i(row), .seed_select_i(seed),
      .forward_cols_i(forward_cols), .x_i(x_i & Free), .weight_valid_i(weight_issue), .weight_i(weight), .w_i(w_i & Free), .seed_i(acc_i & FreeSum),
      .sum_o(sum_pes), .overflow_o(overflow_pes));

  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    if (weight_issue) begin
      loading_q <= loading;
      words_q <= weight.last ? '0 : words_q + 1'b1;
    end
    if (row_issue) begin
      active_q <= active;
      start_q <= tile_last_i;
    end
    issued_q <= {issued_q[Last-1:0], row_issue};
    cols_q <= {cols_q[Last-1:0], active.cols};
    if (!rst_ni) begin
      words_q <= '0;
      start_q <= 1'b1;
      issued_q <= '0;
    end
  end

  logic [N-1:0] due;                     // the lane holds a result that counts
  for (genvar j = 0; j < N; j++) begin : gen_lane
    assign due[j] = issued_q[Depth+j] && count_t'(j) < cols_q[Depth+j];
    always_comb begin
      if (reset_done && due[j]) Equal_A: assert (sum_loops[32*j+:32] == sum_pes[32*j+:32]);
      if (reset_done && due[j]) OverflowEqual_A: assert (overflow_loops[j] == overflow_pes[j]);
    end
  end
  always_comb begin
    assume (rst_ni == reset_done);
    assume (rows_i != 0 && rows_i <= count_t'(N) && cols_i != 0 && cols_i <= count_t'(N));
    assume (seed_i != 2'd3);
    if (seed_i == 2'd2) assume (issued_q[Depth-1]);  // ACC forwards only what was issued Depth cycles ago
    AllLanes_C: cover (reset_done && due == '1 && sum_pes[31:0] != sum_pes[32*(N-1)+:32]);
    if (`INT8) Overflow_C: cover (reset_done && due[N-1] && overflow_pes[N-1]);
    if (!`INT8) Unknown_C: cover (reset_done && row_issue && seed == SeedAcc && x_i[15:14] == 2'b11);
    SecondTile_C: cover (reset_done && row_issue && start_q && flight && seed == SeedForward);
    ForwardedResult_C: cover (reset_done && due[0] && issued_q[Last-1] && forwarded_q[Depth]);
  end
  logic [Last:0] forwarded_q = '0;
  always_ff @(posedge clk_i) forwarded_q <= {forwarded_q[Last-1:0], row_issue && seed == SeedForward};
endmodule
