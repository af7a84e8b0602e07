`default_nettype none
// The counters with the events of a cycle as ports of their own.
module counters_bench (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            clear_i,
  input  logic            snapshot_i,
  input  logic [63:0]     idle_credit_i,
  input  logic [weft_pkg::NumQueues-1:0][1:0] queue_state_i,
  input  logic [weft_pkg::NumQueues-1:0]      queue_retired_i,
  input  logic [control_pkg::NumMxu*control_pkg::MxuStates-1:0] mxu_state_i,
  input  logic [31:0]     mxu_macs_i,
  input  logic            int_overflow_i,
  input  logic [2:0]      vpu_state_i,
  input  logic [3:0]      vpu_rows_i,
  input  logic [15:0]     nan_results_i,
  input  logic [15:0]     inf_results_i,
  input  logic [control_pkg::VmemPorts-1:0] vmem_grant_i,
  input  logic [control_pkg::VmemPorts-1:0] vmem_conflict_i,
  input  logic [15:0]     dma_read_bytes_i,
  input  logic [15:0]     dma_write_bytes_i,
  input  logic [1:0]      dma_beat_i,     // read, write
  input  logic [1:0]      dma_stall_i,
  input  logic [2:0]      prefetch_i,     // a command, a wait, a conflict
  input  logic [15:0]     vmem_corrected_i,
  input  logic [15:0]     vmem_poison_i,
  input  logic [15:0]     acc_corrected_i,
  input  logic [15:0]     acc_poison_i,
  input  logic [8:0]      csr_index_i,
  output logic [63:0]     csr_rdata_o
);
  control_pkg::queue_state_e queue_state [weft_pkg::NumQueues];
  control_pkg::unit_events_t events;
  for (genvar i = 0; i < weft_pkg::NumQueues; i++) begin : gen_state
    assign queue_state[i] = control_pkg::queue_state_e'(queue_state_i[i]);
  end
  always_comb begin
    events = '0;
    events.mxu_state = mxu_state_i;
    events.mxu_macs = mxu_macs_i;
    events.int_overflow = int_overflow_i;
    events.vpu_state = vpu_state_i;
    events.vpu_rows = vpu_rows_i;
    events.nan_results = nan_results_i;
    events.inf_results = inf_results_i;
    events.vmem_grant = vmem_grant_i;
    events.vmem_conflict = vmem_conflict_i;
    events.dma_read_bytes = dma_read_bytes_i;
    events.dma_write_bytes = dma_write_bytes_i;
    events.dma_read_beat = dma_beat_i[0];
    events.dma_write_beat = dma_beat_i[1];
    events.dma_read_stall = dma_stall_i[0];
    events.dma_write_stall = dma_stall_i[1];
    events.vmem_corrected = vmem_corrected_i;
    events.vmem_poison = vmem_poison_i;
    events.acc_corrected = acc_corrected_i;
    events.acc_poison = acc_poison_i;
  end
  counters u_counters (
    .clk_i, .rst_ni, .clear_i, .snapshot_i, .idle_credit_i, .queue_state_i(queue_state),
    .queue_retired_i, .fetched_i(prefetch_i[0]), .fetch_waits_i(prefetch_i[1]),
    .read_conflict_i(prefetch_i[2]), .events_i(events), .csr_index_i, .csr_rdata_o);
endmodule
`default_nettype wire
