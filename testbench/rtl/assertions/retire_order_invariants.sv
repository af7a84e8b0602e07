`default_nettype none
// A retirement lane gives back its commands in the order in which they started: a shadow of their
// tags, whose oldest must be the one that is offered.
module retire_order_invariants #(
  parameter int unsigned Depth = 4
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        start_i,
  input logic [15:0] start_tag_i,
  input logic        pending_i,
  input logic [15:0] pending_tag_i,
  input logic        retire_i
);
  localparam int unsigned PlaceBits = $clog2(Depth);
  logic [15:0] tag_q [Depth];
  logic [PlaceBits-1:0] first_q, last_q;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      tag_q[last_q] <= start_tag_i;
      last_q <= last_q + 1'b1;
    end
    if (retire_i) first_q <= first_q + 1'b1;
    if (!rst_ni) begin
      first_q <= '0;
      last_q <= '0;
    end
  end

  // An array element in a property is more than Verilator 5.006 can.
  wire [15:0] oldest = tag_q[first_q];
  RetireInOrder_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      pending_i |-> pending_tag_i == oldest);
  RetireIsPending_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      retire_i |-> pending_i);

  Retire_C: cover property (@(posedge clk_i) rst_ni && retire_i);
endmodule
`default_nettype wire
