`default_nettype none
// Counts cycles without progress while the core is busy; at the limit it raises a fault, once.
//
// Progress is anything that moves: a command, a VMEM grant, a memory beat, a row of the MXU. Slow
// work lives.
module watchdog (
  input  logic        clk_i,
  input  logic        rst_ni,      // core reset
  input  logic        busy_i,
  input  logic        progress_i,
  input  logic        stopped_i,
  input  logic [63:0] limit_i,     // cycles; 0: off
  output logic        expired_o
);
  logic [63:0] count_q;

  assign expired_o = limit_i != 0 && count_q >= limit_i && !stopped_i;

  always_ff @(posedge clk_i) begin
    if (!busy_i || progress_i || stopped_i) count_q <= '0;
    else count_q <= count_q + 64'd1;
    if (!rst_ni) count_q <= '0;
  end
endmodule
`default_nettype wire
