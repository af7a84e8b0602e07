`default_nettype none
// The whole core: who may start, retire, wait and stop, and what busy tells.
module core_invariants #(
  parameter int unsigned Units = weft_pkg::NumUnits,
  parameter int unsigned Queues = weft_pkg::NumQueues
) (
  input logic              clk_i,
  input logic              rst_ni,          // core reset
  input logic              stop_i,
  input logic              busy_i,
  input logic [Units-1:0]  start_i,
  input logic [Units-1:0]  retire_i,
  input logic [Units-1:0]  held_i,          // the unit's lane holds a command
  input logic [Units-1:0]  active_i,
  input logic [Units-1:0]  faulted_i,
  input logic              in_reset_i,      // the core resets itself
  input logic [Queues-1:0] full_i,          // as the manager is told
  input logic [Queues-1:0] fetching_i,
  input logic [5*Queues-1:0] level_i,       // commands in each queue
  input logic [Queues-1:0] head_valid_i,
  input logic [Queues-1:0] taken_i,
  input logic              expired_i        // the watchdog raises its fault
);
  RetireOne_A: assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot0(retire_i));
  RetireIsHeld_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (retire_i & ~held_i) == '0);
  ActiveIsHeld_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (active_i & ~held_i) == '0);
  StoppedStartsNothing_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      stop_i |-> start_i == '0);
  TakenFromHead_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (taken_i & ~head_valid_i) == '0);
  BusyWhileWorking_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (active_i & ~faulted_i) != '0 || ((head_valid_i | fetching_i) != '0 && !stop_i)
      |-> busy_i);
  WatchdogOnce_A: assert property (@(posedge clk_i) disable iff (!rst_ni) expired_i |=> !expired_i);

  ResetTakesNothing_A: assert property (@(posedge clk_i) in_reset_i |-> full_i == '1);
  logic [Queues-1:0] full;
  for (genvar i = 0; i < Queues; i++) begin : gen_queue
    assign full[i] = level_i[5*i+:5] == 5'(weft_pkg::QueueDepth);
  end
  FullIsTold_A: assert property (@(posedge clk_i) disable iff (!rst_ni) full_i == (full | fetching_i));

  SeveralStart_C: cover property (@(posedge clk_i) rst_ni && !$onehot0(start_i));
  Stopped_C: cover property (@(posedge clk_i) rst_ni && stop_i);
  Watchdog_C: cover property (@(posedge clk_i) rst_ni && expired_i);
endmodule
`default_nettype wire
