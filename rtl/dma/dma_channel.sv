`default_nettype none
// One channel: a command is checked, then walked twice over the same beats.
//
//   cmd ─► dma_check ─► front: the beats to ask for ──► port ──► memory or VMEM
//                  ├─► jobs ─► back: the beats that come back ◄── port ◄── answers
//                  └─► dma_rows: where the rows of an indexed command lie ─► front, back
//
// The trick: answers come in order, so the back walk knows where each belongs, and nothing but a
// count is kept for what is outstanding. The front goes on to the next command while the back waits
// for earlier ones; up to HeldCommands are held. Command taken in cycle 0: first beat of the front
// in cycle 5 (a FILL of VMEM has only a back: cycle 6; an indexed command: cycle 9). A fault of a
// check is reported when every earlier command of the channel has retired, one of an index when
// every earlier row is done; after a fault the channel is dead until reset.
module dma_channel
  import weft_pkg::*, core_pkg::*;
#(
  parameter bit Out = 1'b0,           // serves dma_out
  parameter int unsigned BeatBytes = 64,
  parameter logic [63:0] VmemBytes = 64'd262144,
  parameter logic [39:0] WordBytes = 40'd16,
  parameter int unsigned Outstanding = 512,   // a power of two
  localparam int unsigned HeldBits = $clog2(dma_pkg::HeldCommands + 1),
  localparam int unsigned OutstandingBits = $clog2(Outstanding + 1),
  localparam int unsigned WordBits = 8 * 32'(WordBytes)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // command
  input  logic                cmd_valid_i,
  output logic                cmd_ready_o,
  input  dma_cmd_t            cmd_i,
  input  place_t              place_i,
  output logic                open_valid_o,    // a remote COPY, taken four cycles ago, is legal
  output dma_cmd_t            open_cmd_o,
  output logic [HeldBits-1:0] held_o,          // commands taken and not retired
  output logic                done_o,
  output logic                fault_valid_o,   // one cycle
  output dma_pkg::fault_t     fault_o,
  output logic                dead_o,          // has faulted: answers are to be dropped
  // segment table
  output logic [SegmentBits-1:0] seg_index_o,
  input  segment_t            segment_i,
  // front: the beat to ask for
  output logic                front_valid_o,
  input  logic                front_ready_i,
  output logic                front_fill_o,
  output logic                front_remote_o,  // not to memory, but to another chip
  output logic                front_last_o,    // of its command
  output logic [31:0]         front_pattern_o,
  output logic [1:0]          front_space_o,
  output logic [63:0]         front_mem_o,
  output logic [63:0]         front_vmem_o,
  output logic [15:0]         front_bytes_o,
  // indices in VMEM
  output logic                index_valid_o,
  input  logic                index_ready_i,
  output logic [31:0]         index_word_o,
  input  logic                index_answer_i,
  input  logic [WordBits-1:0] index_data_i,
  input  logic [WordBits/64-1:0] index_poison_i,
  // back (not Out): the beat that the next answer belongs to
  output logic                back_valid_o,
  input  logic                back_take_i,     // its answer is taken
  input  logic                back_error_i,    // with back_take_i: the answer is an error
  output logic                back_fill_o,
  output logic [31:0]         back_pattern_o,
  output logic [63:0]         back_vmem_o,
  output logic [15:0]         back_bytes_o,
  output logic                back_last_o,     // of its command
  input  logic                retire_i,        // the last beat of the oldest command is visible
  input  logic                back_busy_i,     // a beat that was taken is not visible yet
  // back (Out): the next beat is acknowledged
  input  logic                ack_i,
  input  logic                ack_error_i,
  // ECC (Out): the beat that was read last is not sent; poison_granule_i: with the first such
  input  logic                drop_i,
  input  logic [9:0]          poison_granule_i,
  output logic                poisoned_o,      // drop what is still being read
  // fault injection, with cmd_valid_i: beat fail_beat_i of this command is answered with an error
  input  logic                fail_i,
  input  logic [31:0]         fail_beat_i,
  output logic                back_fail_o      // the beat of the back is that beat
);
  import dma_pkg::*;

  // check
  logic   job_valid, job_ready, refused, check_ready;
  job_t   job;
  table_t job_table;
  fault_t refusal;
  logic [HeldBits-1:0] held_q;
  logic dead_q;
  logic poisoned_q;

  assign cmd_ready_o = check_ready && !dead_q && !refused && held_q != HeldBits'(HeldCommands);
  wire take = cmd_valid_i && cmd_ready_o;
  dma_check #(
    .Out(Out), .VmemBytes(VmemBytes), .WordBytes(WordBytes)
  ) u_check (
    .clk_i, .rst_ni, .cmd_valid_i(take), .cmd_ready_o(check_ready), .cmd_i, .place_i, .seg_index_o,
    .segment_i, .open_valid_o, .open_cmd_o,
    .job_valid_o(job_valid), .job_ready_i(job_ready), .job_o(job), .table_o(job_table),
    .fault_valid_o(refused), .fault_o(refusal)
  );

  // rows of indexed commands
  logic rows_front_valid, rows_front_take, rows_back_valid, rows_back_take;
  row_t rows_front, rows_back;

  // front
  logic front_valid, front_run_last, front_last;
  logic [63:0] front_mem;
  // verilator lint_off UNUSEDSIGNAL
  job_t front_job;                   // for what is the same in all beats
  // verilator lint_on UNUSEDSIGNAL
  logic [OutstandingBits-1:0] outstanding_q;
  wire front_moved = !front_job.indexed || (rows_front_valid && rows_front.kind == RowMoved);
  wire front_pass = front_valid && front_job.indexed && rows_front_valid
                 && rows_front.kind == RowSkipped && !dead_q && !poisoned_q;  // asks nobody
  wire asked = front_valid_o && front_ready_i;
  wire front_advance = asked || front_pass;
  wire front_free = !front_valid || (front_advance && front_last);
  wire no_front = !Out && job.fill;  // asks nobody
  assign job_ready = !dead_q && (front_free || no_front);
  wire job_taken = job_valid && job_ready;

  dma_addrgen #(
    .BeatBytes(BeatBytes)
  ) u_front (
    .clk_i, .rst_ni, .load_i(job_taken && !no_front), .job_i(job), .valid_o(front_valid),
    .advance_i(front_advance), .pass_i(front_pass),
    .mem_o(front_mem), .vmem_o(front_vmem_o), .bytes_o(front_bytes_o), .run_last_o(front_run_last),
    .last_o(front_last), .job_o(front_job)
  );
  assign rows_front_take = front_advance && front_job.indexed && front_run_last;
  assign front_mem_o     = front_mem + (front_job.indexed ? rows_front.value : '0);
  assign front_valid_o   = front_valid && front_moved && !dead_q && !poisoned_q
                         && outstanding_q != OutstandingBits'(Outstanding);
  assign front_fill_o    = front_job.fill;
  assign front_remote_o  = front_job.remote;
  assign front_last_o    = front_last;
  assign front_pattern_o = front_job.pattern;
  assign front_space_o   = front_job.space;

  // jobs whose answers are not complete
  job_t next_job;
  // verilator lint_off UNUSEDSIGNAL
  job_t back_job;
  logic [HeldBits-1:0] jobs_level;   // held_q bounds it
  // verilator lint_on UNUSEDSIGNAL
  logic next_valid, back_load, jobs_ready;
  fifo #(
    .Width($bits(job_t)), .Depth(HeldCommands)
  ) u_jobs (
    .clk_i, .rst_ni, .push_valid_i(job_taken), .push_ready_o(jobs_ready), .push_i(job),
    .pop_valid_o(next_valid), .pop_ready_i(back_load), .pop_o(next_job), .level_o(jobs_level)
  );

  // back
  logic back_valid, back_run_last, back_last;
  logic [63:0] back_mem;
  wire back_skipped = back_job.indexed && rows_back_valid && rows_back.kind == RowSkipped;
  wire back_refused = back_job.indexed && rows_back_valid && rows_back.kind == RowRefused;
  wire back_spoiled = back_job.indexed && rows_back_valid && rows_back.kind == RowPoisoned;
  wire back_here = back_valid && !dead_q && !back_refused && !back_spoiled
                && (!back_job.indexed || rows_back_valid);
  wire back_pass = Out && back_here && back_skipped;  // was not asked for
  assign back_valid_o = back_here && !back_pass;

  // Acknowledgements do not wait while the back passes rows: they are counted, up to an error.
  logic [OutstandingBits-1:0] waiting_q;
  logic waiting_error_q;
  wire waits = waiting_q != '0 || waiting_error_q;
  wire taken = Out ? back_valid_o && (ack_i || waits) : back_take_i;
  wire taken_error = !Out ? back_error_i
                   : back_fail_o || (waits ? waiting_q == '0 : ack_error_i);
  wire back_advance = taken || back_pass;
  wire retire = Out ? back_advance && back_last && !(taken && taken_error) : retire_i;
  wire ack_waits = Out && ack_i && !(taken && !waits) && !waiting_error_q;
  wire ack_leaves = taken && waiting_q != '0;
  always_ff @(posedge clk_i)
    if (!rst_ni) begin
      waiting_q       <= '0;
      waiting_error_q <= 1'b0;
    end else begin
      if (ack_waits && !ack_error_i && !ack_leaves) waiting_q <= waiting_q + 1'b1;
      if (ack_leaves && !(ack_waits && !ack_error_i)) waiting_q <= waiting_q - 1'b1;
      if (ack_waits && ack_error_i) waiting_error_q <= 1'b1;
    end

  assign back_load = next_valid && (!back_valid || (back_advance && back_last));
  dma_addrgen #(
    .BeatBytes(BeatBytes)
  ) u_back (
    .clk_i, .rst_ni, .load_i(back_load), .job_i(next_job), .valid_o(back_valid),
    .advance_i(back_advance), .pass_i(back_pass),
    .mem_o(back_mem), .vmem_o(back_vmem_o), .bytes_o(back_bytes_o), .run_last_o(back_run_last),
    .last_o(back_last), .job_o(back_job)
  );
  wire back_fills = back_job.fill || back_skipped;
  assign rows_back_take = back_advance && back_job.indexed && back_run_last;
  assign back_fill_o    = back_fills;
  assign back_pattern_o = back_job.pattern;   // indexed: 0
  assign back_last_o    = back_last;

  dma_rows #(
    .WordBytes(32'(WordBytes)), .Depth(Outstanding)
  ) u_rows (
    .clk_i, .rst_ni, .load_i(job_taken && job.indexed), .table_i(job_table), .dead_i(dead_q),
    .read_valid_o(index_valid_o), .read_ready_i(index_ready_i), .read_word_o(index_word_o),
    .answer_i(index_answer_i), .data_i(index_data_i), .poison_i(index_poison_i),
    .front_valid_o(rows_front_valid), .front_o(rows_front), .front_take_i(rows_front_take),
    .back_valid_o(rows_back_valid), .back_o(rows_back), .back_take_i(rows_back_take)
  );

  // fault: of a beat at once, of a check when it is the oldest command's, of an index when all
  // beats before it are done
  wire bus_fault = taken && taken_error;
  wire check_fault = refused && held_q == HeldBits'(1) && !dead_q;
  wire index_fault = back_valid && (back_refused || back_spoiled) && !dead_q && !back_busy_i;

  // A poisoned beat faults as its command's, when all beats before it are acknowledged: then only
  // what was dropped is outstanding.
  logic [1:0] dropped_q;
  logic [9:0] granule_q;
  wire ecc_fault = Out && poisoned_q && back_valid_o
                && outstanding_q == OutstandingBits'(dropped_q);
  assign poisoned_o = poisoned_q;
  always_ff @(posedge clk_i) begin
    if (drop_i && !poisoned_q) granule_q <= poison_granule_i;
    if (!rst_ni) begin
      poisoned_q <= 1'b0;
      dropped_q  <= '0;
    end else if (drop_i) begin
      poisoned_q <= 1'b1;
      dropped_q  <= dropped_q + 2'd1;
    end
  end

  // Fault injection: the command is known by its place among those taken, the beat by a count.
  logic [3:0] taken_q, loaded_q, fail_command_q;
  logic fail_armed_q;
  logic [31:0] fail_beat_q, beat_q;
  assign back_fail_o = fail_armed_q && loaded_q == fail_command_q && beat_q == fail_beat_q;
  always_ff @(posedge clk_i) begin
    if (back_load) beat_q <= 32'd1;
    else if (taken) beat_q <= beat_q + 32'd1;
    if (take && fail_i) begin
      fail_command_q <= taken_q + 4'd1;
      fail_beat_q    <= fail_beat_i;
    end
    if (!rst_ni) begin
      taken_q      <= '0;
      loaded_q     <= '0;
      fail_armed_q <= 1'b0;
    end else begin
      if (take) taken_q <= taken_q + 4'd1;
      if (back_load) loaded_q <= loaded_q + 4'd1;
      if (take && fail_i) fail_armed_q <= 1'b1;
      else if (back_advance && back_last && loaded_q == fail_command_q) fail_armed_q <= 1'b0;
    end
  end

  assign dead_o = dead_q;
  assign held_o = held_q;

  // outstanding: asked and not answered
  wire answered = taken && (Out || !back_fills);

  always_ff @(posedge clk_i) begin
    if (bus_fault)
      fault_o <= '{code: FaultDmaBus, tag: back_job.tag,
                   address: back_mem + (back_job.indexed ? rows_back.value : '0)};
    else if (check_fault) fault_o <= refusal;
    else if (ecc_fault)
      fault_o <= '{code: FaultEccUncorrectable, tag: back_job.tag,
                   address: back_vmem_o + {51'd0, granule_q, 3'd0}};
    else if (index_fault)
      fault_o <= '{code: back_refused ? FaultIndex : FaultEccUncorrectable, tag: back_job.tag,
                   address: rows_back.value};
    if (!rst_ni) begin
      held_q        <= '0;
      outstanding_q <= '0;
      dead_q        <= 1'b0;
      done_o        <= 1'b0;
      fault_valid_o <= 1'b0;
    end else begin
      if (take && !retire) held_q <= held_q + 1'b1;
      if (retire && !take) held_q <= held_q - 1'b1;
      if (asked && !answered) outstanding_q <= outstanding_q + 1'b1;
      if (answered && !asked) outstanding_q <= outstanding_q - 1'b1;
      done_o        <= retire;
      fault_valid_o <= bus_fault || check_fault || ecc_fault || index_fault;
      if (bus_fault || check_fault || ecc_fault || index_fault) dead_q <= 1'b1;
    end
  end

  JobsNeverFull_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                    job_taken |-> jobs_ready);
  RetireHeld_A: assert property (@(posedge clk_i) disable iff (!rst_ni) retire |-> held_q != '0);
  BackTake_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
                               back_take_i |-> back_valid_o);
  AckExpected_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                  ack_i && !dead_q |-> OutstandingBits'(waiting_q) < outstanding_q);
endmodule
`default_nettype wire
