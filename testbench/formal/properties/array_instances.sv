// mxu_array_structural gives the chain of the row that is followed (array_followed.sv). What the registers before and in the PEs
// of its lane hold is what was issued so and so many cycles ago: these invariants close the induction.
module array_instances
  import mxu_pkg::*, symbol_pkg::table_t, symbol_pkg::tile_t, symbol_pkg::loads_t, symbol_pkg::followed_t, symbol_pkg::Last;
(
  input logic         clk_i,
  input logic         rst_ni,
  input logic         row_valid_i, tile_last_i, weight_valid_i, follow_i,
  input word_t        x_i, w_i,
  input logic [1:0]   seed_i,
  input lanes_t       acc_i,
  input tile_t        tile_i
);
  localparam int unsigned lane = `LANE;
  logic        step, row_issue, weight_issue;
  row_ctl_t    row;
  weight_ctl_t weight;
  seed_e       seed;
  count_t      forward_cols;
  lanes_t      sum;
  logic [N-1:0] overflow;
  table_t      symbols;
  loads_t      loads;
  followed_t   f;
  array_followed u_followed (
      .clk_i, .rst_ni, .row_valid_i, .tile_last_i, .x_i, .seed_i, .acc_i, .weight_valid_i, .w_i, .tile_i, .follow_i, .step_o(step),
      .row_issue_o(row_issue), .row_o(row), .seed_o(seed), .forward_cols_o(forward_cols), .weight_issue_o(weight_issue),
      .weight_o(weight), .sum_i(sum), .overflow_i(overflow), .symbols_o(symbols), .loads_o(loads), .followed_o(f));
  mxu_array_structural u_array (
      .clk_i, .rst_ni, .step_i(step), .row_valid_i(row_issue), .row_i(row), .seed_select_i(seed), .forward_cols_i(forward_cols),
      .x_i, .weight_valid_i(weight_issue), .weight_i(weight), .w_i, .seed_i(acc_i), .sum_o(sum), .overflow_o(overflow),
      .symbols_i(symbols));

  // What was known and issued: element a of these, a (+ 1) cycles ago.
  localparam int unsigned Ages = 2 * N;
  logic reset_done = 1'b0;
  loads_t      before_q[1:Ages], ago[Ages+1];   // ago[a]: as loads was a cycles ago
  logic        swap_q[Ages], word_q[Ages], up_q[Ages];
  count_t      index_q[Ages];
  logic [15:0] w_q[Ages];
  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    before_q[1] <= loads;
    swap_q[0] <= row_issue && row.swap && rst_ni;
    word_q[0] <= weight_issue && rst_ni;
    up_q[0] <= 1'b1;                            // so long since the reset
    index_q[0] <= weight.index;
    w_q[0] <= w_i[16*lane+:16];
    for (int unsigned a = 1; a < Ages; a++) begin
      before_q[a+1] <= before_q[a];
      swap_q[a] <= swap_q[a-1];
      word_q[a] <= word_q[a-1];
      up_q[a] <= up_q[a-1];
      index_q[a] <= index_q[a-1];
      w_q[a] <= w_q[a-1];
    end
    if (!rst_ni) begin
      for (int unsigned a = 0; a < Ages; a++) begin
        before_q[a+1].any <= 1'b0;
        before_q[a+1].full <= 1'b0;
        before_q[a+1].words <= '0;
        swap_q[a] <= 1'b0;
        word_q[a] <= 1'b0;
        up_q[a] <= 1'b0;
      end
    end
  end
  always_comb begin
    ago[0] = loads;
    for (int unsigned a = 1; a <= Ages; a++) ago[a] = before_q[a];
  end

  // Words that are loaded of a tile.
  function automatic count_t loaded(input loads_t at);
    loaded = at.full ? at.loading.rows : at.words;
  endfunction
  function automatic logic counts(input tile_t tile, input int unsigned r);   // a word of the lane
    counts = count_t'(r) < tile.rows && count_t'(lane) < tile.cols;
  endfunction

  logic [15:0] shadow[N], active[N];
  for (genvar p = 0; p < N; p++) begin : gen_pe
    assign shadow[p] = u_array.shadow_in[p+1][lane];
    assign active[p] = u_array.gen_skew[p].gen_pe[lane].u_pe.active_q;
  end

  always_comb begin
    if (reset_done) begin
      // ---- history: what an event made of what was known before
      for (int unsigned a = 0; a < Ages; a++) begin
        if (ago[a].any || loaded(ago[a]) != 0) assert (a == 0 || up_q[a-1]);
        if (swap_q[a] || word_q[a] || f.age[a]) assert (up_q[a]);
        if (swap_q[a]) begin
          assert (ago[a+1].full && ago[a].any && ago[a].active == ago[a+1].loading && ago[a].active_w == ago[a+1].load_w);
          // no word of the next tile was issued before
          for (int unsigned b = 0; b <= a; b++) assert (32'(loaded(ago[b])) <= a - b + 1);
        end else begin
          assert (ago[a].any == ago[a+1].any && (!ago[a].any || (ago[a].active_w == ago[a+1].active_w
                          && ago[a].active.cols == ago[a+1].active.cols && ago[a].active.rows == ago[a+1].active.rows)));
        end
        if (word_q[a]) begin
          assert (index_q[a] == loaded(ago[a]) - 1'b1 && loaded(ago[a]) != 0 && w_q[a] == ago[a].load_w[LaneBits'(ago[a].loading.rows - loaded(ago[a]))]
                          && (index_q[a] == 0 || (loaded(ago[a+1]) == index_q[a] && ago[a].loading == ago[a+1].loading)));
          for (int unsigned r = 0; r < N; r++)
            if (count_t'(r) != ago[a].loading.rows - loaded(ago[a])) assert (ago[a].load_w[r] == ago[a+1].load_w[r]);
        end else if (!swap_q[a])
          assert (loaded(ago[a]) == loaded(ago[a+1]) && (loaded(ago[a]) == 0 || (ago[a].load_w == ago[a+1].load_w
                           && ago[a].loading == ago[a+1].loading)));
        else assert (loaded(ago[a]) == 0);
        if (ago[a].full || ago[a].words != 0) assert (loaded(ago[a]) <= ago[a].loading.rows && ago[a].loading.rows <= count_t'(N));
      end

      // ---- control
      for (int unsigned s = 0; s < N; s++) if (up_q[s]) assert (u_array.swap_skew[s] == swap_q[s]);
      for (int unsigned p = 0; p < N; p++) begin
        assert (u_array.shift_skew[p] == (word_q[0] && index_q[0] >= count_t'(p)));
        for (int unsigned j = 0; j <= lane; j++) begin
          if (up_q[p+j]) assert (u_array.swap_in[p][j] == swap_q[p+j]);
          if (up_q[j]) assert (u_array.shift_in[p][j] == (word_q[j] && index_q[j] >= count_t'(p)));
        end
      end

      // ---- weights on their way
      for (int unsigned s = 0; s <= lane; s++) if (word_q[s]) assert (u_array.w_skew[lane][s] == w_q[s]);
      for (int unsigned p = 0; p < N; p++) begin
        // words that have come shift down
        if (count_t'(p) < loaded(ago[lane+1]) && count_t'(lane) < ago[lane+1].loading.cols)
          assert (shadow[p] == ago[lane+1].load_w[LaneBits'(ago[lane+1].loading.rows - loaded(ago[lane+1]) + count_t'(p))]);
        // and wait for the swap
        for (int unsigned a = lane + 1; a <= lane + p; a++)
          if (swap_q[a] && counts(ago[a].active, p)) assert (shadow[p] == ago[a].active_w[p]);
        if (ago[lane+p+1].any && counts(ago[lane+p+1].active, p)) assert (active[p] == ago[lane+p+1].active_w[p]);
      end

      // ---- the row that is followed
      for (int unsigned a = 0; a <= Last; a++) if (f.age[a] && a < Ages) begin
        assert (ago[a].any && ago[a].active_w == f.w && ago[a].active.rows == f.rows && count_t'(lane) < ago[a].active.cols);
      end
      for (int unsigned s = 0; s < N; s++) if (f.age[s]) begin
        assert (u_array.int8_skew[s] == f.int8);
        for (int unsigned i = s; i < N; i++)
          assert (u_array.x_skew[i][s] == f.x[16*i+:16] && u_array.bypass_skew[i][s] == (count_t'(i) >= f.rows));
        if (s <= lane) assert (u_array.seed_skew[s] == f.seed && u_array.forward_skew[s] == f.forward);
      end
      for (int unsigned p = 0; p < N; p++) begin
        for (int unsigned j = 0; j <= lane; j++) if (f.age[p+j])
          assert (u_array.x_in[p][j] == f.x[16*p+:16] && u_array.bypass_in[p][j] == (count_t'(p) >= f.rows)
                       && u_array.int8_in[p][j] == f.int8);
        if (p != 0 && f.age[p+lane]) assert (u_array.sum_in[p][lane] == symbols.sum[p] && u_array.left_in[p][lane] == (f.int8 && f.left[p]));
      end
    end
  end
endmodule
