`default_nettype none
// A DMA channel: bounded in what it holds and has outstanding; silent after a fault; a fault once.
module dma_channel_invariants #(
  parameter int unsigned Held = 8,
  parameter int unsigned Outstanding = 512,
  localparam int unsigned HeldBits = $clog2(Held + 1),
  localparam int unsigned OutstandingBits = $clog2(Outstanding + 1)
) (
  input logic                       clk_i,
  input logic                       rst_ni,
  input logic [HeldBits-1:0]        held_i,
  input logic [OutstandingBits-1:0] outstanding_i,
  input logic                       asked_i,
  input logic                       answered_i,
  input logic                       dead_i,
  input logic                       front_valid_i,
  input logic                       back_valid_i,
  input logic                       fault_valid_i
);
  HeldInRange_A: assert property (@(posedge clk_i) disable iff (!rst_ni) held_i <= HeldBits'(Held));
  OutstandingInRange_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      outstanding_i <= OutstandingBits'(Outstanding));
  AnswerWasAsked_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      answered_i |-> outstanding_i != '0);
  AskedHasRoom_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      asked_i |-> outstanding_i != OutstandingBits'(Outstanding));
  DeadIsSilent_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      dead_i |-> !front_valid_i && !back_valid_i);
  FaultOnce_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      fault_valid_i |=> !fault_valid_i);

  AllOutstanding_C: cover property (@(posedge clk_i)
      rst_ni && outstanding_i == OutstandingBits'(Outstanding));
  AllHeld_C: cover property (@(posedge clk_i) rst_ni && held_i == HeldBits'(Held));
  Dead_C: cover property (@(posedge clk_i) rst_ni && dead_i);
endmodule
`default_nettype wire
