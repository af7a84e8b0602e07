
  // Properties of the FIFO: one entry, chosen freely by mark, is followed from push to pop.
  (* anyseq *) logic mark;
  logic reset_done = 1'b0;
  logic followed_q = 1'b0;                // an entry is followed and still inside
  logic [LevelBits-1:0] ahead_q;          // entries that leave before it
  logic [Width-1:0] value_q;
  wire [LevelBits:0] slot = head_q + ahead_q;
  wire [LevelBits:0] tail = head_q + level_q;

  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    if (push && mark && !followed_q) begin
      followed_q <= 1'b1;
      ahead_q <= level_q - (pop ? 1'b1 : 1'b0);
      value_q <= push_i;
    end else if (followed_q && pop) begin
      if (ahead_q == 0) followed_q <= 1'b0;
      ahead_q <= ahead_q - 1'b1;
    end
    if (!rst_ni) followed_q <= 1'b0;
  end

  always_comb begin
    if (!reset_done) assume (!rst_ni);
    if (reset_done) begin
      // what was pushed comes out unchanged, after what was there before it and before all else
      if (followed_q) FollowedIsInside_A: assert (level_q != 0 && ahead_q < level_q);
      if (followed_q && ahead_q == 0) ComesOutUnchanged_A: assert (pop_valid_o && pop_o == value_q);
      // nothing is refused while there is room, nothing offered that is not there
      LevelInRange_A: assert (level_q <= Depth);
      ReadyWhileRoom_A: assert (push_ready_o == (level_o < Depth));
      // invariants that make the induction close
      if (followed_q) SlotHolds_A: assert (entries[slot < Depth ? slot : slot - Depth] == value_q);
      PointersAgree_A: assert (head_q < Depth && tail_q == (tail < Depth ? tail : tail - Depth));
    end
    FollowedLeaves_C: cover (reset_done && followed_q && ahead_q == 0 && pop);
    FollowedBehindOthers_C: cover (reset_done && followed_q && (ahead_q == Depth - 1 || Depth == 1) && pop);
    Full_C: cover (reset_done && level_q == Depth && push_valid_i);
  end
