`default_nettype none
// What one queue's two fetches count: what to ask for, what is on its way, what is buffered.
//
//   base, count ─► to ask ──ask──► on its way ──answer──► buffered ──read──► in the queue ─► taken
//                     ◄───────── Depth places of the buffer: an ask takes one, a read gives it back
//
// The trick: a read is asked for only when its answer has a place, so answers are never refused;
// and each stage serves the fetch that was started first until it has no more to do, then the other
// one, so two fetches are one stream. An answer with an error is the end: the queue asks for
// nothing more, drops what comes and hands on nothing until reset; its count never falls to 0, so
// writes are refused.
module prefetch_queue #(
  parameter int unsigned Depth = weft_pkg::PrefetchCommands,
  localparam int unsigned PlaceBits = $clog2(Depth),
  localparam int unsigned LevelBits = $clog2(Depth + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // registers
  input  logic                 base_write_i,   // of fetch wdata_i[0]
  input  logic                 count_write_i,  // of fetch wdata_i[32]
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
  output logic                 version_o,      // the fetch whose command is pushed next
  input  logic                 pushed_i,       // into the queue
  input  logic [1:0]           taken_i,        // a command of this fetch leaves the queue
  output logic [1:0]           used_o          // of the fetch commands have not left the queue
);
  localparam int unsigned Align = $clog2(weft_pkg::CmdBits / 8);
  localparam int unsigned InsideBits = $clog2(weft_pkg::QueueDepth + 1);

  logic [63:Align] base_q [2], answer_q [2];
  logic [31:0] to_ask_q [2], to_answer_q [2], left_q [2];
  logic [InsideBits-1:0] inside_q [2];         // in the queue
  logic [LevelBits-1:0] taken_q, buffered_q;   // places of the buffer: not free; filled
  logic [PlaceBits-1:0] tail_q, head_q;
  logic ask_of_q, answer_of_q, push_of_q, ask_of, answer_of, push_of;
  logic dead_q, refused_q, fed_q;
  logic [1:0] start, base_write;
  logic wrong;

  // The fetch that a stage serves: the same as before until that has no more to do.
  assign ask_of = to_ask_q[ask_of_q] == 32'd0 && to_ask_q[!ask_of_q] != 32'd0 ?
                  !ask_of_q : ask_of_q;
  assign answer_of = to_answer_q[answer_of_q] == 32'd0 && to_answer_q[!answer_of_q] != 32'd0 ?
                     !answer_of_q : answer_of_q;
  assign push_of = left_q[push_of_q] == 32'd0 && left_q[!push_of_q] != 32'd0 ?
                   !push_of_q : push_of_q;

  assign active_o = left_q[0] != 32'd0 || left_q[1] != 32'd0;
  assign wrong = (base_write_i && left_q[wdata_i[0]] != 32'd0) ||
                 (count_write_i && (left_q[wdata_i[32]] != 32'd0 || wdata_i[63:33] != 31'd0));
  for (genvar v = 0; v < 2; v++) begin : gen_fetch
    assign base_write[v] = base_write_i && !wrong && wdata_i[0] == 1'(v);
    assign start[v] = count_write_i && !wrong && wdata_i[32] == 1'(v);
    assign used_o[v] = left_q[v] != 32'd0 || inside_q[v] != '0;
  end

  assign base_o = {base_q[ask_of], {Align{1'b0}}};
  assign answer_address_o = {answer_q[answer_of], {Align{1'b0}}};
  assign left_o = left_q[0] + left_q[1];
  assign dead_o = dead_q;
  assign refused_o = refused_q;
  assign fed_o = fed_q;
  assign version_o = push_of;

  assign wants_o = to_ask_q[ask_of] != 32'd0 && taken_q != LevelBits'(Depth) && !dead_q;
  assign store_o = answered_i && !error_i && !dead_q;
  assign fault_o = answered_i && error_i && !dead_q;
  assign place_o = tail_q;
  assign buffered_o = buffered_q != '0 && !dead_q;
  assign head_place_o = head_q;

  function automatic logic [PlaceBits-1:0] next(input logic [PlaceBits-1:0] place);
    next = place == PlaceBits'(Depth - 1) ? '0 : place + 1'b1;
  endfunction

  for (genvar v = 0; v < 2; v++) begin : gen_count
    wire asked = asked_i && ask_of == 1'(v);
    wire answered = answered_i && answer_of == 1'(v);
    wire pushed = pushed_i && push_of == 1'(v);
    always_ff @(posedge clk_i) begin
      if (base_write[v]) base_q[v] <= wdata_i[63:Align];
      else if (asked) base_q[v] <= base_q[v] + 1'b1;
      if (start[v]) answer_q[v] <= base_q[v];
      else if (answered) answer_q[v] <= answer_q[v] + 1'b1;
      if (start[v]) to_ask_q[v] <= wdata_i[31:0];
      else if (asked) to_ask_q[v] <= to_ask_q[v] - 32'd1;
      if (start[v]) to_answer_q[v] <= wdata_i[31:0];
      else if (answered) to_answer_q[v] <= to_answer_q[v] - 32'd1;
      if (start[v]) left_q[v] <= wdata_i[31:0];
      else if (pushed) left_q[v] <= left_q[v] - 32'd1;
      if (pushed != taken_i[v]) inside_q[v] <= pushed ? inside_q[v] + 1'b1 : inside_q[v] - 1'b1;
      if (!rst_ni) begin
        base_q[v] <= '0;
        answer_q[v] <= '0;
        to_ask_q[v] <= '0;
        to_answer_q[v] <= '0;
        left_q[v] <= '0;
        inside_q[v] <= '0;
      end
    end
    wire held = inside_q[v] != '0;
    TakenIsInside_A: assert property (@(posedge clk_i) !rst_ni || !taken_i[v] || held);
  end

  always_ff @(posedge clk_i) begin
    ask_of_q <= ask_of;
    answer_of_q <= answer_of;
    push_of_q <= push_of;
    if (asked_i != read_i) taken_q <= asked_i ? taken_q + 1'b1 : taken_q - 1'b1;
    if (store_o != read_i) buffered_q <= store_o ? buffered_q + 1'b1 : buffered_q - 1'b1;
    if (store_o) tail_q <= next(tail_q);
    if (read_i) head_q <= next(head_q);
    if (fault_o) dead_q <= 1'b1;
    if (wrong) refused_q <= 1'b1;
    if (start != '0 && wdata_i[31:0] != 32'd0) fed_q <= 1'b1;
    else if (manager_push_i) fed_q <= 1'b0;
    if (!rst_ni) begin
      ask_of_q <= 1'b0;
      answer_of_q <= 1'b0;
      push_of_q <= 1'b0;
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
