`default_nettype none
// The order in which the MXUs took the commands of their queue, which is the order in which they
// retire: a command that is done before an older one of another MXU waits for it.
//
//   start ─► [ MXU 0 | MXU 2 | MXU 1 | ... ] ─► whose turn it is; all others are out of turn
//
// So whoever waits for the n-th post of the MXU queue waits for its n-th command, as with one MXU.
// Depth: what all lanes of retirement hold together.
module mxu_order
  import control_pkg::*;
(
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [Units-1:0] start_i,        // at most one MXU's
  input  logic [Units-1:0] retire_i,
  output logic [Units-1:0] out_of_turn_o   // MXUs whose oldest command may not retire yet
);
  localparam int unsigned LaneDepth = 4;   // retire.sv
  localparam int unsigned Depth = LaneDepth * NumMxu;
  localparam int unsigned PtrBits = $clog2(Depth);

  function automatic logic [NumMxu-1:0] mxus(input logic [Units-1:0] units);
    for (int unsigned u = 0; u < NumMxu; u++) mxus[u] = units[place_of_mxu(u)];
  endfunction

  logic [NumMxu-1:0]  mem_q [Depth];       // one hot
  logic [PtrBits-1:0] rd_q, wr_q;
  logic               push, pop;

  assign push = mxus(start_i) != '0;
  assign pop = mxus(retire_i) != '0;

  // Lanes that hold nothing have nothing to retire, so an empty order needs no case of its own.
  always_comb begin
    out_of_turn_o = '0;
    for (int unsigned u = 0; u < NumMxu; u++) out_of_turn_o[place_of_mxu(u)] = !mem_q[rd_q][u];
  end

  always_ff @(posedge clk_i) begin
    if (push) mem_q[wr_q] <= mxus(start_i);
    if (push) wr_q <= wr_q + 1'b1;
    if (pop) rd_q <= rd_q + 1'b1;
    if (!rst_ni) begin
      rd_q <= '0;
      wr_q <= '0;
    end
  end

  OneStart_A: assert property (@(posedge clk_i) !rst_ni || $onehot0(mxus(start_i)));
  InTurn_A: assert property (@(posedge clk_i) !rst_ni || (retire_i & out_of_turn_o) == '0);

  logic unused_units;
  assign unused_units = &{1'b0, start_i, retire_i};
endmodule
`default_nettype wire
