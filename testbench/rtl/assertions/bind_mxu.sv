// What is bound to rtl/mxu. After a fault its requests are let go.
bind mxu unit_contract #(.MostHeld(mxu_pkg::Commands + 1)) u_unit_contract (
  .clk_i, .rst_ni, .cmd_valid_i, .cmd_ready_i(cmd_ready_o), .done_i(done_o),
  .fault_i(fault_valid_o), .active_i(active_o));
bind mxu request_contract #(.Width($bits(x_addr_o))) u_x_contract (
  .clk_i, .rst_ni(rst_ni && !halted), .req_i(x_req_o), .gnt_i(x_gnt_i), .payload_i(x_addr_o));
bind mxu request_contract #(.Width($bits(w_addr_o))) u_w_contract (
  .clk_i, .rst_ni(rst_ni && !halted), .req_i(w_req_o), .gnt_i(w_gnt_i), .payload_i(w_addr_o));
bind mxu answer_contract #(.Ports(mxu_pkg::ReadRows)) u_acc_answer (
  .clk_i, .rst_ni, .gnt_i(acc_gnt_o), .rvalid_i(acc_rvalid_o));
bind mxu_fetch level_invariants #(.Depth(4)) u_level_invariants (
  .clk_i, .rst_ni, .push_i(push), .pop_i, .level_i(count_q));
bind mxu_acc acc_invariants #(.Rows(mxu_pkg::ReadRows), .RowBits(RowBits)) u_acc_invariants (
  .clk_i, .rst_ni, .row_issue_i, .seed_read_i(seed_read),
  .pending_write_i(seed_read && pending),
  .seed_bank_i(row_i.acc_row[$bits(row_i.acc_row)-1]),
  .bank_reads_i({bank_reads_q[1] != '0, bank_reads_q[0] != '0}), .acc_req_i,
  .acc_gnt_i(acc_gnt_o), .acc_row_i);
bind mxu_issue mxu_issue_invariants #(
  .SwapLead((mxu_pkg::PeLatency - 1) * (mxu_pkg::N - 1))) u_issue_invariants (
  .clk_i, .rst_ni, .row_issue_i(row_issue_o), .tile_start_i(tile_start_q), .swap_i(row_i.swap),
  .shadow_ready_i(shadow_ready_q), .shadow_busy_i(shadow_busy_q), .weight_first_i(weight_i.first),
  .weight_issue_i(weight_issue_o), .flight_i(flight_o), .same_type_i(row_i.int8 == int8_q),
  .state_i({cnt_idle_o, cnt_drain_o, cnt_vmem_wait_o, cnt_acc_wait_o, cnt_weight_wait_o,
            cnt_busy_o}));
