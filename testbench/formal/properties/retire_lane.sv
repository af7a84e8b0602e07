
  // Properties of a retirement lane: one command, chosen freely by mark, is followed from start to retirement.
  (* anyseq *) logic mark;
  logic reset_done = 1'b0;
  logic followed_q = 1'b0;
  logic done_seen_q = 1'b0;               // the unit is done with it
  logic [PtrBits:0] ahead_q, ahead_done_q; // held before it; of these not yet done
  control_pkg::post_t value_q;
  wire [PtrBits-1:0] slot = rd_q + ahead_q[PtrBits-1:0];

  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    if (start_i && mark && !followed_q) begin
      followed_q <= 1'b1;
      done_seen_q <= 1'b0;
      ahead_q <= level_q - (retire_i ? 1'b1 : 1'b0);
      ahead_done_q <= level_q - done_q - (done_i ? 1'b1 : 1'b0);
      value_q <= post_i;
    end else if (followed_q) begin
      if (retire_i && ahead_q == 0) followed_q <= 1'b0;
      if (retire_i) ahead_q <= ahead_q - 1'b1;
      if (done_i && ahead_done_q == 0) done_seen_q <= 1'b1;
      if (done_i && !done_seen_q) ahead_done_q <= ahead_done_q - 1'b1;
    end
    if (!rst_ni) followed_q <= 1'b0;
  end

  // fault injection (a done that is lost or never comes) is left out: no slot in use has its mark
  logic marked;
  logic [PtrBits-1:0] place;
  integer s;
  always_comb begin
    marked = stuck_q;
    place = 0;
    for (s = 0; s < Depth; s = s + 1) begin
      place = s[PtrBits-1:0] - rd_q;
      if ({1'b0, place} < level_q && (not_done_q[s] || lost_done_q[s])) marked = 1'b1;
    end
  end

  always_comb begin
    if (!reset_done) assume (!rst_ni);
    assume (!not_done_i && !lost_done_i);
    if (reset_done) NoInjection_A: assert (!marked);
    if (start_i) assume (!full_o);
    if (done_i) assume (done_q < level_q);
    if (retire_i) assume (pending_o);
    if (reset_done) begin
      if (followed_q && ahead_q == 0) PostsUnchanged_A: assert (post_o == value_q && held_o);
      if (followed_q && ahead_q == 0) PostsWhenDone_A: assert (pending_o == done_seen_q);
      LevelInRange_A: assert (level_q <= Depth && done_q <= level_q && full_o == (level_q == Depth));
      if (followed_q) SlotHolds_A: assert (mem_q[slot] == value_q && ahead_q < level_q);
      if (followed_q) DoneCounted_A: assert (done_seen_q ? done_q > ahead_q : ahead_done_q <= ahead_q && done_q == ahead_q - ahead_done_q);
      PointersAgree_A: assert (wr_q == rd_q + level_q[PtrBits-1:0]);
    end
    FollowedRetires_C: cover (reset_done && followed_q && ahead_q == 0 && retire_i);
    FollowedBehindOthers_C: cover (reset_done && followed_q && ahead_q == Depth - 1 && retire_i);
    WaitsForDone_C: cover (reset_done && followed_q && ahead_q == 0 && !done_seen_q && level_q == Depth);
  end
