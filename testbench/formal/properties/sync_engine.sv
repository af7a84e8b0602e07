
  // Properties of the sync engine, over the bytes of the command that was taken.
  logic reset_done = 1'b0;
  logic taken_q = 1'b0;                   // a command was taken and is not done
  logic faulted_q = 1'b0;
  logic is_fence_q, is_barrier_q, fresh_q;
  logic [15:0] tag_before_q;
  logic [63:0] wrong, wrong_q;            // bit b: byte b is the offset of a wrong field of a BARRIER
  wire [511:0] c = cmd_i;
  wire takes = cmd_valid_i && cmd_ready_o;
  always_comb begin
    wrong = 64'd0;
    if (c[7:0] == 8'h43) begin
      wrong[18] = c[8*18+:16] < 16'd1;
      wrong[20] = c[8*20+:16] < 16'd1;
      wrong[22] = c[8*22+:16] < 16'd1;
      wrong[24] = c[8*18+:16] == 16'd1 ? c[8*24+:16] != 16'd0 : c[8*24+:16] == 16'd0 && c[8*18+:16] != 16'd0;
      wrong[26] = c[8*20+:16] == 16'd1 ? c[8*26+:16] != 16'd0 : c[8*26+:16] == 16'd0 && c[8*20+:16] != 16'd0;
      wrong[28] = c[8*22+:16] == 16'd1 ? c[8*28+:16] != 16'd0 : c[8*28+:16] == 16'd0 && c[8*22+:16] != 16'd0;
    end
  end
  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    fresh_q <= takes;
    if (takes) begin
      taken_q <= 1'b1;
      is_fence_q <= c[7:0] == 8'h42;
      is_barrier_q <= c[7:0] == 8'h43;
      wrong_q <= wrong;
      tag_before_q <= c[31:16];
    end else if (done_o) taken_q <= 1'b0;
    if (fault_valid_o) faulted_q <= 1'b1;
    if (!rst_ni) begin
      taken_q <= 1'b0;
      faulted_q <= 1'b0;
      fresh_q <= 1'b0;
    end
  end
  wire refused = fresh_q && wrong_q != 64'd0;
  wire fails = taken_q && is_barrier_q && wrong_q == 64'd0 && !faulted_q && barrier_end_i && barrier_fault_i;
  wire [5:0] at = fault_address_o[5:0];
  always_comb begin
    if (!reset_done) assume (!rst_ni);
    if (reset_done) begin
      BarrierBegins_A: assert (barrier_begin_o == (takes && c[7:0] == 8'h43 && wrong == 64'd0));
      FenceHolds_A: assert (!(done_o && is_fence_q && others_active_i));
      BarrierHolds_A: assert (!(done_o && is_barrier_q && (!barrier_end_i || barrier_fault_i || wrong_q != 64'd0)));
      DoneOnlyWhenTaken_A: assert (!done_o || taken_q);
      OneAtATime_A: assert (!(cmd_ready_o && taken_q));
      NothingAfterFault_A: assert (!faulted_q || (!done_o && !cmd_ready_o));
      DoneAtOnce_A: assert (!taken_q || done_o || (is_fence_q && others_active_i) || is_barrier_q);
      BarrierEnds_A: assert (!(taken_q && is_barrier_q && wrong_q == 64'd0 && !faulted_q && barrier_end_i)
                             || done_o || fault_valid_o);
      ActiveExact_A: assert (active_o == taken_q);
      FaultExact_A: assert (fault_valid_o == (refused || fails));
      if (fault_valid_o) FaultTag_A: assert (fault_tag_o == tag_before_q);
      if (refused) FirstWrongByte_A: assert (fault_code_o == 8'd2 && fault_address_o < 64 && wrong_q[at]
                                             && (wrong_q & ((64'd1 << at) - 64'd1)) == 64'd0);
      if (fails) FailedWith_A: assert (fault_code_o == 8'd13 && fault_address_o == barrier_address_i);
      // invariants that make the induction close
      Dead_A: assert (dead_q == faulted_q && refused_q == (refused && taken_q) && (!fresh_q || (taken_q && !faulted_q)));
      if (faulted_q) DeadHeld_A: assert (taken_q && is_barrier_q);
      if (taken_q) OneKind_A: assert (!(is_fence_q && is_barrier_q));
      if (taken_q) KindKept_A: assert (fence_q == is_fence_q && barrier_q == is_barrier_q && tag_q == tag_before_q);
      if (taken_q) WrongKept_A: assert ((wrong_q == 64'd0 || is_barrier_q) && (wrong_q == 64'd0 || fresh_q || faulted_q));
      if (refused) IllegalKept_A: assert (illegal_q < 8'd64 && wrong_q[illegal_q[5:0]]
                                          && (wrong_q & ((64'd1 << illegal_q[5:0]) - 64'd1)) == 64'd0);
    end
    FenceReleased_C: cover (reset_done && done_o && is_fence_q);
    FenceHeld_C: cover (reset_done && taken_q && is_fence_q && others_active_i);
    SignalPassesOthers_C: cover (reset_done && done_o && !is_fence_q && others_active_i);
    BarrierEnded_C: cover (reset_done && done_o && is_barrier_q);
    BarrierRefused_C: cover (reset_done && fault_valid_o && fault_address_o == 64'd28 && fault_code_o == 8'd2);
    BarrierFailed_C: cover (reset_done && fails);
  end
