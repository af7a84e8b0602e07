`default_nettype none
// The first fault stands until reset, and the core stands still from the cycle after it.
module first_fault_invariants #(
  parameter int unsigned Width = 1
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             raised_i,
  input logic             stop_i,
  input logic [Width-1:0] first_i
);
  logic [Width-1:0] first_q;
  logic stopped_q, changed;
  always_ff @(posedge clk_i) begin
    stopped_q <= rst_ni && stop_i;
    if (stop_i && !stopped_q) first_q <= first_i;
  end
  always_comb begin
    changed = 1'b0;
    if (stopped_q && stop_i) changed = first_i != first_q;
  end

  StopFollowsFault_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      raised_i |=> stop_i);
  StopHeld_A: assert property (@(posedge clk_i) disable iff (!rst_ni) stop_i |=> stop_i);
  FirstFaultHeld_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      !changed);

  SecondFault_C: cover property (@(posedge clk_i) rst_ni && stop_i && raised_i);
endmodule
`default_nettype wire
