`default_nettype none
// A granted read is answered in the next cycle, and nothing else is.
module answer_contract #(
  parameter int unsigned Ports = 1
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic [Ports-1:0] gnt_i,
  input logic [Ports-1:0] rvalid_i
);
  AnswerFollowsGrant_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      rst_ni |=> rvalid_i == $past(gnt_i));

  Answered_C: cover property (@(posedge clk_i) rst_ni && rvalid_i != '0);
endmodule
`default_nettype wire
