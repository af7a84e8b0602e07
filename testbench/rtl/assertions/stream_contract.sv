`default_nettype none
// The stream contract of a valid/ready port: what is offered stands, unchanged, until it is taken.
//
//   valid  __/‾‾‾‾‾‾‾‾‾\__    a payload is taken in a cycle in which valid and ready are both 1
//   ready  ________/‾\____
//
// rst_ni 0 also stands for whatever else lets an offer go (a stopped core): the bind says what.
module stream_contract #(
  parameter int unsigned Width = 1
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             valid_i,
  input logic             ready_i,
  input logic [Width-1:0] payload_i
);
  // The payload is kept and compared only while it waits; a property would sample all of it always.
  logic [Width-1:0] waiting_q;
  logic waits_q, changed;
  always_ff @(posedge clk_i) begin
    waits_q <= rst_ni && valid_i && !ready_i;
    if (valid_i && !ready_i) waiting_q <= payload_i;
  end
  always_comb begin
    changed = 1'b0;
    if (waits_q && valid_i) changed = payload_i != waiting_q;
  end

  ValidHeld_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      valid_i && !ready_i |=> valid_i);
  PayloadStable_A: assert property (@(posedge clk_i) disable iff (!rst_ni) !changed);

  Transfer_C: cover property (@(posedge clk_i) rst_ni && valid_i && ready_i);
  Stalled_C: cover property (@(posedge clk_i) rst_ni && valid_i && !ready_i);
  Idle_C: cover property (@(posedge clk_i) rst_ni && !valid_i);
endmodule
`default_nettype wire
