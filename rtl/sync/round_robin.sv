`default_nettype none
// Grants one of several requests a cycle, in turn; the one served last comes last.
//
// With no request the turn goes back to request 0: a drained core is always in the same state, and
// the same launch takes the same cycles. Combinational from request to grant. Readable by Yosys
// 0.23.
module round_robin #(
  parameter int unsigned Width = 5
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [Width-1:0] request_i,
  output logic [Width-1:0] grant_o
);
  logic [Width-1:0] after_q;   // requests whose turn comes first: those above the one served last
  logic [Width-1:0] first, turn;

  assign first = request_i & after_q;
  assign turn = first != 0 ? first : request_i;
  assign grant_o = turn & (~turn + 1'b1);

  always_ff @(posedge clk_i) begin
    after_q <= ~(grant_o | (grant_o - 1'b1));
    if (!rst_ni || request_i == 0) after_q <= '0;
  end
endmodule
`default_nettype wire
