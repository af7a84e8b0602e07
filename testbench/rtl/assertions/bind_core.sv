// What is bound to rtl/core and, in it, to the faces of the units.
bind command_queue level_invariants #(.Depth(weft_pkg::QueueDepth)) u_level_invariants (
  .clk_i, .rst_ni, .push_i(push), .pop_i, .level_i(level_q));
bind command_queue stream_contract #(.Width(weft_pkg::CmdBits)) u_head_contract (
  .clk_i, .rst_ni, .valid_i(head_valid_o), .ready_i(pop_i), .payload_i(head_o));

// A stopped core lets go what it waits for and what it offers.
bind issue stream_contract #(.Width(weft_pkg::CmdBits)) u_wait_contract (
  .clk_i, .rst_ni(rst_ni && !stop_i), .valid_i(wait_valid_o), .ready_i(wait_grant_i),
  .payload_i(cmd_q));
bind issue stream_contract #(.Width(weft_pkg::CmdBits)) u_cmd_contract (
  .clk_i, .rst_ni(rst_ni && !stop_i), .valid_i(cmd_valid_o), .ready_i(cmd_taken_i),
  .payload_i(cmd_o));

bind retire_lane level_invariants #(.Depth(Depth)) u_level_invariants (
  .clk_i, .rst_ni, .push_i(start_i), .pop_i(retire_i), .level_i(level_q));
bind retire_lane level_invariants #(.Depth(Depth)) u_done_invariants (
  .clk_i, .rst_ni, .push_i(done), .pop_i(retire_i), .level_i(done_q));
bind retire_lane retire_order_invariants #(.Depth(Depth)) u_order_invariants (
  .clk_i, .rst_ni, .start_i, .start_tag_i(post_i.tag), .pending_i(pending_o),
  .pending_tag_i(post_o.tag), .retire_i);

bind weft_core stream_contract #(.Width(3 + weft_pkg::CmdBits)) u_push_contract (
  .clk_i, .rst_ni(core_rst_n), .valid_i(cmd_valid_i), .ready_i(!queue_full_o[cmd_queue_i]),
  .payload_i({cmd_queue_i, cmd_i}));
bind slice_port stream_contract #(.Width(24)) u_post_contract (
  .clk_i, .rst_ni, .valid_i(post_valid_i), .ready_i(post_ready_o),
  .payload_i({post_sem_i, post_count_i}));
bind weft_core stream_contract #(.Width(84)) u_mrd_contract (
  .clk_i, .rst_ni(core_rst_n), .valid_i(mrd_valid_o), .ready_i(mrd_ready_i),
  .payload_i({mrd_space_o, mrd_addr_o, mrd_bytes_o, mrd_channel_o}));
bind weft_core core_invariants #(.Units(Units)) u_core_invariants (
  .clk_i, .rst_ni(core_rst_n), .stop_i(stop), .busy_i(busy_o), .start_i(start_o),
  .retire_i(retired), .held_i(held), .active_i(unit_active), .faulted_i(unit_faulted_q),
  .in_reset_i(in_reset), .full_i(queue_full_o),
  .fetching_i(fetching_o), .level_i({level[4], level[3], level[2], level[1], level[0]}),
  .head_valid_i(head_valid), .taken_i(lane_taken), .expired_i(watchdog_expired));
