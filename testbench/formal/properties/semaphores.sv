
  // Properties of the semaphores. `watched` is any one semaphore; what a cycle does to it is summed up here in 18 bits.
  (* anyconst *) logic [5:0] watched;
  logic reset_done = 1'b0;
  logic [17:0] expected_q;                // posted minus taken since reset, or what the last write left
  wire [17:0] held = nonzero_q[watched] ? count_q[watched] : 16'd0;
  wire [17:0] post0_held = nonzero_q[post_sem0_i[5:0]] ? count_q[post_sem0_i[5:0]] : 16'd0;
  wire [17:0] post1_held = nonzero_q[post_sem1_i[5:0]] ? count_q[post_sem1_i[5:0]] : 16'd0;

  // What the wait that is granted takes from one semaphore; TakeIsGranted_A ties it to the queue's own fields.
  function automatic [17:0] taken(input [7:0] sem);
    taken = sem == take_sem0 ? {2'd0, take_count0} : sem == take_sem1 ? {2'd0, take_count1} : 18'd0;
  endfunction

  wire [17:0] after0 = post0_held - taken(post_sem0_i) + post_count0_i;
  wire [17:0] after1 = post1_held - taken(post_sem1_i) + post_count1_i;
  wire exceeds0 = post_sem0_i != None && after0 > 18'd65535;
  wire exceeds1 = post_sem1_i != None && after1 > 18'd65535;
  wire exceeds = post_valid_i && (exceeds0 || exceeds1);
  wire [17:0] posted = !post_valid_i || exceeds ? 18'd0
                     : post_sem0_i == {2'b0, watched} ? {2'd0, post_count0_i}
                     : post_sem1_i == {2'b0, watched} ? {2'd0, post_count1_i} : 18'd0;

  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    expected_q <= !rst_ni ? 18'd0
                : csr_write_i && csr_index_i == watched ? {2'd0, csr_wdata_i}
                : held - taken({2'b0, watched}) + posted;
  end

  // header_check: a semaphore exists or is none, the two of a pair differ
  integer n;
  always_comb begin
    if (!reset_done) assume (!rst_ni);
    n = 0;
    for (n = 0; n < Queues; n = n + 1) begin
      if (wait_valid_i[n]) begin
        assume (wait_sem0_i[8*n+:8] < weft_pkg::NumSemaphores || wait_sem0_i[8*n+:8] == None);
        assume (wait_sem1_i[8*n+:8] < weft_pkg::NumSemaphores || wait_sem1_i[8*n+:8] == None);
        assume (wait_sem0_i[8*n+:8] != wait_sem1_i[8*n+:8] || wait_sem0_i[8*n+:8] == None);
      end
    end
    assume (post_sem0_i < weft_pkg::NumSemaphores || post_sem0_i == None);
    assume (post_sem1_i < weft_pkg::NumSemaphores || post_sem1_i == None);
    assume (post_sem0_i != post_sem1_i || post_sem0_i == None);
  end

  (* anyconst *) logic [2:0] queue;       // any one queue
  wire [17:0] wait0_held = nonzero_q[wait_sem0_i[8*queue+:6]] ? count_q[wait_sem0_i[8*queue+:6]] : 16'd0;
  wire [17:0] wait1_held = nonzero_q[wait_sem1_i[8*queue+:6]] ? count_q[wait_sem1_i[8*queue+:6]] : 16'd0;
  wire has0 = wait_sem0_i[8*queue+:8] == None || wait0_held >= wait_count0_i[16*queue+:16];
  wire has1 = wait_sem1_i[8*queue+:8] == None || wait1_held >= wait_count1_i[16*queue+:16];

  always_comb begin
    assume (queue < Queues);
    assume (watched < weft_pkg::NumSemaphores && csr_index_i < weft_pkg::NumSemaphores);
    if (reset_done) begin
      // conservation: a semaphore holds what was posted less what was taken; nothing else changes it
      Conserved_A: assert (held == expected_q);
      ReadBack_A: assert (csr_index_i != watched || csr_rdata_o == held[15:0]);
      NonzeroExact_A: assert (nonzero_o[watched] == (held != 0));
      // both or none: a wait is granted with both counts there, takes both (Conserved_A), one a cycle
      GrantHasBoth_A: assert (!wait_grant_o[queue] || wait_valid_i[queue] && has0 && has1);
      if (wait_grant_o[queue]) TakeIsGranted_A:
        assert (take_sem0 == wait_sem0_i[8*queue+:8] && take_count0 == wait_count0_i[16*queue+:16]
                && take_sem1 == wait_sem1_i[8*queue+:8] && take_count1 == wait_count1_i[16*queue+:16]);
      if (wait_grant_o == 0) NothingTaken_A: assert (take_sem0 == None && take_sem1 == None);
      OneGrant_A: assert ((wait_grant_o & (wait_grant_o - 1'b1)) == 0);
      NoIdleGrant_A: assert (wait_grant_o != 0 || !(wait_valid_i[queue] && has0 && has1));
      // overflow: told exactly when a sum exceeds 65535, with the first such semaphore
      OverflowExact_A: assert (overflow_o == exceeds);
      if (overflow_o) OverflowNamed_A: assert (overflow_sem_o == (exceeds0 ? post_sem0_i : post_sem1_i));
    end
    TakeAndPost_C: cover (reset_done && wait_grant_o[2] && wait_sem0_i[16+:8] == 5 && wait_count0_i[32+:16] == 7
                          && post_valid_i && post_sem1_i == 5 && !overflow_o);
    OverflowOfSecondOnly_C: cover (reset_done && overflow_o && !exceeds0 && post_sem0_i != None);
    TakeSavesFromOverflow_C: cover (reset_done && wait_grant_o != 0 && post_valid_i && !overflow_o
                                    && post0_held + post_count0_i > 65535 && post_sem0_i != None);
    TwoWaitForTheLast_C: cover (reset_done && wait_valid_i[0] && wait_valid_i[1] && wait_grant_o[1] && has0
                                && wait_sem0_i[7:0] == 3 && wait_sem0_i[15:8] == 3 && queue == 0);
  end
