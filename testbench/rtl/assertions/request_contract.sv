`default_nettype none
// The contract of a VMEM or ACC port: a request that is refused is repeated, unchanged, until it is
// granted; a grant answers a request of the same cycle.
module request_contract #(
  parameter int unsigned Width = 1
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             req_i,
  input logic             gnt_i,
  input logic [Width-1:0] payload_i
);
  // The payload is kept and compared only while it waits; a property would sample all of it always.
  logic [Width-1:0] waiting_q;
  logic waits_q, changed;
  always_ff @(posedge clk_i) begin
    waits_q <= rst_ni && req_i && !gnt_i;
    if (req_i && !gnt_i) waiting_q <= payload_i;
  end
  always_comb begin
    changed = 1'b0;
    if (waits_q && req_i) changed = payload_i != waiting_q;
  end

  RequestHeld_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      req_i && !gnt_i |=> req_i);
  RequestStable_A: assert property (@(posedge clk_i) disable iff (!rst_ni) !changed);
  GrantOfRequest_A: assert property (@(posedge clk_i) disable iff (!rst_ni) gnt_i |-> req_i);

  Granted_C: cover property (@(posedge clk_i) rst_ni && req_i && gnt_i);
  Refused_C: cover property (@(posedge clk_i) rst_ni && req_i && !gnt_i);
endmodule
`default_nettype wire
