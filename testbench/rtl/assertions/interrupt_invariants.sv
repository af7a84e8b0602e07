`default_nettype none
// An interrupt bit stands until a write clears it, and the line is up while any bit is.
module interrupt_invariants #(
  parameter int unsigned Bits = 3
) (
  input logic            clk_i,
  input logic            rst_ni,
  input logic [Bits-1:0] interrupt_i,
  input logic [Bits-1:0] set_i,       // events of this cycle
  input logic [Bits-1:0] clear_i,     // bits that a write clears in this cycle
  input logic            irq_i
);
  InterruptHeld_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      rst_ni |=> ($past(interrupt_i & ~clear_i) & ~interrupt_i) == '0);
  EventNotLost_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      rst_ni |=> ($past(set_i) & ~interrupt_i) == '0);
  NothingWithoutEvent_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      rst_ni |=> (interrupt_i & ~$past(interrupt_i | set_i)) == '0);
  LineIsAnyBit_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      irq_i == (interrupt_i != '0));

  SetBesideClear_C: cover property (@(posedge clk_i) rst_ni && (set_i & clear_i) != '0);
endmodule
`default_nettype wire
