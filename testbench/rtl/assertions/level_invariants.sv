`default_nettype none
// The level of a buffer of Depth places: never above Depth, and what went in minus what came out.
module level_invariants #(
  parameter int unsigned Depth = 4,
  localparam int unsigned LevelBits = $clog2(Depth + 1)
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 push_i,    // an entry is stored in this cycle
  input logic                 pop_i,
  input logic [LevelBits-1:0] level_i
);
  LevelInRange_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      level_i <= LevelBits'(Depth));
  LevelCounts_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      rst_ni |=> level_i == $past(level_i + LevelBits'(push_i) - LevelBits'(pop_i)));
  NoPushWhenFull_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      push_i |-> level_i != LevelBits'(Depth));
  NoPopWhenEmpty_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      pop_i |-> level_i != '0);

  Full_C: cover property (@(posedge clk_i) rst_ni && level_i == LevelBits'(Depth));
  PushAndPop_C: cover property (@(posedge clk_i) rst_ni && push_i && pop_i);
endmodule
`default_nettype wire
