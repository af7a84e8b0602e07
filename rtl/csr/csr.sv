`default_nettype none
// The registers of spec/core_csr.toml. A write takes effect in the next cycle; a read is
// combinational and returns 0 for an offset that does not exist.
//
//   csr bus ──► decode ──► own: interrupt, queue_low, watchdog limit, first and last cycle
//                  │
//                  └─────► beside: semaphores · segment table · counters · fault capture
module csr (
  input  logic                              clk_i,
  input  logic                              rst_ni,          // power-up
  input  logic                              core_rst_ni,     // power-up or core reset
  // bus
  input  logic                              csr_valid_i,
  input  logic                              csr_write_i,
  input  logic [15:0]                       csr_addr_i,
  input  logic [63:0]                       csr_wdata_i,
  output logic [63:0]                       csr_rdata_o,
  // status of the core
  input  logic                              busy_i,
  input  logic                              stopped_i,
  input  logic [63:0]                       idle_credit_i,
  input  logic                              accept_i,        // a queue took a command
  input  logic [weft_pkg::NumQueues-1:0]    fell_i,          // the queue's level falls by one
  input  logic [weft_pkg::NumQueues-1:0]    retire_i,
  input  logic [4:0]                        level_i [weft_pkg::NumQueues],
  input  logic [15:0]                       head_tag_i [weft_pkg::NumQueues],
  // faults
  input  logic                              fault_raised_i,
  input  control_pkg::fault_t               fault_i,
  input  logic [63:0]                       fault_cycle_i,
  input  logic [63:0]                       fault_count_i,
  output logic                              clear_fault_count_o,
  // semaphores
  output logic                              sem_write_o,
  input  logic [15:0]                       sem_rdata_i,
  input  logic [weft_pkg::NumSemaphores-1:0] sem_nonzero_i,
  // prefetch, of the queue in csr_addr_i[5:3]
  output logic                              prefetch_base_write_o,
  output logic                              prefetch_count_write_o,
  input  logic [63:0]                       prefetch_base_i,
  input  logic [31:0]                       prefetch_left_i,
  input  logic [3*weft_pkg::NumQueues-1:0]  prefetch_status_i,   // refused, faulted, fetches
  input  logic [1:0]                        version_used_i,      // of the segments
  input  logic                              version_freed_i,
  // segments
  output logic                              segment_write_o,
  input  core_pkg::segment_t                segment_i,
  // counters
  output logic                              snapshot_o,
  output logic                              clear_counters_o,
  input  logic [63:0]                       counter_rdata_i,
  // fault injection
  output logic                              inject_write_o,
  input  logic [63:0]                       inject_rdata_i,
  // own registers
  output logic [63:0]                       cycle_o,
  output logic [63:0]                       watchdog_limit_o,
  output logic                              core_reset_o,    // pulse
  // busy fell: the next edge sets the interrupt
  output logic                              idle_event_o,
  output logic                              irq_o
);
  localparam int unsigned Irqs = 4;
  localparam logic [15:0] QueueBytes = 16'(8 * weft_pkg::NumQueues);
  localparam logic [15:0] CounterBytes = 16'(weft_pkg::CsrAddressBytes - weft_pkg::CsrCounter);
  localparam logic [15:0] SemaphoreBytes = 16'(8 * weft_pkg::NumSemaphores);
  localparam logic [15:0] SegmentBytes = 16'(32 * weft_pkg::NumSegments);

  localparam logic [15:0] InjectBytes = 16'd48;

  logic [63:0] cycle_q, first_accept_q, last_retire_q, watchdog_limit_q;
  logic [63:0] retired_q [weft_pkg::NumQueues];
  logic [4:0] queue_low_q;
  logic [Irqs-1:0] interrupt_q, interrupt_set;
  logic accepted_q, busy_q, write, read;

  function automatic logic in_block(input logic [15:0] base, input logic [15:0] bytes);
    in_block = csr_addr_i >= base && csr_addr_i - base < bytes;
  endfunction

  assign write = csr_valid_i && csr_write_i && csr_addr_i[2:0] == 0;
  assign read = csr_valid_i && !csr_write_i && csr_addr_i[2:0] == 0;

  assign core_reset_o = write && csr_addr_i == 16'(weft_pkg::CsrControl)
                        && csr_wdata_i[weft_pkg::CsrControlCoreResetLsb];
  assign clear_fault_count_o = write && csr_addr_i == 16'(weft_pkg::CsrControl)
                               && csr_wdata_i[weft_pkg::CsrControlClearFaultCountLsb];
  assign snapshot_o = write && csr_addr_i == 16'(weft_pkg::CsrCounterSnapshot);
  assign clear_counters_o = write && csr_addr_i == 16'(weft_pkg::CsrCounterClear);
  assign sem_write_o = write && in_block(16'(weft_pkg::CsrSemaphore), SemaphoreBytes);
  assign segment_write_o = write && in_block(16'(weft_pkg::CsrSegmentBase), SegmentBytes);

  assign prefetch_base_write_o = write && in_block(16'(weft_pkg::CsrPrefetchBase), QueueBytes);
  assign prefetch_count_write_o = write && in_block(16'(weft_pkg::CsrPrefetchCount), QueueBytes);

  assign inject_write_o = write && in_block(16'(weft_pkg::CsrInjectAddress), InjectBytes);

  assign cycle_o = cycle_q + idle_credit_i;
  assign watchdog_limit_o = watchdog_limit_q;
  assign irq_o = interrupt_q != 0;
  assign idle_event_o = busy_q && !busy_i;

  logic fell_low;
  always_comb begin
    fell_low = 1'b0;
    if (fell_i != 0) begin
      for (int unsigned i = 0; i < weft_pkg::NumQueues; i++) begin
        if (fell_i[i] && level_i[i] - 5'd1 <= queue_low_q) fell_low = 1'b1;
      end
    end
  end

  always_comb begin
    interrupt_set = '0;
    interrupt_set[weft_pkg::CsrInterruptFaultLsb] = fault_raised_i;
    interrupt_set[weft_pkg::CsrInterruptIdleLsb] = idle_event_o;
    interrupt_set[weft_pkg::CsrInterruptQueueLowLsb] = fell_low;
    interrupt_set[weft_pkg::CsrInterruptVersionLsb] = version_freed_i;
  end

  always_ff @(posedge clk_i) begin
    cycle_q <= cycle_q + 64'd1 + idle_credit_i;
    busy_q <= busy_i;
    if (write && csr_addr_i == 16'(weft_pkg::CsrInterrupt))
      interrupt_q <= (interrupt_q & ~csr_wdata_i[Irqs-1:0]) | interrupt_set;
    else
      interrupt_q <= interrupt_q | interrupt_set;
    if (write && csr_addr_i == 16'(weft_pkg::CsrQueueLow)) queue_low_q <= csr_wdata_i[4:0];
    if (write && csr_addr_i == 16'(weft_pkg::CsrWatchdogLimit)) watchdog_limit_q <= csr_wdata_i;
    if (accept_i && !accepted_q) begin
      first_accept_q <= cycle_o;
      accepted_q <= 1'b1;
    end
    if (write && csr_addr_i == 16'(weft_pkg::CsrFirstAcceptCycle)) begin
      first_accept_q <= '0;
      accepted_q <= 1'b0;
    end
    if (retire_i != 0) last_retire_q <= cycle_o;
    for (int unsigned i = 0; i < weft_pkg::NumQueues; i++) begin
      if (retire_i[i]) retired_q[i] <= retired_q[i] + 64'd1;
    end
    if (!core_rst_ni) begin
      interrupt_q <= '0;
      busy_q <= 1'b0;
      first_accept_q <= '0;
      accepted_q <= 1'b0;
      last_retire_q <= '0;
      for (int unsigned i = 0; i < weft_pkg::NumQueues; i++) retired_q[i] <= '0;
    end
    if (!rst_ni) begin
      cycle_q <= '0;
      queue_low_q <= '0;
      watchdog_limit_q <= 64'(weft_pkg::WatchdogDefaultCycles);
    end
  end

  logic [2:0] queue;
  assign queue = csr_addr_i[5:3];

  always_comb begin
    csr_rdata_o = '0;
    if (read) begin
      if (csr_addr_i < 16'(weft_pkg::CsrQueueLevel)) begin
        unique case (32'(csr_addr_i))
          weft_pkg::CsrStatus: begin
            csr_rdata_o[weft_pkg::CsrStatusBusyLsb] = busy_i;
            csr_rdata_o[weft_pkg::CsrStatusFaultedLsb] = fault_i.valid;
            csr_rdata_o[weft_pkg::CsrStatusStoppedLsb] = stopped_i;
          end
          weft_pkg::CsrCycle: csr_rdata_o = cycle_o;
          weft_pkg::CsrInterrupt: csr_rdata_o = 64'(interrupt_q);
          weft_pkg::CsrQueueLow: csr_rdata_o = 64'(queue_low_q);
          weft_pkg::CsrWatchdogLimit: csr_rdata_o = watchdog_limit_q;
          weft_pkg::CsrFirstAcceptCycle: csr_rdata_o = first_accept_q;
          weft_pkg::CsrLastRetireCycle: csr_rdata_o = last_retire_q;
          weft_pkg::CsrFaultCode: begin
            csr_rdata_o[weft_pkg::CsrFaultCodeCodeLsb+:8] = fault_i.code;
            csr_rdata_o[weft_pkg::CsrFaultCodeUnitLsb+:8] = 8'(fault_i.unit_id);
            csr_rdata_o[weft_pkg::CsrFaultCodeQueueLsb+:8] = 8'(fault_i.queue_id);
            csr_rdata_o[weft_pkg::CsrFaultCodeTagLsb+:16] = fault_i.tag;
          end
          weft_pkg::CsrFaultAddress: csr_rdata_o = fault_i.address;
          weft_pkg::CsrFaultCycle: csr_rdata_o = fault_cycle_i;
          weft_pkg::CsrFaultCount: csr_rdata_o = fault_count_i;
          weft_pkg::CsrPrefetchStatus: begin
            csr_rdata_o[weft_pkg::CsrPrefetchStatusFetchingLsb+:weft_pkg::NumQueues] =
                prefetch_status_i[0+:weft_pkg::NumQueues];
            csr_rdata_o[weft_pkg::CsrPrefetchStatusFaultedLsb+:weft_pkg::NumQueues] =
                prefetch_status_i[weft_pkg::NumQueues+:weft_pkg::NumQueues];
            csr_rdata_o[weft_pkg::CsrPrefetchStatusRefusedLsb+:weft_pkg::NumQueues] =
                prefetch_status_i[2*weft_pkg::NumQueues+:weft_pkg::NumQueues];
            csr_rdata_o[weft_pkg::CsrPrefetchStatusVersionsUsedLsb+:2] = version_used_i;
          end
          weft_pkg::CsrSemaphoreNonzero: csr_rdata_o = 64'(sem_nonzero_i);
          default: csr_rdata_o = '0;
        endcase
      end else if (in_block(16'(weft_pkg::CsrQueueLevel), QueueBytes)) begin
        csr_rdata_o = 64'(level_i[queue]);
      end else if (in_block(16'(weft_pkg::CsrQueueRetired), QueueBytes)) begin
        csr_rdata_o = retired_q[queue];
      end else if (in_block(16'(weft_pkg::CsrQueueHeadTag), QueueBytes)) begin
        if (level_i[queue] != 0) begin
          csr_rdata_o[weft_pkg::CsrQueueHeadTagTagLsb+:16] = head_tag_i[queue];
          csr_rdata_o[weft_pkg::CsrQueueHeadTagValidLsb] = 1'b1;
        end
      end else if (in_block(16'(weft_pkg::CsrPrefetchBase), QueueBytes)) begin
        csr_rdata_o = prefetch_base_i;
      end else if (in_block(16'(weft_pkg::CsrPrefetchCount), QueueBytes)) begin
        csr_rdata_o = 64'(prefetch_left_i);
      end else if (in_block(16'(weft_pkg::CsrSemaphore), SemaphoreBytes)) begin
        csr_rdata_o = 64'(sem_rdata_i);
      end else if (in_block(16'(weft_pkg::CsrSegmentBase), SegmentBytes)) begin
        unique case (csr_addr_i[4:3])
          2'd0: csr_rdata_o = segment_i.base;
          2'd1: csr_rdata_o = segment_i.limit;
          2'd2: begin
            csr_rdata_o[weft_pkg::CsrSegmentAttributesSpaceLsb+:2] = segment_i.space;
            csr_rdata_o[weft_pkg::CsrSegmentAttributesReadableLsb] = segment_i.readable;
            csr_rdata_o[weft_pkg::CsrSegmentAttributesWritableLsb] = segment_i.writable;
          end
          default: csr_rdata_o = '0;
        endcase
      end else if (in_block(16'(weft_pkg::CsrInjectAddress), InjectBytes)) begin
        csr_rdata_o = inject_rdata_i;
      end else if (in_block(16'(weft_pkg::CsrCounter), CounterBytes)) begin
        csr_rdata_o = counter_rdata_i;
      end
    end
  end
endmodule
`default_nettype wire
