
  // Properties of the command queue: one command, chosen freely by mark, and what goes with it, is followed from push to pop.
  (* anyseq *) logic mark;
  logic reset_done = 1'b0;
  logic followed_q = 1'b0;
  logic [4:0] ahead_q;                    // commands that leave before it
  logic [weft_pkg::CmdBits-1:0] value_q;
  logic [1:0] beside_q;
  wire [PtrBits-1:0] slot = rd_q + ahead_q[PtrBits-1:0];

  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    if (push_i && level_q < weft_pkg::QueueDepth && mark && !followed_q) begin
      followed_q <= 1'b1;
      ahead_q <= level_q - (pop_i ? 5'd1 : 5'd0);
      value_q <= cmd_i;
      beside_q <= mark_i;
    end else if (followed_q && pop_i) begin
      if (ahead_q == 0) followed_q <= 1'b0;
      ahead_q <= ahead_q - 1'b1;
    end
    if (!rst_ni) followed_q <= 1'b0;
  end

  always_comb begin
    if (!reset_done) assume (!rst_ni);
    if (pop_i) assume (head_valid_o);     // issue.sv takes what is there
    if (reset_done) begin
      if (followed_q) FollowedIsInside_A: assert (ahead_q < level_q);
      if (followed_q && ahead_q == 0)
        ComesOutUnchanged_A: assert (head_valid_o && head_o == value_q && head_tag_o == value_q[31:16] && head_mark_o == beside_q);
      LevelInRange_A: assert (level_o <= weft_pkg::QueueDepth);
      FullAtDepth_A: assert (full_o == (level_o == weft_pkg::QueueDepth));
      if (followed_q) SlotHolds_A: assert (mem_q[slot] == value_q && mark_q[slot] == beside_q);
      PointersAgree_A: assert (wr_q == rd_q + level_q[PtrBits-1:0]);
    end
    FollowedLeaves_C: cover (reset_done && followed_q && ahead_q == 0 && pop_i && value_q[31:16] == 16'h1234);
    FollowedBehindOthers_C: cover (reset_done && followed_q && ahead_q == 3 && pop_i);
    Full_C: cover (reset_done && full_o && push_i);
  end
