`default_nettype none
// Brings each queue's commands from HBM: five prefetchers behind one read port and one buffer.
//
//   base, count ─► prefetch_queue x 5 ─► in turn ─► request register ─► mrd, one command a read
//   mrsp ─► order (whose answer it is) ─► buffer: a RAM of Depth commands a queue
//                       in turn, to a queue with room ◄─┘ ─► command register ─► push
//
// A queue has two fetches, one for each version of the segments; commands of fetch 1 name version 1
// when they enter a DMA queue. Write of a count in cycle 0: first mrd valid in 2. Answer in cycle
// t: at the queue's push in t + 2, at its head in t + 3. One read, one answer and one push a cycle;
// a queue gets a command every second cycle at most. stop_i: nothing more is asked for or read from
// the buffer.
module command_prefetch #(
  parameter int unsigned Depth = weft_pkg::PrefetchCommands,
  localparam int unsigned Queues = weft_pkg::NumQueues,
  localparam int unsigned CmdBits = weft_pkg::CmdBits
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 stop_i,
  // registers
  input  logic                 base_write_i,
  input  logic                 count_write_i,
  input  logic [2:0]           index_i,
  input  logic [63:0]          wdata_i,
  output logic [63:0]          base_o,          // of queue index_i
  output logic [31:0]          left_o,          // of queue index_i
  output logic [Queues-1:0]    active_o,        // commands of the queue's fetch are not yet in it
  output logic [Queues-1:0]    dead_o,
  output logic [Queues-1:0]    refused_o,
  input  logic [Queues-1:0]    manager_push_i,
  output logic [Queues-1:0]    fed_o,           // the queue's last commands come from here
  // memory: reads of CmdBits, of HBM
  output logic                 mrd_valid_o,
  input  logic                 mrd_ready_i,
  output logic [63:0]          mrd_addr_o,
  input  logic                 mrsp_valid_i,    // never refused
  input  port_pkg::command_answer_t mrsp_i,
  // queues
  input  logic [Queues-1:0]    full_i,
  input  logic [Queues-1:0]    empty_i,
  output logic [Queues-1:0]    push_o,
  output logic [CmdBits-1:0]   cmd_o,
  output logic                 version_o,       // of cmd_o
  input  logic                 push_ready_i,    // 0: the manager pushes in this cycle
  input  logic [Queues-1:0][1:0] taken_i,       // a command of this fetch leaves the queue
  // versions of the segments
  output logic [1:0]           used_o,          // a command may still look this one up
  output logic                 freed_o,         // one is not used any more, and the other one is
  // status
  output logic                 moving_o,        // something is on its way, whether stopped or not
  output logic                 wait_o,          // a queue that fetches has nothing to do
  output control_pkg::fault_t  fault_o
);
  localparam int unsigned PlaceBits = $clog2(Depth);

  logic [Queues-1:0] selected, wants, asked, answered, store, fault, buffered, read, staged;
  logic [Queues-1:0] version;
  logic [1:0] used [Queues];
  logic [63:0] base [Queues], answer_address [Queues];
  logic [31:0] left [Queues];
  logic [PlaceBits-1:0] place [Queues], head_place [Queues];

  for (genvar q = 0; q < Queues; q++) begin : gen_queue
    assign selected[q] = index_i == 3'(q);
    prefetch_queue #(.Depth(Depth)) u_queue (
      .clk_i, .rst_ni, .base_write_i(base_write_i && selected[q]),
      .count_write_i(count_write_i && selected[q]), .wdata_i, .base_o(base[q]), .left_o(left[q]),
      .active_o(active_o[q]), .dead_o(dead_o[q]), .refused_o(refused_o[q]),
      .manager_push_i(manager_push_i[q]), .fed_o(fed_o[q]), .wants_o(wants[q]),
      .asked_i(asked[q]), .answered_i(answered[q]), .error_i(mrsp_i.error), .store_o(store[q]),
      .place_o(place[q]), .fault_o(fault[q]), .answer_address_o(answer_address[q]),
      .buffered_o(buffered[q]), .head_place_o(head_place[q]), .read_i(read[q]),
      .version_o(version[q]), .pushed_i(push_o[q]), .taken_i(taken_i[q]), .used_o(used[q]));
  end

  always_comb begin
    base_o = '0;
    left_o = '0;
    for (int unsigned q = 0; q < Queues; q++) begin
      if (selected[q]) begin
        base_o = base[q];
        left_o = left[q];
      end
    end
  end

  // One of the requests, in turn. Unlike round_robin's, the turn waits until the grant is used.
  function automatic logic [Queues-1:0] in_turn(input logic [Queues-1:0] request,
                                                input logic [Queues-1:0] after);
    logic [Queues-1:0] turn;
    turn = (request & after) != '0 ? request & after : request;
    in_turn = turn & (~turn + 1'b1);
  endfunction

  // ---------------------------------------------------------------- reads
  logic [Queues-1:0] ask_after_q, ask;
  logic [2:0] ask_queue, answer_queue;
  logic mrd_valid_q, ask_free, order_ready, order_valid;

  assign mrd_valid_o = mrd_valid_q;
  assign ask_free = !mrd_valid_q || mrd_ready_i;
  assign ask = stop_i ? '0 : in_turn(wants, ask_after_q);
  assign asked = ask_free ? ask : '0;

  always_comb begin
    ask_queue = '0;
    for (int unsigned q = 0; q < Queues; q++) if (ask[q]) ask_queue = 3'(q);
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned q = 0; q < Queues; q++) if (asked[q]) mrd_addr_o <= base[q];
    if (ask_free) mrd_valid_q <= ask != '0;
    if (asked != '0) ask_after_q <= ~(asked | (asked - 1'b1));
    else if (wants == '0) ask_after_q <= '0;
    if (!rst_ni) begin
      mrd_valid_q <= 1'b0;
      ask_after_q <= '0;
    end
  end

  // Whose answers come, in order: one entry a read, from the ask on.
  // Waived: its places are those of the buffer, so it is never full; its level says no more than
  // its head.
  // verilator lint_off PINCONNECTEMPTY
  fifo #(.Width(3), .Depth(Queues * Depth)) u_order (
    .clk_i, .rst_ni, .push_valid_i(asked != '0), .push_ready_o(order_ready), .push_i(ask_queue),
    .pop_valid_o(order_valid), .pop_ready_i(mrsp_valid_i), .pop_o(answer_queue), .level_o());
  // verilator lint_on PINCONNECTEMPTY

  always_comb begin
    answered = '0;
    for (int unsigned q = 0; q < Queues; q++)
      answered[q] = mrsp_valid_i && order_valid && answer_queue == 3'(q);
  end

  always_ff @(posedge clk_i) begin
    fault_o.code <= weft_pkg::FaultCommandFetch;
    fault_o.unit_id <= control_pkg::unit_of_queue(answer_queue);
    fault_o.queue_id <= answer_queue;
    fault_o.tag <= '0;
    for (int unsigned q = 0; q < Queues; q++)
      if (answered[q]) fault_o.address <= answer_address[q];
    fault_o.valid <= fault != '0;
    if (!rst_ni) fault_o.valid <= 1'b0;
  end

  // ---------------------------------------------------------------- the buffer and the queues
  logic [CmdBits-1:0] buffer_q [Queues * Depth];
  logic [$clog2(Queues*Depth)-1:0] store_at, read_at;
  logic [CmdBits-1:0] cmd_q;
  logic [Queues-1:0] stage_q, read_after_q, may_read;
  logic stage_free;

  always_comb begin
    store_at = '0;
    read_at = '0;
    for (int unsigned q = 0; q < Queues; q++) begin
      if (store[q]) store_at = $clog2(Queues*Depth)'(q * Depth + 32'(place[q]));
      if (read[q]) read_at = $clog2(Queues*Depth)'(q * Depth + 32'(head_place[q]));
    end
  end

  assign stage_free = stage_q == '0 || push_ready_i;
  assign push_o = push_ready_i ? stage_q : '0;
  assign version_o = (stage_q & version) != '0;
  assign staged = stage_q;
  // A queue whose command is in the register may be full with it.
  assign may_read = stop_i ? '0 : buffered & ~full_i & ~staged;
  assign read = stage_free ? in_turn(may_read, read_after_q) : '0;

  always_ff @(posedge clk_i) begin
    if (store != '0) buffer_q[store_at] <= mrsp_i.data;
    if (read != '0) cmd_q <= buffer_q[read_at];
    if (stage_free) stage_q <= read;
    if (read != '0) read_after_q <= ~(read | (read - 1'b1));
    else if (buffered == '0) read_after_q <= '0;
    if (!rst_ni) begin
      stage_q <= '0;
      read_after_q <= '0;
    end
  end

  // ---------------------------------------------------------------- versions of the segments
  localparam logic [7:0] Version1 = 8'd1 << (core_pkg::SegmentBits - 1);
  function automatic logic [7:0] of_version(input logic [7:0] segment, input logic version_1);
    of_version = version_1 && segment != '0 ? segment | Version1 : segment;   // VMEM has none
  endfunction

  // The destination of a remote COPY is the receiver's segment, which has its own versions.
  weft_pkg::dma_cmd_t staged_cmd, dma_cmd;
  logic remote;
  assign staged_cmd = cmd_q;
  assign remote = (staged_cmd.flags & weft_pkg::FlagRemote) != '0;
  always_comb begin
    dma_cmd = staged_cmd;
    if (stage_q[weft_pkg::QueueDmaIn] || stage_q[weft_pkg::QueueDmaOut]) begin
      dma_cmd.src_seg = of_version(staged_cmd.src_seg, version_o);
      dma_cmd.dst_seg = of_version(staged_cmd.dst_seg, version_o && !remote);
    end
  end
  assign cmd_o = dma_cmd;

  // A DMA channel looks its segment up in the third cycle after it took the command.
  logic [1:0] wanted, used_before_q;
  logic [1:0] recent_q [3];
  always_comb begin
    wanted = '0;
    for (int unsigned q = 0; q < Queues; q++) wanted |= used[q];
  end
  assign used_o = wanted | recent_q[0] | recent_q[1] | recent_q[2];
  assign freed_o = (used_before_q & ~used_o) != '0 && used_o != '0;
  always_ff @(posedge clk_i) begin
    recent_q[0] <= wanted;
    recent_q[1] <= recent_q[0];
    recent_q[2] <= recent_q[1];
    used_before_q <= used_o;
    if (!rst_ni) begin
      recent_q[0] <= '0;
      recent_q[1] <= '0;
      recent_q[2] <= '0;
      used_before_q <= '0;
    end
  end

  assign moving_o = order_valid || stage_q != '0 || fault_o.valid || used_before_q != wanted;
  assign wait_o = !stop_i && (active_o & empty_i & ~buffered & ~staged) != '0;

  OrderNeverFull_A: assert property (@(posedge clk_i) !rst_ni || asked == '0 || order_ready);
  AnswerIsExpected_A: assert property (@(posedge clk_i) !rst_ni || !mrsp_valid_i || order_valid);
endmodule
`default_nettype wire
