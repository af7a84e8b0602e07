`default_nettype none
// One queue of 16 commands: filled by the manager, emptied by issue.sv.
//
// A command stays in the queue until its unit takes it, so the level counts what has not started.
// Latency: a command pushed in cycle t is at the head in t + 1. One push and one pop a cycle.
module command_queue (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  // from the manager; a push into a full queue is ignored
  input  logic                         push_i,
  input  logic [weft_pkg::CmdBits-1:0] cmd_i,
  input  logic [1:0]                   mark_i,        // goes with it
  output logic                         full_o,
  // head
  output logic                         head_valid_o,
  output logic [weft_pkg::CmdBits-1:0] head_o,
  output logic [15:0]                  head_tag_o,
  output logic [1:0]                   head_mark_o,
  input  logic                         pop_i,
  output logic [4:0]                   level_o
);
  localparam int unsigned PtrBits = $clog2(weft_pkg::QueueDepth);

  logic [weft_pkg::CmdBits-1:0] mem_q [weft_pkg::QueueDepth];
  logic [1:0] mark_q [weft_pkg::QueueDepth];
  logic [PtrBits-1:0] rd_q, wr_q;
  logic [4:0] level_q;
  logic push;

  assign full_o = level_q == 5'(weft_pkg::QueueDepth);
  assign head_valid_o = level_q != 0;
  assign head_o = mem_q[rd_q];
  assign head_tag_o = mem_q[rd_q][31:16];
  assign head_mark_o = mark_q[rd_q];
  assign level_o = level_q;
  assign push = push_i && !full_o;

  always_ff @(posedge clk_i) begin
    if (push) begin
      mem_q[wr_q] <= cmd_i;
      mark_q[wr_q] <= mark_i;
      wr_q <= wr_q + 1'b1;
    end
    if (pop_i) rd_q <= rd_q + 1'b1;
    if (push != pop_i) level_q <= push ? level_q + 5'd1 : level_q - 5'd1;
    if (!rst_ni) begin
      rd_q <= '0;
      wr_q <= '0;
      level_q <= '0;
    end
  end

  PopOnlyWhenHeld_A: assert property (@(posedge clk_i) !rst_ni || !pop_i || head_valid_o);
endmodule
`default_nettype wire
