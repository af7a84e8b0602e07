// Ibex's clock gate; Ibex names the module. It lets every edge through: the driver gives none while
// the core sleeps.
`default_nettype none
module prim_clock_gating (
  input  wire logic clk_i,
  input  wire logic en_i,
  input  wire logic test_en_i,
  output      logic clk_o
);
  logic unused_enables;
  assign unused_enables = ^{en_i, test_en_i};
  assign clk_o = clk_i;
endmodule
`default_nettype wire
