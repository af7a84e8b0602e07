// What is bound to rtl/dma.
bind dma stream_contract #(.Width($bits(mrd_o))) u_mrd_contract (
  .clk_i, .rst_ni, .valid_i(mrd_valid_o), .ready_i(mrd_ready_i),
  .payload_i(mrd_o));
bind dma stream_contract #(.Width($bits(mrsp_i))) u_mrsp_contract (
  .clk_i, .rst_ni, .valid_i(mrsp_valid_i), .ready_i(mrsp_ready_o),
  .payload_i(mrsp_i));
bind dma stream_contract #(.Width($bits(mwr_o))) u_mwr_contract (
  .clk_i, .rst_ni, .valid_i(mwr_valid_o), .ready_i(mwr_ready_i),
  .payload_i(mwr_o));
bind dma stream_contract #(.Width($bits(mwr_o) - 1)) u_ici_contract (
  .clk_i, .rst_ni, .valid_i(ici_valid_o), .ready_i(ici_ready_i),
  .payload_i({mwr_o.addr, mwr_o.bytes, mwr_o.channel, mwr_o.data, ici_last_o}));
bind dma_read_port request_contract #(.Width($bits(dw_o))) u_dw_contract (
  .clk_i, .rst_ni, .req_i(dw_req_o), .gnt_i(dw_gnt_i),
  .payload_i(dw_o));
// The request is let go when its channel is: it has faulted, or read what ECC could not correct.
bind dma_write_port request_contract #(.Width($bits(dr_o))) u_dr_contract (
  .clk_i, .rst_ni(rst_ni && (!refused_q || front_valid_i[refused_channel_q])), .req_i(dr_req_o),
  .gnt_i(dr_gnt_i), .payload_i(dr_o));

// A channel that has faulted lets its offers go.
bind dma_channel unit_contract #(.MostHeld(dma_pkg::HeldCommands)) u_unit_contract (
  .clk_i, .rst_ni, .cmd_valid_i, .cmd_ready_i(cmd_ready_o), .done_i(done_o),
  .fault_i(fault_valid_o), .active_i(held_q != '0));
bind dma_channel dma_channel_invariants #(.Held(dma_pkg::HeldCommands), .Outstanding(Outstanding))
  u_channel_invariants (
  .clk_i, .rst_ni, .held_i(held_q), .outstanding_i(outstanding_q), .asked_i(asked),
  .answered_i(answered), .dead_i(dead_q), .front_valid_i(front_valid_o),
  .back_valid_i(back_valid_o), .fault_valid_i(fault_valid_o));
bind dma_channel stream_contract #(.Width($bits(job))) u_job_contract (
  .clk_i, .rst_ni(rst_ni && !dead_q), .valid_i(job_valid), .ready_i(job_ready), .payload_i(job));
bind dma_channel stream_contract #(.Width(181)) u_front_contract (
  .clk_i, .rst_ni(rst_ni && !dead_q && !poisoned_q), .valid_i(front_valid_o), .ready_i(front_ready_i),
  .payload_i({front_fill_o, front_remote_o, front_last_o, front_pattern_o, front_space_o, front_mem_o, front_vmem_o,
              front_bytes_o}));
bind dma_channel stream_contract #(.Width(114)) u_back_contract (
  .clk_i, .rst_ni(rst_ni && !dead_q), .valid_i(back_valid_o), .ready_i(taken),
  .payload_i({back_fill_o, back_pattern_o, back_vmem_o, back_bytes_o, back_last_o}));
bind dma_rows dma_rows_invariants #(.PlaceBits(PlaceBits)) u_rows_invariants (
  .clk_i, .rst_ni, .answer_i, .words_ready_i(words_ready), .load_i,
  .idle_i(words_q == '0 && held_q == '0 && !index_valid_q), .front_take_i,
  .front_valid_i(front_valid_o), .back_take_i, .back_valid_i(back_valid_o), .front_place_i(front_q),
  .back_place_i(back_q), .taken_i(taken_q), .moved_i(store && row.kind == dma_pkg::RowMoved),
  .index_i(index_q), .rows_i(table_q.rows));
// Indices; data have a contract above.
bind dma_index_port request_contract #(.Width($bits(word))) u_index_contract (
  .clk_i, .rst_ni(rst_ni && (refused_q == '0 || (refused_q & index_valid_i) != '0)),
  .req_i(index != '0), .gnt_i(index_ready_o != '0), .payload_i(word));
bind dma_write_port level_invariants #(.Depth(2)) u_skid_invariants (
  .clk_i, .rst_ni, .push_i(skid_in), .pop_i(skid_out), .level_i(skid_level_q));
