// What is bound to rtl/sync.
bind round_robin one_hot_contract #(.Width(Width)) u_grant_contract (
  .clk_i, .rst_ni, .request_i, .grant_i(grant_o));
bind semaphores semaphore_invariants #(.Queues(Queues)) u_semaphore_invariants (
  .clk_i, .rst_ni, .wait_valid_i, .wait_grant_i(wait_grant_o), .take_sem0_i(take_sem0),
  .take_sem1_i(take_sem1), .take_count0_i(take_count0), .take_count1_i(take_count1),
  .value0_i(value(take_sem0[5:0])), .value1_i(value(take_sem1[5:0])), .post_valid_i,
  .sum0_i(sum0), .sum1_i(sum1), .overflow_i(overflow_o));
bind sync_engine unit_contract #(.MostHeld(1)) u_unit_contract (
  .clk_i, .rst_ni, .cmd_valid_i, .cmd_ready_i(cmd_ready_o), .done_i(done_o), .fault_i(fault_valid_o),
  .active_i(active_o));
