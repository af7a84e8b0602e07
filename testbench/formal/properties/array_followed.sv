// What goes into an array in the proofs that its two forms are equal: the real mxu_issue, fed with tiles of weights and rows of x
// as the walks feed them. Any sizes, types, data, idles and seeds, for ever. And what is known of it:
//
// - the tile that is loaded, and the active one, which rows of x meet: sizes, and the words of lane LANE
// - what was issued in the last cycles
// - one row, any, that is followed in lane LANE: its x, its tile's words, and the chain of multiply-adds that they and its seed
//   ask for, of any function: symbol_pkg
module array_followed
  import mxu_pkg::*, symbol_pkg::table_t, symbol_pkg::tile_t, symbol_pkg::loads_t, symbol_pkg::followed_t, symbol_pkg::Last;
(
  input logic         clk_i,
  input logic         rst_ni,
  // any
  input logic         row_valid_i,
  input logic         tile_last_i,       // the row is its tile's last
  input word_t        x_i,
  input logic [1:0]   seed_i,
  input lanes_t       acc_i,             // what ACC reads for seeds
  input logic         weight_valid_i,
  input word_t        w_i,
  input tile_t        tile_i,            // taken with the tile's first word
  input logic         follow_i,          // this row
  // to the array
  output logic        step_o,
  output logic        row_issue_o,
  output row_ctl_t    row_o,
  output seed_e       seed_o,
  output count_t      forward_cols_o,
  output logic        weight_issue_o,
  output weight_ctl_t weight_o,
  // from the array
  input lanes_t       sum_i,
  input logic [N-1:0] overflow_i,
  // what is known
  output table_t      symbols_o,
  output loads_t      loads_o,
  output followed_t   followed_o
);
  localparam logic [LaneBits-1:0] lane = LaneBits'(`LANE);
  tile_t  loading_q, active_q, loading, active;
  count_t words_q;                       // of the tile that is loaded
  logic   full_q;                        // it is, and waits for its first row
  logic   start_q;                       // the next row is its tile's first
  logic   any_q;                         // a tile is active
  logic   int8_q;                        // type of the last row
  logic [Last:0] issued_q;               // bit k: a row was issued k + 1 cycles ago
  logic [Last:0][LaneBits:0] cols_q;

  assign loading = words_q == 0 ? tile_i : loading_q;
  assign active = start_q ? loading_q : active_q;

  always_comb begin
    row_o = '0;
    row_o.swap = start_q;
    row_o.tile_last = tile_last_i;
    row_o.rows = active.rows;
    row_o.cols = active.cols;
    row_o.int8 = active.int8;
    weight_o.first = words_q == 0;
    weight_o.last = words_q + 1'b1 == loading.rows;
    weight_o.index = words_q;
    weight_o.row = loading.rows - 1'b1 - words_q;
    weight_o.cols = loading.cols;
    weight_o.int8 = loading.int8;
  end

  logic flight;
  mxu_issue u_issue (
      .clk_i, .rst_ni, .arriving_i(1'b0), .active_i(1'b0), .rows_left_i(1'b0), .retire_o(), .row_valid_i, .row_i(row_o),
      .hazard_i(1'b0), .weight_valid_i, .weight_i(weight_o), .row_stop_i(1'b0), .weight_stop_i(1'b0), .kill_i('0), .no_weights_o(),
      .row_issue_o(row_issue_o), .weight_issue_o(weight_issue_o), .flight_o(flight), .cnt_busy_o(), .cnt_weight_wait_o(),
      .cnt_acc_wait_o(), .cnt_vmem_wait_o(), .cnt_drain_o(), .cnt_idle_o(), .cnt_macs_o());
  assign seed_o = seed_e'(seed_i);
  assign forward_cols_o = cols_q[Depth-1];
  assign step_o = row_issue_o | flight;

  logic reset_done = 1'b0;
  wire swap = row_issue_o & start_q;
  logic [N-1:0][15:0] load_w_q, active_w_q;
  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    if (weight_issue_o) begin
      loading_q <= loading;
      words_q <= weight_o.last ? '0 : words_q + 1'b1;
      load_w_q[weight_o.row[LaneBits-1:0]] <= w_i[16*lane+:16];
    end
    full_q <= (full_q & !swap) | (weight_issue_o & weight_o.last);
    if (row_issue_o) begin
      active_q <= active;
      start_q <= tile_last_i;
      int8_q <= active.int8;
      if (start_q) active_w_q <= load_w_q;
      any_q <= 1'b1;
    end
    issued_q <= {issued_q[Last-1:0], row_issue_o};
    cols_q <= {cols_q[Last-1:0], active.cols};
    if (!rst_ni) begin
      words_q <= '0;
      full_q <= 1'b0;
      start_q <= 1'b1;
      any_q <= 1'b0;
      issued_q <= '0;
    end
  end
  always_comb begin
    loads_o = '{any: any_q, full: full_q, words: words_q, loading: loading_q, active: active_q, load_w: load_w_q, active_w: active_w_q};
    assume (tile_i.rows != 0 && tile_i.rows <= count_t'(N) && tile_i.cols != 0 && tile_i.cols <= count_t'(N));
    assume (seed_i != 2'd3);
    if (seed_i == 2'd2) assume (issued_q[Depth-1]);  // ACC forwards only what was issued Depth cycles ago
  end

  // The row that is followed
  logic [N:0][31:0] sums;                // its chain
  logic [N-1:0][31:0] pairs;
  any_const #(.WIDTH(32 * (N + 1))) u_sums (.Y(sums));
  any_const #(.WIDTH(32 * N)) u_pairs (.Y(pairs));
  followed_t f_q;
  logic      followed_q;                 // it has been issued
  wire follow = row_issue_o && follow_i && !followed_q && count_t'(lane) < active.cols;
  always_ff @(posedge clk_i) begin
    f_q.age <= {f_q.age[Last-1:0], follow};
    if (follow) begin
      followed_q <= 1'b1;
      f_q.rows <= active.rows;
      f_q.int8 <= active.int8;
      f_q.forward <= forward_cols_o;
      f_q.seed <= seed_o;
      f_q.swap <= start_q;
      f_q.x <= x_i;
      f_q.w <= start_q ? load_w_q : active_w_q;
    end
    if (!rst_ni) begin
      f_q.age <= '0;
      followed_q <= 1'b0;
    end
  end

  wire [31:0] acc_lane = acc_i[32*lane+:32], sum_lane = sum_i[32*lane+:32];
  wire now = f_q.age[Depth + 32'(lane)];                   // its result is here
  logic [31:0] next;
  always_comb begin
    followed_o = f_q;
    followed_o.left[0] = 1'b0;
    symbols_o = '{known: '0, x: f_q.x, w: f_q.w, sum: sums, pair: pairs};
    next = '0;
    for (int k = 0; k < N; k++) begin
      followed_o.left[k+1] = followed_o.left[k];
      if (count_t'(k) >= f_q.rows) begin
        if (followed_q) assume (sums[k+1] == sums[k]);
      end else if (f_q.int8) begin
        symbols_o.known[k] = followed_q;
        next = sums[k] + pairs[k];
        if (followed_q) assume (sums[k+1] == next);
        followed_o.left[k+1] = followed_o.left[k] || ((next[31] != sums[k][31]) && (next[31] != pairs[k][31]));
      end else if (bf16_fma_pkg::leaves_sum(f_q.x[16*k+:16], f_q.w[k], sums[k])) begin
        if (followed_q) assume (sums[k+1] == bf16_fma_pkg::flushed(sums[k]));
      end else symbols_o.known[k] = followed_q;
    end
    // a function: equal operands give equal results
    for (int k = 1; k < N; k++) begin
      for (int l = 0; l < k; l++) begin
        if (symbols_o.known[k] && symbols_o.known[l] && symbols_o.x[k] == symbols_o.x[l] && symbols_o.w[k] == symbols_o.w[l]) begin
          if (f_q.int8) assume (pairs[k] == pairs[l]);
          else if (bf16_fma_pkg::flushed(sums[k]) == bf16_fma_pkg::flushed(sums[l])) assume (sums[k+1] == sums[l+1]);
        end
      end
    end
    if (f_q.age[lane])
      assume (sums[0] == (f_q.seed == SeedAcc ? acc_lane : f_q.seed == SeedForward && count_t'(lane) < f_q.forward ? sum_lane : 32'd0));
    if (reset_done && now) GivesChain_A: assert (sum_lane == sums[N]);
    if (reset_done && now) TellsOverflow_A: assert (overflow_i[lane] == (f_q.int8 && followed_o.left[N]));
  end

  // Invariants: what mxu_issue knows is what is known here.
  logic [Last:0] other;
  assign other = f_q.age & (f_q.age - 1'b1);
  always_comb begin
    assume (rst_ni == reset_done);
    if (reset_done) begin
      Busy_I: assert (u_issue.shadow_busy_q == (full_q || words_q != 0) && u_issue.shadow_ready_q == full_q);
      Start_I: assert (u_issue.tile_start_q == start_q && u_issue.flight_q == issued_q[Flight-1:0]);
      if (issued_q[Flight-1:0] != '0) Type_I: assert (u_issue.int8_q == int8_q && active_q.int8 == int8_q && any_q);
      if (!start_q) Active_I: assert (any_q);
      if (full_q) Full_I: assert (words_q == 0);
      if (full_q || words_q != 0) Loading_I:
        assert (words_q < loading_q.rows && loading_q.rows <= count_t'(N) && loading_q.cols <= count_t'(N));
      if (any_q) Sizes_I: assert (active_q.rows != 0 && active_q.rows <= count_t'(N) && active_q.cols <= count_t'(N));
      OneRow_I: assert (other == '0 && (f_q.age == '0 || followed_q) && (f_q.age & ~issued_q) == '0);
      if (f_q.age[Flight-1:0] != '0) SameType_I:
        assert (f_q.int8 == int8_q && f_q.rows != 0 && f_q.rows <= count_t'(N) && f_q.seed != seed_e'(3));
      if (f_q.age[0]) JustIssued_I: assert (f_q.w == active_w_q && f_q.rows == active_q.rows && count_t'(lane) < active_q.cols);
    end
  end

  always_comb begin
    Bf16_C: cover (now && !f_q.int8 && !f_q.swap && f_q.rows == count_t'(N) && f_q.seed == SeedForward && count_t'(lane) < f_q.forward);
    FromAcc_C: cover (now && f_q.seed == SeedAcc && sums[N] != sums[0]);
    Overflow_C: cover (now && f_q.int8 && followed_o.left[N]);
    Special_C: cover (now && !f_q.int8 && bf16_fma_pkg::special(f_q.x[15:0]) && f_q.seed == SeedAcc);
    Zero_C: cover (now && !f_q.int8 && f_q.rows > 1 && symbols_o.known == N'(1));
  end
endmodule
