// What is bound to rtl/common.
bind fifo level_invariants #(.Depth(Depth)) u_level_invariants (
  .clk_i, .rst_ni, .push_i(push), .pop_i(pop), .level_i(level_q));
bind fifo stream_contract #(.Width(Width)) u_pop_contract (
  .clk_i, .rst_ni, .valid_i(pop_valid_o), .ready_i(pop_ready_i), .payload_i(pop_o));
