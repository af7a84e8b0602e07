// One form of the array, ARRAY, behind the real mxu_issue, fed with tiles of weights and rows of x as the walks feed them: any
// sizes, data, idles and seeds. INT8: the type of all tiles.
//
// One row, any, is followed in lane LANE: when ACC takes its result, that is the chain of multiply-adds which the row, its seed
// and its tile's weights, seen here as they are issued, ask for. Both forms give that chain: so they are equal, by induction over
// rows where a seed is an earlier row's result.
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
  input count_t       rows_i, cols_i,    // of a tile, taken with its first word
  input logic         follow_i           // this row
);
  localparam int unsigned Last = Flight;
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
  symbol_pkg::table_t symbols;
  lanes_t sum;
  logic [N-1:0] overflow;
  `ARRAY u_array (
      .clk_i, .rst_ni, .step_i(step), .row_valid_i(row_issue), .row_i(row), .seed_select_i(seed),
      .forward_cols_i(forward_cols), .x_i(x_i), .weight_valid_i(weight_issue), .weight_i(weight), .w_i(w_i), .seed_i(acc_i),
      .sum_o(sum), .overflow_o(overflow), .symbols_i(symbols));

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

  // The row that is followed
  localparam int unsigned Tiles = 4;     // that the loops hold
  localparam logic [LaneBits-1:0] lane = LaneBits'(`LANE);
  logic [N:0][31:0] sums;                // its chain
  logic [N-1:0][31:0] pairs;
  any_const #(.WIDTH(32 * (N + 1))) u_sums (.Y(sums));
  any_const #(.WIDTH(32 * N)) u_pairs (.Y(pairs));
  logic [N-1:0][15:0] load_q, active_w_q, x_q, w_q;
  count_t   rows_q, forward_q;
  seed_e    seed_q;
  logic     followed_q;
  logic [Last:0] follow_q, last_q;
  logic [2:0] tiles_q;                   // that are loaded, or met by rows that are not done
  logic     second_q;                    // the row's tile is not the first
  logic     tile_q;
  wire follow = row_issue && follow_i && !followed_q && count_t'(lane) < active.cols;
  wire tile_done = issued_q[Depth-1] && last_q[Depth-1];
  wire [31:0] sum_lane = sum[32*lane+:32], acc_lane = acc_i[32*lane+:32];
  always_ff @(posedge clk_i) begin
    last_q <= {last_q[Last-1:0], row_issue && tile_last_i};
    follow_q <= {follow_q[Last-1:0], follow};
    if (weight_issue) load_q[weight.row[LaneBits-1:0]] <= w_i[16*lane+:16];
    if (row_issue && start_q) begin
      active_w_q <= load_q;
      tile_q <= 1'b1;
    end
    if (follow) begin
      followed_q <= 1'b1;
      rows_q <= active.rows;
      forward_q <= forward_cols;
      seed_q <= seed;
      second_q <= tile_q && start_q;
      for (int unsigned k = 0; k < N; k++) x_q[k] <= x_i[16*k+:16];
      w_q <= start_q ? load_q : active_w_q;
    end
    tiles_q <= tiles_q + 3'(weight_issue && weight.first) - 3'(tile_done);
    if (!rst_ni) begin
      follow_q <= '0;
      last_q <= '0;
      followed_q <= 1'b0;
      tiles_q <= '0;
      tile_q <= 1'b0;
    end
  end
  assign symbols.x = x_q;
  assign symbols.w = w_q;
  assign symbols.sum = sums;
  assign symbols.pair = pairs;
  wire now = reset_done && follow_q[Depth + 32'(lane)];   // its result is here
  logic left;                            // int8: a sum of the chain has left int32
  logic [31:0] next;
  always_comb begin
    left = 1'b0;
    next = '0;
    symbols.known = '0;
    for (int k = 0; k < N; k++) begin
      if (count_t'(k) >= rows_q) begin
        if (followed_q) assume (sums[k+1] == sums[k]);
      end else if (`INT8) begin
        symbols.known[k] = followed_q;
        next = sums[k] + pairs[k];
        if (followed_q) assume (sums[k+1] == next);
        left = left || ((next[31] != sums[k][31]) && (next[31] != pairs[k][31]));
      end else if (bf16_fma_pkg::leaves_sum(x_q[k], w_q[k], sums[k])) begin
        if (followed_q) assume (sums[k+1] == bf16_fma_pkg::flushed(sums[k]));
      end else symbols.known[k] = followed_q;
    end
    // a function: equal operands give equal results
    for (int k = 1; k < N; k++) begin
      for (int l = 0; l < k; l++) begin
        if (symbols.known[k] && symbols.known[l] && x_q[k] == x_q[l] && w_q[k] == w_q[l]) begin
          if (`INT8) assume (pairs[k] == pairs[l]);
          else if (bf16_fma_pkg::flushed(sums[k]) == bf16_fma_pkg::flushed(sums[l])) assume (sums[k+1] == sums[l+1]);
        end
      end
    end
    if (follow_q[lane]) assume (sums[0] == (seed_q == SeedAcc ? acc_lane : seed_q == SeedForward && count_t'(lane) < forward_q ? sum_lane : 32'd0));
    if (weight_issue && weight.first) assume (tiles_q - 3'(tile_done) < 3'(Tiles));
    if (now) GivesChain_A: assert (sum_lane == sums[N]);
    if (now) TellsOverflow_A: assert (overflow[lane] == left);
  end
  always_comb begin
    assume (rst_ni == reset_done);
    assume (rows_i != 0 && rows_i <= count_t'(N) && cols_i != 0 && cols_i <= count_t'(N));
    assume (seed_i != 2'd3);
    if (seed_i == 2'd2) assume (issued_q[Depth-1]);  // ACC forwards only what was issued Depth cycles ago
    SecondTile_C: cover (now && second_q && rows_q == count_t'(N) && seed_q == SeedForward && count_t'(lane) < forward_q);
    FromAcc_C: cover (now && seed_q == SeedAcc && sums[N] != sums[0]);
    if (`INT8) Overflow_C: cover (now && left);
    if (!`INT8) Special_C: cover (now && bf16_fma_pkg::special(x_q[0]) && seed_q == SeedAcc);
    if (!`INT8) Zero_C: cover (now && rows_q > 1 && symbols.known == N'(1));
  end
endmodule
