`default_nettype none
// At most one grant a cycle, to a request; and one if anybody asks.
module one_hot_contract #(
  parameter int unsigned Width = 1
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic [Width-1:0] request_i,
  input logic [Width-1:0] grant_i
);
  GrantOneHot_A: assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot0(grant_i));
  GrantOfRequest_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (grant_i & ~request_i) == '0);
  GrantIfRequested_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      request_i != '0 |-> grant_i != '0);

  Contended_C: cover property (@(posedge clk_i) rst_ni && !$onehot0(request_i));
endmodule
`default_nettype wire
