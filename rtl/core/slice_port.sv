`default_nettype none
// What other chips do to this core's control: acknowledge its remote commands, and post to its
// semaphores.
//
//   open  ─► + ┐
//              ├─► unacknowledged ─► the core is busy
//   ack   ─► - ┘  └─► refused there: fault ICI of the command that sent
//   post  ─► semaphores, in the cycles in which nothing retires
//
// No latency: a post that is taken in cycle t can be waited for in t + 1, an acknowledgement's
// fault is raised in its cycle.
module slice_port #(
  parameter int unsigned CountBits = 16    // a core has fewer commands than that on their way
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // a remote command sets out; one that set out before is acknowledged
  input  logic                open_i,
  input  logic                ack_valid_i,
  input  logic                ack_fault_i,
  input  logic                ack_channel_i,    // of dma_out
  input  logic [15:0]         ack_tag_i,
  input  logic [63:0]         ack_address_i,    // of fault ICI
  output logic                waiting_o,        // not all are acknowledged
  output control_pkg::fault_t ack_fault_o,
  // posts of other chips
  input  logic                post_valid_i,
  output logic                post_ready_o,
  input  logic [7:0]          post_sem_i,
  input  logic [15:0]         post_count_i,
  output control_pkg::fault_t post_fault_o,
  // retirement, which goes first
  input  logic                retire_valid_i,
  // Waived: the tag is retire.sv's, for its fault.
  // verilator lint_off UNUSEDSIGNAL
  input  control_pkg::post_t  retire_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic                retire_overflow_o,
  // semaphores
  output logic                sem_valid_o,
  output logic [7:0]          sem0_o,
  output logic [7:0]          sem1_o,
  output logic [15:0]         count0_o,
  output logic [15:0]         count1_o,
  input  logic                overflow_i
);
  logic [CountBits-1:0] unacknowledged_q;

  assign waiting_o = unacknowledged_q != '0;

  always_ff @(posedge clk_i) begin
    if (open_i && !ack_valid_i) unacknowledged_q <= unacknowledged_q + 1'b1;
    if (ack_valid_i && !open_i) unacknowledged_q <= unacknowledged_q - 1'b1;
    if (!rst_ni) unacknowledged_q <= '0;
  end

  always_comb begin
    ack_fault_o = '0;
    if (ack_valid_i && ack_fault_i)
      ack_fault_o = '{valid: 1'b1, code: weft_pkg::FaultIci,
                      unit_id: ack_channel_i ? weft_pkg::UnitDma3 : weft_pkg::UnitDma2,
                      queue_id: weft_pkg::QueueDmaOut, tag: ack_tag_i, address: ack_address_i};
  end

  assign post_ready_o = !retire_valid_i;
  assign sem_valid_o = retire_valid_i || post_valid_i;
  assign sem0_o = retire_valid_i ? retire_i.sem0 : post_sem_i;
  assign sem1_o = retire_valid_i ? retire_i.sem1 : weft_pkg::NoSemaphore;
  assign count0_o = retire_valid_i ? retire_i.count0 : post_count_i;
  assign count1_o = retire_i.count1;
  assign retire_overflow_o = retire_valid_i && overflow_i;

  always_comb begin
    post_fault_o = '0;
    if (post_valid_i && post_ready_o && overflow_i)
      post_fault_o = '{valid: 1'b1, code: weft_pkg::FaultSemaphoreOverflow,
                       unit_id: weft_pkg::UnitSync, queue_id: weft_pkg::QueueSync, tag: '0,
                       address: 64'(post_sem_i)};
  end

  AcknowledgedOnce_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      ack_valid_i |-> unacknowledged_q != '0);
  RoomForOpen_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      open_i |-> ack_valid_i || unacknowledged_q != '1);
  PostFromOutside_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      post_valid_i |-> post_sem_i >= 8'(weft_pkg::RemoteSemaphoreFirst)
                       && post_sem_i < 8'(weft_pkg::NumSemaphores));
endmodule
`default_nettype wire
