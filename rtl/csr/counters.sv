`default_nettype none
// The counters of spec/counters.toml: 64 bits each, running; one write copies them all for reading.
//
// In every cycle each queue, each MXU and the VPU count in exactly one of their states.
// idle_credit_i adds the cycles that were not clocked to the states of this cycle, because nothing
// changed in them. A snapshot holds the values before its own cycle; clear and count in one cycle:
// clear wins.
module counters (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        clear_i,
  input  logic                        snapshot_i,
  input  logic [63:0]                 idle_credit_i,
  // what happens in this cycle
  input  control_pkg::queue_state_e   queue_state_i [weft_pkg::NumQueues],
  input  logic [weft_pkg::NumQueues-1:0] queue_retired_i,
  input  logic                        fetched_i,
  input  logic                        fetch_waits_i,
  input  logic                        read_conflict_i,
  input  control_pkg::unit_events_t   events_i,
  // reading
  input  logic [8:0]                  csr_index_i,
  output logic [63:0]                 csr_rdata_o
);
  localparam int unsigned QueueStates = 4;
  localparam int unsigned QueueCounters = QueueStates + 1;   // and `retired`

  logic [63:0] run_q [weft_pkg::NumCounters];
  logic [63:0] snapshot_q [weft_pkg::NumCounters];

  assign csr_rdata_o = csr_index_i < 9'(weft_pkg::NumCounters) ? snapshot_q[csr_index_i[5:0]] : '0;

  // Waived: loops over arrays that only the process below writes; snapshot_q is also read
  // combinationally.
  // verilator lint_off BLKSEQ
  task automatic clear();
    for (int unsigned i = 0; i < weft_pkg::NumCounters; i++) run_q[i] = '0;
  endtask

  task automatic copy();
    for (int unsigned i = 0; i < weft_pkg::NumCounters; i++) snapshot_q[i] = run_q[i];
  endtask

  // The counter of a port of VMEM: x and weights of all MXUs count together.
  function automatic int unsigned requester(input int unsigned port);
    if (port < control_pkg::NumMxu) requester = 0;
    else if (port < 2 * control_pkg::NumMxu) requester = 1;
    else requester = port - 2 * control_pkg::NumMxu + 2;
  endfunction

  task automatic count_states(input logic [63:0] cycles);
    for (int unsigned i = 0; i < weft_pkg::NumQueues; i++) begin
      run_q[i*QueueCounters+32'(queue_state_i[i])] += cycles;
    end
    for (int unsigned u = 0; u < control_pkg::NumMxu; u++) begin
      for (int unsigned i = 0; i < control_pkg::MxuStates; i++) begin
        if (events_i.mxu_state[u*control_pkg::MxuStates+i])
          run_q[weft_pkg::CounterMxuBusy+i] += cycles;
      end
    end
    for (int unsigned i = 0; i < control_pkg::VpuStates; i++) begin
      if (events_i.vpu_state[i]) run_q[weft_pkg::CounterVpuBusy+i] += cycles;
    end
  endtask

  task automatic count_commands();
    for (int unsigned i = 0; i < weft_pkg::NumQueues; i++) begin
      run_q[i*QueueCounters+QueueStates] += 64'(queue_retired_i[i]);
    end
    run_q[weft_pkg::CounterMxuMacs] += 64'(events_i.mxu_macs);
    if (events_i.int_overflow) run_q[weft_pkg::CounterStatusIntOverflow] = 64'd1;
    if (events_i.vpu_rows != '0) begin
      run_q[weft_pkg::CounterVpuRows] += 64'(events_i.vpu_rows);
      run_q[weft_pkg::CounterStatusNanResults] += 64'(events_i.nan_results);
      run_q[weft_pkg::CounterStatusInfResults] += 64'(events_i.inf_results);
    end
  endtask

  task automatic count_memory();
    if ((events_i.vmem_grant | events_i.vmem_conflict) != 0) begin
      for (int unsigned i = 0; i < control_pkg::VmemPorts; i++) begin
        run_q[weft_pkg::CounterVmemGrantsX+requester(i)] += 64'(events_i.vmem_grant[i]);
        run_q[weft_pkg::CounterVmemConflictsX+requester(i)] += 64'(events_i.vmem_conflict[i]);
      end
    end
    run_q[weft_pkg::CounterEccVmemCorrected] += 64'(events_i.vmem_corrected);
    run_q[weft_pkg::CounterEccVmemUncorrectable] += 64'(events_i.vmem_poison);
    run_q[weft_pkg::CounterEccAccCorrected] += 64'(events_i.acc_corrected);
    run_q[weft_pkg::CounterEccAccUncorrectable] += 64'(events_i.acc_poison);
    run_q[weft_pkg::CounterDmaReadBytes] += 64'(events_i.dma_read_bytes);
    run_q[weft_pkg::CounterDmaWriteBytes] += 64'(events_i.dma_write_bytes);
    run_q[weft_pkg::CounterDmaReadBeats] += 64'(events_i.dma_read_beat);
    run_q[weft_pkg::CounterDmaWriteBeats] += 64'(events_i.dma_write_beat);
    run_q[weft_pkg::CounterDmaReadStalls] += 64'(events_i.dma_read_stall);
    run_q[weft_pkg::CounterDmaWriteStalls] += 64'(events_i.dma_write_stall);
    run_q[weft_pkg::CounterPrefetchCommands] += 64'(fetched_i);
    run_q[weft_pkg::CounterPrefetchWaits] += 64'(fetch_waits_i);
    run_q[weft_pkg::CounterPrefetchConflicts] += 64'(read_conflict_i);
  endtask
  // verilator lint_on BLKSEQ

  always_ff @(posedge clk_i) begin
    if (idle_credit_i != 0) count_states(idle_credit_i);   // those cycles lie before this one
    if (snapshot_i) copy();
    if (!rst_ni || clear_i) begin
      clear();
    end else begin
      count_states(64'd1);
      count_commands();
      count_memory();
    end
  end

  for (genvar u = 0; u < control_pkg::NumMxu; u++) begin : gen_mxu
    MxuInOneState_A: assert property (@(posedge clk_i)
                                      !rst_ni || $onehot(
        events_i.mxu_state[u*control_pkg::MxuStates+:control_pkg::MxuStates]));
  end
  VpuInOneState_A: assert property (@(posedge clk_i) !rst_ni || $onehot(events_i.vpu_state));
endmodule
`default_nettype wire
