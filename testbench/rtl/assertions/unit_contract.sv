`default_nettype none
// The face that every unit has towards core/ (rtl/README.md): it retires only what it has taken, it
// is active while it holds a command, and after a fault it takes and finishes nothing.
module unit_contract #(
  parameter int unsigned MostHeld = 8      // commands taken and not retired
) (
  input logic clk_i,
  input logic rst_ni,
  input logic cmd_valid_i,
  input logic cmd_ready_i,
  input logic done_i,
  input logic fault_i,
  input logic active_i
);
  localparam int unsigned HeldBits = $clog2(MostHeld + 2);
  logic [HeldBits-1:0] held_q;
  logic faulted_q;
  wire take = cmd_valid_i && cmd_ready_i;

  always_ff @(posedge clk_i) begin
    if (take != done_i) held_q <= take ? held_q + 1'b1 : held_q - 1'b1;
    faulted_q <= faulted_q | fault_i;
    if (!rst_ni) begin
      held_q <= '0;
      faulted_q <= 1'b0;
    end
  end

  DoneWasTaken_A: assert property (@(posedge clk_i) disable iff (!rst_ni) done_i |-> held_q != '0);
  FaultWasTaken_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      fault_i |-> held_q != '0);
  HeldBounded_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      held_q <= HeldBits'(MostHeld));
  ActiveWhileHeld_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      !faulted_q && !fault_i && !done_i |-> active_i == (held_q != '0));
  NothingTakenAfterFault_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      faulted_q |-> !take);
  NothingDoneAfterFault_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      faulted_q |-> !done_i);

  SeveralHeld_C: cover property (@(posedge clk_i) rst_ni && held_q > 1);
  Fault_C: cover property (@(posedge clk_i) rst_ni && fault_i);
endmodule
`default_nettype wire
