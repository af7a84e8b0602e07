// What is bound to rtl/csr.
bind csr interrupt_invariants #(.Bits(Irqs)) u_interrupt_invariants (
  .clk_i, .rst_ni(core_rst_ni), .interrupt_i(interrupt_q), .set_i(interrupt_set),
  .clear_i(write && csr_addr_i == 16'(weft_pkg::CsrInterrupt) ? csr_wdata_i[Irqs-1:0] : '0),
  .irq_i(irq_o));
bind fault_capture first_fault_invariants #(.Width($bits(control_pkg::fault_t) + 64))
  u_first_fault_invariants (
  .clk_i, .rst_ni, .raised_i(raised_o), .stop_i(stop_o), .first_i({first_q, first_cycle_q}));

bind counters state_sum_invariants #(.States(4)) u_dma_in_states (
  .clk_i, .rst_ni, .clear_i, .idle_credit_i,
  .counter_i({run_q[0], run_q[1], run_q[2], run_q[3]}));
bind counters state_sum_invariants #(.States(4)) u_mxu_queue_states (
  .clk_i, .rst_ni, .clear_i, .idle_credit_i,
  .counter_i({run_q[5], run_q[6], run_q[7], run_q[8]}));
bind counters state_sum_invariants #(.States(4)) u_vpu_queue_states (
  .clk_i, .rst_ni, .clear_i, .idle_credit_i,
  .counter_i({run_q[10], run_q[11], run_q[12], run_q[13]}));
bind counters state_sum_invariants #(.States(4)) u_dma_out_states (
  .clk_i, .rst_ni, .clear_i, .idle_credit_i,
  .counter_i({run_q[15], run_q[16], run_q[17], run_q[18]}));
bind counters state_sum_invariants #(.States(4)) u_sync_states (
  .clk_i, .rst_ni, .clear_i, .idle_credit_i,
  .counter_i({run_q[20], run_q[21], run_q[22], run_q[23]}));
bind counters state_sum_invariants #(.States(6), .Units(control_pkg::NumMxu)) u_mxu_states (
  .clk_i, .rst_ni, .clear_i, .idle_credit_i,
  .counter_i({run_q[weft_pkg::CounterMxuBusy], run_q[weft_pkg::CounterMxuBusy+1],
              run_q[weft_pkg::CounterMxuBusy+2], run_q[weft_pkg::CounterMxuBusy+3],
              run_q[weft_pkg::CounterMxuBusy+4], run_q[weft_pkg::CounterMxuBusy+5]}));
bind counters state_sum_invariants #(.States(3)) u_vpu_states (
  .clk_i, .rst_ni, .clear_i, .idle_credit_i,
  .counter_i({run_q[weft_pkg::CounterVpuBusy], run_q[weft_pkg::CounterVpuBusy+1],
              run_q[weft_pkg::CounterVpuBusy+2]}));
