`default_nettype none
// The sync queue's unit: SIGNAL, WAIT and FENCE. Waits and posts are made by core/; what is left is
// when to be done.
//
// SIGNAL and WAIT are done one cycle after they were taken. FENCE is done when no other unit
// executes a command and all that was executed has posted. One command at a time. It refuses
// nothing: core/ checks the header.
module sync_engine (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       cmd_valid_i,
  output logic       cmd_ready_o,
  input  logic [7:0] opcode_i,
  input  logic       others_active_i,   // another unit holds a command, or its posts are under way
  output logic       done_o,
  output logic       active_o
);
  logic active_q, fence_q;

  assign cmd_ready_o = !active_q;
  assign active_o = active_q;
  assign done_o = active_q && !(fence_q && others_active_i);

  always_ff @(posedge clk_i) begin
    if (cmd_valid_i && cmd_ready_o) begin
      active_q <= 1'b1;
      fence_q <= opcode_i == weft_pkg::OpcodeFence;
    end else if (done_o) begin
      active_q <= 1'b0;
    end
    if (!rst_ni) begin
      active_q <= 1'b0;
      fence_q <= 1'b0;
    end
  end
endmodule
`default_nettype wire
