`default_nettype none
// A granted read is answered in the next cycle, and nothing else is.
module answer_contract (
  input logic clk_i,
  input logic rst_ni,
  input logic gnt_i,
  input logic rvalid_i
);
  AnswerFollowsGrant_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      rst_ni |=> rvalid_i == $past(gnt_i));

  Answered_C: cover property (@(posedge clk_i) rst_ni && rvalid_i);
endmodule
`default_nettype wire
