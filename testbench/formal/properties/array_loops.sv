// mxu_array gives the chain of the row that is followed (array_followed.sv). What its ring and its tiles hold is what was issued:
// these invariants close the induction.
module array_loops
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
  localparam int unsigned Tiles = 4, TileBits = 2;
  localparam logic [LaneBits-1:0] lane = LaneBits'(`LANE);
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
  mxu_array u_array (
      .clk_i, .rst_ni, .step_i(step), .row_valid_i(row_issue), .row_i(row), .seed_select_i(seed), .forward_cols_i(forward_cols),
      .x_i, .weight_valid_i(weight_issue), .weight_i(weight), .w_i, .seed_i(acc_i), .sum_o(sum), .overflow_o(overflow),
      .symbols_i(symbols), .follows_i(f.age[Depth-1]));

  logic reset_done = 1'b0;
  place_t              place_q;          // of the row that is followed
  logic [TileBits-1:0] tile_q;           // and of its tile
  logic [2:0]          behind_q;         // tiles that have begun to load after it
  wire loading = loads.full || loads.words != 0;
  wire first = weight_issue && weight.first;
  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    if (row_issue && f.age == '0) begin  // the last such row may be the one
      place_q <= u_array.now_q;
      tile_q <= u_array.active_q + TileBits'(row.swap);
      behind_q <= 3'(loading && !row.swap) + 3'(first);
    end else behind_q <= behind_q + 3'(first);
  end
  wire alive = f.age[Depth-1:0] != '0;   // its work is still to be done
  wire [31:0] ring_sum = u_array.ring_sum[{place_q, lane}];

  function automatic int unsigned wrapped(input int unsigned place);   // less than 3 Depth
    wrapped = place >= 2 * Depth ? place - 2 * Depth : place >= Depth ? place - Depth : place;
  endfunction

  // A word of weights is in its tile, in lane `lane`.
  function automatic logic has(input logic [15:0] raw, input logic [31:0] a, input logic [31:0] b, input logic special,
                               input logic [15:0] w, input logic int8);
    has = raw == w && a == (int8 ? {{24{w[7]}}, w[7:0]} : bf16_fma_pkg::significand(w))
        && b == (int8 ? {{24{w[15]}}, w[15:8]} : bf16_fma_pkg::exponent(w)) && (special || !bf16_fma_pkg::special(w));
  endfunction
  logic [N-1:0] of_loading, of_active, of_followed;
  always_comb begin
    for (int unsigned r = 0; r < N; r++) begin
      of_loading[r] = has(u_array.w_raw[{u_array.load_q, LaneBits'(r), lane}], u_array.w_a[{u_array.load_q, LaneBits'(r), lane}],
                          u_array.w_b[{u_array.load_q, LaneBits'(r), lane}], u_array.w_special[u_array.load_q], loads.load_w[r], loads.loading.int8);
      of_active[r] = has(u_array.w_raw[{u_array.active_q, LaneBits'(r), lane}], u_array.w_a[{u_array.active_q, LaneBits'(r), lane}],
                         u_array.w_b[{u_array.active_q, LaneBits'(r), lane}], u_array.w_special[u_array.active_q], loads.active_w[r], loads.active.int8);
      of_followed[r] = has(u_array.w_raw[{tile_q, LaneBits'(r), lane}], u_array.w_a[{tile_q, LaneBits'(r), lane}],
                           u_array.w_b[{tile_q, LaneBits'(r), lane}], u_array.w_special[tile_q], f.w[r], f.int8);
    end
  end

  always_comb begin
    // mxu_control holds Commands commands, and a command's tiles are Depth cycles apart: the tiles suffice
    if (first && alive && !f.age[Depth-1]) assume (behind_q < 3'(Tiles - 1));

    if (reset_done) begin
      Pointers_I: assert (u_array.load_q == u_array.active_q + TileBits'(loading) && 32'(u_array.now_q) < Depth);
      for (int unsigned r = 0; r < N; r++) begin
        if (loading && count_t'(r) < loads.loading.rows && (loads.full || count_t'(r) >= loads.loading.rows - loads.words)
            && count_t'(lane) < loads.loading.cols) assert (of_loading[r]);
        if (loads.any && count_t'(r) < loads.active.rows && count_t'(lane) < loads.active.cols) assert (of_active[r]);
        if (alive && count_t'(r) < f.rows) assert (of_followed[r]);
      end
      if (alive) Behind_I: assert (u_array.load_q == tile_q + behind_q[TileBits-1:0] && behind_q < 3'(Tiles)
                                   && TileBits'(u_array.active_q - tile_q) + 3'(loading) == behind_q);
      for (int unsigned a = 0; a < Depth + N; a++)
        if (f.age[a]) assert (32'(u_array.now_q) == wrapped(32'(place_q) + a + 1));
      if (f.age[Depth+N-1:0] != '0) Ring_I: assert (32'(place_q) < Depth);
      if (alive) begin
        Row_I: assert (u_array.ring_valid[place_q] && u_array.ring_x[place_q] == f.x && u_array.ring_rows[place_q] == 32'(f.rows)
                       && u_array.ring_tile[place_q] == tile_q && u_array.ring_int8[place_q] == f.int8
                       && u_array.ring_acc[place_q] == (f.seed == SeedAcc));
        Zero_I: assert (u_array.ring_zero[place_q] == (f.seed == SeedZero ? 32'd0 : f.seed == SeedForward ? 32'(f.forward) : 32'(N)));
      end
      // its seed waits in its place; a forwarded one since before it was issued
      if (f.age[lane] && f.seed == SeedForward) Forwarded_I: assert (sum[32*lane+:32] == ring_sum);
      for (int unsigned a = 0; a < Depth; a++)
        if (a > 32'(lane) && f.age[a]) begin
          if (f.seed == SeedAcc || (f.seed == SeedForward && count_t'(lane) < f.forward)) assert (ring_sum == symbols.sum[0]);
          else assert (symbols.sum[0] == 32'd0);
        end
      // what its work made of it, link by link (registers that the proof adds), in unpacked form or by fma()
      for (int unsigned i = 0; i < N; i++) begin
        if (f.age[Depth] && count_t'(i) < f.rows) begin
          if (f.int8) assert (u_array.link_int8[i] == symbols.sum[i+1] && u_array.link_left[i] == f.left[i+1]);
          else begin
            if (!u_array.link_bad[i]) assert (u_array.link_unpacked[i] == symbols.sum[i+1]);
            if (u_array.link_failed) assert (u_array.link_any[i] == symbols.sum[i+1]);
          end
        end
      end
      // its result, until ACC has it
      for (int unsigned a = Depth; a < Depth + 32'(lane); a++)
        if (f.age[a]) begin
          assert (ring_sum == symbols.sum[N]);
          assert ((u_array.ring_overflow[place_q] && u_array.ring_left[{place_q, lane}]) == (f.int8 && f.left[N]));
        end
    end
  end
endmodule
