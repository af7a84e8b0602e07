`default_nettype none
// What one queue's prefetcher counts: what to ask for, what is on its way, what is buffered.
//
//   base, count ─► to ask ──ask──► on its way ──answer──► buffered ──read──► into the queue
//                     ◄───────── Depth places of the buffer: an ask takes one, a read gives it back
//
// The trick: a read is asked for only when its answer has a place, so answers are never refused.
// An answer with an error is the end: the queue asks for nothing more, drops what comes and hands
// on nothing until reset; its count never falls to 0, so writes are refused.
module prefetch_queue #(
  parameter int unsigned Depth = weft_pkg::PrefetchCommands,
  localparam int unsigned PlaceBits = $clog2(Depth),
  localparam int unsigned LevelBits = $clog2(Depth + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // registers
  input  logic                 base_write_i,
  input  logic                 count_write_i,
  input  logic [63:0]          wdata_i,
  output logic [63:0]          base_o,         // the next command to ask for
  output logic [31:0]          left_o,         // commands that are not in the queue yet
  output logic                 active_o,
  output logic                 dead_o,
  output logic                 refused_o,      // a write was refused since reset
  input  logic                 manager_push_i, // the manager pushes to the queue itself
  output logic                 fed_o,          // the queue's last commands come from here
  // reads
  output logic                 wants_o,
  input  logic                 asked_i,        // for the command at base_o
  // answers, in order
  input  logic                 answered_i,
  input  logic                 error_i,
  output logic                 store_o,        // at place_o
  output logic [PlaceBits-1:0] place_o,
  output logic                 fault_o,        // at answer_address_o
  output logic [63:0]          answer_address_o,
  // towards the queue
  output logic                 buffered_o,     // at head_place_o
  output logic [PlaceBits-1:0] head_place_o,
  input  logic                 read_i,         // from the buffer
  input  logic                 pushed_i        // into the queue
);
  localparam int unsigned Align = $clog2(weft_pkg::CmdBits / 8);

  logic [63:Align] base_q, answer_q;
  logic [31:0] to_ask_q, left_q;
  logic [LevelBits-1:0] taken_q, buffered_q;   // places of the buffer: not free; filled
  logic [PlaceBits-1:0] tail_q, head_q;
  logic dead_q, refused_q, fed_q;
  logic start, wrong;

  assign active_o = left_q != 32'd0;
  assign wrong = (base_write_i && active_o) ||
                 (count_write_i && (active_o || wdata_i[63:32] != 32'd0));
  assign start = count_write_i && !wrong;

  assign base_o = {base_q, {Align{1'b0}}};
  assign answer_address_o = {answer_q, {Align{1'b0}}};
  assign left_o = left_q;
  assign dead_o = dead_q;
  assign refused_o = refused_q;
  assign fed_o = fed_q;

  assign wants_o = to_ask_q != 32'd0 && taken_q != LevelBits'(Depth) && !dead_q;
  assign store_o = answered_i && !error_i && !dead_q;
  assign fault_o = answered_i && error_i && !dead_q;
  assign place_o = tail_q;
  assign buffered_o = buffered_q != '0 && !dead_q;
  assign head_place_o = head_q;

  function automatic logic [PlaceBits-1:0] next(input logic [PlaceBits-1:0] place);
    next = place == PlaceBits'(Depth - 1) ? '0 : place + 1'b1;
  endfunction

  always_ff @(posedge clk_i) begin
    if (base_write_i && !wrong) base_q <= wdata_i[63:Align];
    else if (asked_i) base_q <= base_q + 1'b1;
    if (start) answer_q <= base_q;
    else if (answered_i) answer_q <= answer_q + 1'b1;
    if (start) to_ask_q <= wdata_i[31:0];
    else if (asked_i) to_ask_q <= to_ask_q - 32'd1;
    if (start) left_q <= wdata_i[31:0];
    else if (pushed_i) left_q <= left_q - 32'd1;
    if (asked_i != read_i) taken_q <= asked_i ? taken_q + 1'b1 : taken_q - 1'b1;
    if (store_o != read_i) buffered_q <= store_o ? buffered_q + 1'b1 : buffered_q - 1'b1;
    if (store_o) tail_q <= next(tail_q);
    if (read_i) head_q <= next(head_q);
    if (fault_o) dead_q <= 1'b1;
    if (wrong) refused_q <= 1'b1;
    if (start && wdata_i[31:0] != 32'd0) fed_q <= 1'b1;
    else if (manager_push_i) fed_q <= 1'b0;
    if (!rst_ni) begin
      base_q <= '0;
      answer_q <= '0;
      to_ask_q <= '0;
      left_q <= '0;
      taken_q <= '0;
      buffered_q <= '0;
      tail_q <= '0;
      head_q <= '0;
      dead_q <= 1'b0;
      refused_q <= 1'b0;
      fed_q <= 1'b0;
    end
  end

  AskedIsWanted_A: assert property (@(posedge clk_i) !rst_ni || !asked_i || wants_o);
  ReadIsBuffered_A: assert property (@(posedge clk_i) !rst_ni || !read_i || buffered_o);
endmodule
`default_nettype wire
