`default_nettype none
// Commands from HBM: a full queue gets none, a dead or stopped one asks for none, one a cycle.
module prefetch_invariants #(
  parameter int unsigned Queues = weft_pkg::NumQueues,
  parameter int unsigned Depth = weft_pkg::PrefetchCommands
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              stop_i,
  input logic [Queues-1:0] active_i,
  input logic [Queues-1:0] full_i,
  input logic [Queues-1:0] push_i,         // a command enters the queue
  input logic [Queues-1:0] asked_i,
  input logic              mrd_valid_i,
  input logic              mrd_ready_i,
  input logic              mrsp_valid_i,
  input logic              fault_valid_i,
  input logic [Queues-1:0] dead_i
);
  localparam int unsigned CountBits = $clog2(Queues * Depth + 2);
  logic [CountBits-1:0] in_flight_q;   // reads that memory took and has not answered
  always_ff @(posedge clk_i) begin
    in_flight_q <= in_flight_q + CountBits'(mrd_valid_i && mrd_ready_i) - CountBits'(mrsp_valid_i);
    if (!rst_ni) in_flight_q <= '0;
  end

  PushOne_A: assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot0(push_i));
  PushHasRoom_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (push_i & full_i) == '0);
  PushIsFetched_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (push_i & ~active_i) == '0);
  AskOne_A: assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot0(asked_i));
  StoppedAsksNothing_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      stop_i |-> asked_i == '0);
  DeadAsksNothing_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (asked_i & dead_i) == '0);
  AnswerIsAwaited_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      mrsp_valid_i |-> in_flight_q != '0);
  FaultIsDead_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      fault_valid_i |-> dead_i != '0);

  ManyInFlight_C: cover property (@(posedge clk_i) rst_ni && in_flight_q > CountBits'(Depth / 2));
  Faults_C: cover property (@(posedge clk_i) rst_ni && fault_valid_i);
  StoppedWhileFetching_C: cover property (@(posedge clk_i) rst_ni && stop_i && active_i != '0);
endmodule
`default_nettype wire
