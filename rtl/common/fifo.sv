`default_nettype none
// First in, first out: Depth entries of Width bits. The head is visible in the cycle after it was
// pushed into an empty FIFO.
//
//   push_valid ─►┌──┬──┬──┬──┐─► pop_valid
//   push_ready ◄─└──┴──┴──┴──┘◄─ pop_ready
//
// One push and one pop a cycle; a full FIFO takes no push, also beside a pop: push_ready does not
// depend on pop_ready. Depth is any number from 1. Only the pointers are reset. Yosys reads it.
module fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4,
  localparam int unsigned LevelBits = $clog2(Depth + 1),
  localparam int unsigned PointerBits = Depth > 1 ? $clog2(Depth) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 push_valid_i,
  output logic                 push_ready_o,
  input  logic [Width-1:0]     push_i,
  output logic                 pop_valid_o,
  input  logic                 pop_ready_i,
  output logic [Width-1:0]     pop_o,
  output logic [LevelBits-1:0] level_o        // entries held
);
  logic [Width-1:0] entries[0:Depth-1];
  logic [PointerBits-1:0] head_q, tail_q;
  logic [LevelBits-1:0] level_q;

  assign push_ready_o = level_q != Depth[LevelBits-1:0];
  assign pop_valid_o = level_q != {LevelBits{1'b0}};
  assign pop_o = entries[head_q];
  assign level_o = level_q;

  wire push = push_valid_i && push_ready_o;
  wire pop = pop_valid_o && pop_ready_i;

  function automatic [PointerBits-1:0] next(input [PointerBits-1:0] pointer);
    if (pointer == Depth[PointerBits-1:0] - 1'b1) next = {PointerBits{1'b0}};
    else next = pointer + 1'b1;
  endfunction

  always_ff @(posedge clk_i) begin
    if (push) entries[tail_q] <= push_i;
    if (!rst_ni) begin
      head_q  <= {PointerBits{1'b0}};
      tail_q  <= {PointerBits{1'b0}};
      level_q <= {LevelBits{1'b0}};
    end else begin
      if (push) tail_q <= next(tail_q);
      if (pop) head_q <= next(head_q);
      if (push && !pop) level_q <= level_q + 1'b1;
      if (pop && !push) level_q <= level_q - 1'b1;
    end
  end
endmodule
`default_nettype wire
