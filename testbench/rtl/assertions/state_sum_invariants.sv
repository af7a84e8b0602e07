`default_nettype none
// Counters of states add up to the cycles that were counted: each cycle is in exactly one state of
// its group, once for each of the units that count together.
module state_sum_invariants #(
  parameter int unsigned States = 4,
  parameter int unsigned Units = 1
) (
  input logic                    clk_i,
  input logic                    rst_ni,
  input logic                    clear_i,
  input logic [63:0]             idle_credit_i,
  input logic [States-1:0][63:0] counter_i
);
  logic [63:0] cycles_q, sum;

  always_comb begin
    sum = '0;
    for (int unsigned i = 0; i < States; i++) sum = sum + counter_i[i];
  end

  always_ff @(posedge clk_i) begin
    cycles_q <= cycles_q + 64'(Units) * (64'd1 + idle_credit_i);
    if (!rst_ni || clear_i) cycles_q <= '0;
  end

  StatesAddUpToCycles_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      sum == cycles_q);

  Credit_C: cover property (@(posedge clk_i) rst_ni && idle_credit_i != '0);
endmodule
`default_nettype wire
