`default_nettype none
// One channel: a command is checked, then walked twice over the same beats.
//
//   cmd ─► dma_check ─► front: the beats to ask for ──► port ──► memory or VMEM
//                  └─► jobs ─► back: the beats that come back ◄── port ◄── answers
//
// The trick: answers come in order, so the back walk knows where each belongs, and nothing but a
// count is kept for what is outstanding. The front goes on to the next command while the back waits
// for earlier ones; up to HeldCommands are held. Command taken in cycle 0: first beat of the front
// in cycle 5 (a FILL of VMEM has only a back: cycle 6). A fault of a check is reported when every
// earlier command of the channel has retired; after a fault the channel is dead until reset.
module dma_channel
  import weft_pkg::*, core_pkg::*;
#(
  parameter bit Out = 1'b0,           // serves dma_out
  parameter int unsigned BeatBytes = 64,
  parameter logic [63:0] VmemBytes = 64'd262144,
  parameter logic [39:0] WordBytes = 40'd16,
  parameter int unsigned Outstanding = 512,
  localparam int unsigned HeldBits = $clog2(dma_pkg::HeldCommands + 1),
  localparam int unsigned OutstandingBits = $clog2(Outstanding + 1)
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
  // back: the beat that the next answer belongs to
  output logic                back_valid_o,
  input  logic                back_take_i,     // its answer is taken
  input  logic                back_error_i,    // with back_take_i: the answer is an error
  output logic                back_fill_o,
  output logic [31:0]         back_pattern_o,
  output logic [63:0]         back_vmem_o,
  output logic [15:0]         back_bytes_o,
  output logic                back_last_o,     // of its command
  input  logic                retire_i,        // the last beat of the oldest command is visible
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
    .job_valid_o(job_valid), .job_ready_i(job_ready), .job_o(job), .fault_valid_o(refused),
    .fault_o(refusal)
  );

  // front
  logic front_valid, front_last;
  // verilator lint_off UNUSEDSIGNAL
  job_t front_job;                   // for what is the same in all beats
  // verilator lint_on UNUSEDSIGNAL
  logic [OutstandingBits-1:0] outstanding_q;
  wire front_advance = front_valid_o && front_ready_i;
  wire front_free = !front_valid || (front_advance && front_last);
  wire front_skip = !Out && job.fill;  // asks nobody
  assign job_ready = !dead_q && (front_free || front_skip);
  wire job_taken = job_valid && job_ready;

  dma_addrgen #(
    .BeatBytes(BeatBytes)
  ) u_front (
    .clk_i, .rst_ni, .load_i(job_taken && !front_skip), .job_i(job), .valid_o(front_valid),
    .advance_i(front_advance),
    .mem_o(front_mem_o), .vmem_o(front_vmem_o), .bytes_o(front_bytes_o), .last_o(front_last),
    .job_o(front_job)
  );
  assign front_valid_o   = front_valid && !dead_q && !poisoned_q
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
  logic back_valid, back_last;
  logic [63:0] back_mem;
  assign back_load = next_valid && (!back_valid || (back_take_i && back_last));
  dma_addrgen #(
    .BeatBytes(BeatBytes)
  ) u_back (
    .clk_i, .rst_ni, .load_i(back_load), .job_i(next_job), .valid_o(back_valid),
    .advance_i(back_take_i),
    .mem_o(back_mem), .vmem_o(back_vmem_o), .bytes_o(back_bytes_o), .last_o(back_last),
    .job_o(back_job)
  );
  assign back_valid_o   = back_valid && !dead_q;
  assign back_fill_o    = back_job.fill;
  assign back_pattern_o = back_job.pattern;
  assign back_last_o    = back_last;

  // fault: of a beat at once, of a check when it is the oldest command's
  wire bus_fault = back_take_i && back_error_i;
  wire check_fault = refused && held_q == HeldBits'(1) && !dead_q;

  // A poisoned beat faults as its command's, when all beats before it are acknowledged: then only
  // what was dropped is outstanding.
  logic [1:0] dropped_q;
  logic [9:0] granule_q;
  wire ecc_fault = Out && poisoned_q && back_valid && !dead_q
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
    else if (back_take_i) beat_q <= beat_q + 32'd1;
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
      else if (back_take_i && back_last && loaded_q == fail_command_q) fail_armed_q <= 1'b0;
    end
  end

  assign dead_o = dead_q;
  assign held_o = held_q;

  // outstanding: asked and not answered
  wire asked = front_advance;
  wire answered = back_take_i && (Out || !back_job.fill);

  always_ff @(posedge clk_i) begin
    if (bus_fault) fault_o <= '{code: FaultDmaBus, tag: back_job.tag, address: back_mem};
    else if (check_fault) fault_o <= refusal;
    else if (ecc_fault)
      fault_o <= '{code: FaultEccUncorrectable, tag: back_job.tag,
                   address: back_vmem_o + {51'd0, granule_q, 3'd0}};
    if (!rst_ni) begin
      held_q        <= '0;
      outstanding_q <= '0;
      dead_q        <= 1'b0;
      done_o        <= 1'b0;
      fault_valid_o <= 1'b0;
    end else begin
      if (take && !retire_i) held_q <= held_q + 1'b1;
      if (retire_i && !take) held_q <= held_q - 1'b1;
      if (asked && !answered) outstanding_q <= outstanding_q + 1'b1;
      if (answered && !asked) outstanding_q <= outstanding_q - 1'b1;
      done_o        <= retire_i;
      fault_valid_o <= bus_fault || check_fault || ecc_fault;
      if (bus_fault || check_fault || ecc_fault) dead_q <= 1'b1;
    end
  end

  JobsNeverFull_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                    job_taken |-> jobs_ready);
  RetireHeld_A: assert property (@(posedge clk_i) disable iff (!rst_ni) retire_i |-> held_q != '0);
  BackTake_A: assert property (@(posedge clk_i) disable iff (!rst_ni) back_take_i |-> back_valid);
endmodule
`default_nettype wire
