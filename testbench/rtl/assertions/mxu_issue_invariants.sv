`default_nettype none
// The MXU's issue: no row before the weights of its tile are complete, no word into a shadow plane
// that is still needed, rows of the other type only into an empty array.
module mxu_issue_invariants #(
  parameter int unsigned SwapLead = 0 // cycles from a swap until the shadow plane is free behind it
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       row_issue_i,
  input logic       tile_start_i,     // the row is the first of its tile
  input logic       swap_i,
  input logic       shadow_ready_i,
  input logic       shadow_busy_i,
  input logic       weight_first_i,   // the word that goes is the first of its tile
  input logic       weight_issue_i,
  input logic       flight_i,
  input logic       same_type_i,
  input logic [5:0] state_i           // busy, weight_wait, acc_wait, vmem_wait, drain, idle
);
  RowAfterWeights_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      row_issue_i && tile_start_i |-> shadow_ready_i);
  SwapAtTileStart_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      row_issue_i |-> swap_i == tile_start_i);
  logic [15:0] since_swap;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) since_swap <= '1;
    else if (row_issue_i && swap_i) since_swap <= 16'd1;
    else if (since_swap != '1) since_swap <= since_swap + 16'd1;
  end
  wire [15:0] lead = row_issue_i && swap_i ? 16'd0 : since_swap;
  ShadowNotOverwritten_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      weight_issue_i && weight_first_i |-> (!shadow_busy_i || (row_issue_i && swap_i))
                                           && 32'(lead) >= SwapLead);
  OneTypeInFlight_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      row_issue_i && flight_i |-> same_type_i);
  OneState_A: assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot(state_i));
  BusyIsRow_A: assert property (@(posedge clk_i) disable iff (!rst_ni) state_i[0] == row_issue_i);

  SwapWithLoad_C: cover property (@(posedge clk_i)
      rst_ni && row_issue_i && swap_i && weight_issue_i && weight_first_i);
  WeightWait_C: cover property (@(posedge clk_i) rst_ni && state_i[1]);
  AccWait_C: cover property (@(posedge clk_i) rst_ni && state_i[2]);
  VmemWait_C: cover property (@(posedge clk_i) rst_ni && state_i[3]);
endmodule
`default_nettype wire
