// What is bound to the command prefetchers of rtl/core.
bind command_prefetch prefetch_invariants #(.Queues(Queues), .Depth(Depth)) u_invariants (
  .clk_i, .rst_ni, .stop_i, .active_i(active_o), .full_i, .push_i(push_o), .asked_i(asked),
  .mrd_valid_i(mrd_valid_o), .mrd_ready_i, .mrsp_valid_i, .fault_valid_i(fault_o.valid),
  .dead_i(dead_o));
bind prefetch_queue level_invariants #(.Depth(Depth)) u_taken_invariants (
  .clk_i, .rst_ni, .push_i(asked_i), .pop_i(read_i), .level_i(taken_q));
bind prefetch_queue level_invariants #(.Depth(Depth)) u_buffer_invariants (
  .clk_i, .rst_ni, .push_i(store_o), .pop_i(read_i), .level_i(buffered_q));
bind read_arbiter share_invariants #(.Share(Share)) u_share_invariants (
  .clk_i, .rst_ni, .dma_valid_i, .fetch_valid_i, .dma_ready_i(dma_ready_o),
  .fetch_ready_i(fetch_ready_o), .mrd_ready_i);
