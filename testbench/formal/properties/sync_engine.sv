
  // Properties of the sync engine.
  logic reset_done = 1'b0;
  logic taken_q = 1'b0;                   // a command was taken and is not done
  logic is_fence_q;
  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    if (cmd_valid_i && cmd_ready_o) begin
      taken_q <= 1'b1;
      is_fence_q <= opcode_i == weft_pkg::OpcodeFence;
    end else if (done_o) taken_q <= 1'b0;
    if (!rst_ni) taken_q <= 1'b0;
  end
  always_comb begin
    if (!reset_done) assume (!rst_ni);
    if (reset_done) begin
      FenceHolds_A: assert (!(done_o && is_fence_q && others_active_i));
      DoneOnlyWhenTaken_A: assert (!done_o || taken_q);
      OneAtATime_A: assert (!(cmd_ready_o && taken_q));
      DoneAtOnce_A: assert (!taken_q || done_o || (is_fence_q && others_active_i));
      ActiveExact_A: assert (active_o == taken_q);
      if (taken_q) KindKept_A: assert (fence_q == is_fence_q);
    end
    FenceReleased_C: cover (reset_done && done_o && is_fence_q);
    FenceHeld_C: cover (reset_done && taken_q && is_fence_q && others_active_i);
    SignalPassesOthers_C: cover (reset_done && done_o && !is_fence_q && others_active_i);
  end
