`default_nettype none
// weft_core: a tensor core without its memory. Queues, issue, units, retirement, registers.
//
//   push, prefetch ─► 5 queues ─► check, wait, issue ─► dma x 4 · mxu · vpu · sync ─► retire
//                                                 └─ vmem ─┘                  semaphores ◄┘
// In a slice, remote COPYs and BARRIERs leave by the ici ports, beside the memory's.
//
// This file only connects; the latencies stand in core/README.md. busy_o is 0 when a clock edge
// would change nothing but counts of cycles: then the edges may be left out and credited later by
// idle_credit_i.
module weft_core #(
  parameter bit Structural = 1'b0       // MXUs: 0 vector loops, 1 instances of PEs and RAMs
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  core_pkg::place_t place_i,   // straps: in which slice the core stands
  // registers (spec/core_csr.toml)
  input  logic         csr_valid_i,
  input  logic         csr_write_i,
  input  logic [15:0]  csr_addr_i,
  input  logic [63:0]  csr_wdata_i,
  output logic [63:0]  csr_rdata_o,
  // commands
  input  logic         cmd_valid_i,
  input  logic [2:0]   cmd_queue_i,
  input  logic [weft_pkg::CmdBits-1:0] cmd_i,
  output logic [weft_pkg::NumQueues-1:0] queue_full_o,
  // memory; mem_reset_o: the core is in reset, answers to what it asked before are dropped
  output logic         mem_reset_o,
  output logic         mrd_valid_o,
  input  logic         mrd_ready_i,
  output logic [1:0]   mrd_space_o,
  output logic [63:0]  mrd_addr_o,
  output logic [15:0]  mrd_bytes_o,
  output logic [1:0]   mrd_channel_o,
  input  logic         mrsp_valid_i,
  output logic         mrsp_ready_o,
  input  logic [1:0]   mrsp_channel_i,
  input  logic         mrsp_error_i,
  input  logic [8*chip_pkg::DmaWords*chip_pkg::WordBytes-1:0] mrsp_data_i,
  output logic         mwr_valid_o,
  input  logic         mwr_ready_i,
  output logic [1:0]   mwr_space_o,
  output logic [63:0]  mwr_addr_o,
  output logic [15:0]  mwr_bytes_o,
  output logic [1:0]   mwr_channel_o,
  output logic [8*chip_pkg::DmaWords*chip_pkg::WordBytes-1:0] mwr_data_o,
  // interconnect, out: a remote COPY begins; beats, with the offset at the receiver in mwr_addr_o,
  // and mwr_bytes_o, mwr_channel_o, mwr_data_o; a BARRIER begins
  output logic         ici_open_valid_o,
  output logic [1:0]   ici_open_channel_o,
  output logic [weft_pkg::CmdBits-1:0] ici_open_cmd_o,
  output logic         ici_valid_o,
  input  logic         ici_ready_i,
  output logic         ici_last_o,
  output logic         ici_barrier_valid_o,
  output logic [weft_pkg::CmdBits-1:0] ici_barrier_cmd_o,
  // interconnect, in: a remote COPY is done or refused, other chips' posts, the BARRIER's end
  input  logic         ici_ack_valid_i,
  input  logic         ici_ack_fault_i,
  input  logic         ici_ack_channel_i,   // of dma_out
  input  logic [15:0]  ici_ack_tag_i,
  input  logic [63:0]  ici_ack_address_i,
  input  logic         ici_post_valid_i,
  output logic         ici_post_ready_o,
  input  logic [7:0]   ici_post_sem_i,
  input  logic [15:0]  ici_post_count_i,
  input  logic         ici_end_valid_i,
  input  logic         ici_end_fault_i,
  input  logic [63:0]  ici_end_address_i,
  // beats written to memory, or taken by the interconnect
  input  logic         mack_valid_i,
  input  logic [1:0]   mack_channel_i,
  input  logic         mack_error_i,
  // status
  output logic         irq_o,
  output logic         busy_o,
  output logic [control_pkg::Units-1:0] start_o,    // the unit takes a command in this cycle
  output logic [control_pkg::Units-1:0] retire_o,   // a command of the unit retires in this cycle
  output logic [weft_pkg::NumQueues-1:0] fetching_o,      // the queue takes no push
  output logic [weft_pkg::NumQueues-1:0] fetch_push_o,    // the queue gets a fetched command
  output logic [weft_pkg::CmdBits-1:0]   fetch_cmd_o,
  // cycles that were not clocked since the last edge; counted at this one
  input  logic [63:0]  idle_credit_i
);
  import weft_pkg::*;
  import control_pkg::AtDma0, control_pkg::AtDma1, control_pkg::AtDma2, control_pkg::AtDma3,
      control_pkg::AtMxu, control_pkg::AtVpu, control_pkg::AtSync;
  localparam int unsigned Units = control_pkg::Units;
  localparam int unsigned NumMxu = control_pkg::NumMxu;
  localparam logic [Units-1:0] SyncUnit = Units'(1) << AtSync;   // the others are in units.sv

  // ---------------------------------------------------------------- reset
  logic core_rst_n, core_reset, in_reset;
  logic [4:0] reset_q;
  assign in_reset = reset_q != 0;
  assign core_rst_n = rst_ni && !in_reset;
  assign mem_reset_o = !core_rst_n;

  always_ff @(posedge clk_i) begin
    if (core_reset) reset_q <= 5'(CoreResetCycles);
    else if (in_reset) reset_q <= reset_q - 5'd1;
    if (!rst_ni) reset_q <= '0;
  end

  // ---------------------------------------------------------------- queues and issue
  logic stop, watchdog_expired, fetch_version;
  logic [NumQueues-1:0] push, manager_push, full, head_valid, pop, wait_valid, wait_grant;
  logic [NumQueues-1:0] lane_valid, lane_taken, queue_active;
  logic [CmdBits-1:0] head [NumQueues];
  logic [CmdBits-1:0] lane_cmd [NumQueues];
  logic [15:0] head_tag [NumQueues];
  logic [1:0] mark, head_mark [NumQueues];   // the fetch that brought it, a bit each, or none
  logic [NumQueues-1:0][1:0] fetched_taken;
  logic [4:0] level [NumQueues];
  control_pkg::queue_state_e queue_state [NumQueues];
  control_pkg::fault_t queue_fault [NumQueues];
  none_cmd_t lane_header [NumQueues];
  logic [CmdBits-1:0] queue_cmd;
  assign queue_cmd = cmd_valid_i ? cmd_i : fetch_cmd_o;
  assign mark = cmd_valid_i ? 2'b00 : fetch_version ? 2'b10 : 2'b01;
  logic in_slice;
  assign in_slice = place_i.chips > 16'd1;
  // fault injection (csr/inject.sv)
  logic [NumQueues-1:0] checked, raise, hold;
  logic [7:0] raise_code;
  logic [63:0] raise_address;
  control_pkg::marks_t marks [NumQueues];

  for (genvar i = 0; i < NumQueues; i++) begin : gen_queue
    assign manager_push[i] = cmd_valid_i && cmd_queue_i == 3'(i) && !queue_full_o[i];
    assign push[i] = manager_push[i] || fetch_push_o[i];
    assign queue_full_o[i] = full[i] || fetching_o[i] || in_reset;

    command_queue u_queue (
      .clk_i, .rst_ni(core_rst_n), .push_i(push[i]), .cmd_i(queue_cmd), .mark_i(mark),
      .full_o(full[i]), .head_valid_o(head_valid[i]), .head_o(head[i]), .head_tag_o(head_tag[i]),
      .head_mark_o(head_mark[i]), .pop_i(pop[i]), .level_o(level[i]));
    assign fetched_taken[i] = pop[i] ? head_mark[i] : 2'b00;

    issue #(.Queue(3'(i))) u_issue (
      .clk_i, .rst_ni(core_rst_n), .stop_i(stop || in_reset), .in_slice_i(in_slice),
      .head_valid_i(head_valid[i]), .head_i(head[i]), .pop_o(pop[i]), .checked_o(checked[i]),
      .raise_i(raise[i]), .raise_code_i(raise_code), .raise_address_i(raise_address),
      .wait_valid_o(wait_valid[i]), .wait_grant_i(wait_grant[i]), .cmd_valid_o(lane_valid[i]),
      .cmd_o(lane_cmd[i]), .cmd_taken_i(lane_taken[i]), .unit_active_i(queue_active[i]),
      .state_o(queue_state[i]), .fault_o(queue_fault[i]));

    assign lane_header[i] = lane_cmd[i];
  end

  // ---------------------------------------------------------------- units: valid, taken, retired
  logic [Units-1:0] unit_valid, unit_ready, unit_done, unit_active, unit_fault, unit_faulted_q,
      unit_working, not_done, lost_done;
  logic [Units-1:0] retire_full, held, finished, behind, retired, given_up, mxu_units;
  logic [15:0] oldest_tag [Units];
  control_pkg::post_t lane_post [Units];
  control_pkg::post_t post;
  logic post_valid, post_overflow;
  logic [7:0] post_overflow_sem;
  control_pkg::fault_t retire_fault;

  // The MXU that the command names; the first one refuses a name that does not exist.
  // Waived: all else in the command is the unit's to read.
  // verilator lint_off UNUSEDSIGNAL
  mxu_cmd_t mxu_cmd;
  // verilator lint_on UNUSEDSIGNAL
  logic [Units-1:0] named;
  assign mxu_cmd = lane_cmd[QueueMxu];
  always_comb begin
    named = '1;
    for (int unsigned u = 0; u < NumMxu; u++)
      named[control_pkg::place_of_mxu(u)] = mxu_cmd.mxu == 8'(u);
    if (mxu_cmd.mxu >= 8'(NumMxu)) named[AtMxu] = 1'b1;
  end

  for (genvar i = 0; i < Units; i++) begin : gen_unit
    localparam logic [2:0] Lane = control_pkg::queue_of_unit(4'(i));
    assign unit_valid[i] = lane_valid[Lane] && named[i] && !retire_full[i] && !hold[Lane];
    // Semaphore 1 of a remote command is the receiver's.
    assign lane_post[i] = '{tag: lane_header[Lane].tag,
      sem0: marks[Lane].lost_post ? NoSemaphore : lane_header[Lane].post_sem0,
      sem1: marks[Lane].lost_post || (lane_header[Lane].flags & FlagRemote) != 0 ?
            NoSemaphore : lane_header[Lane].post_sem1,
      count0: lane_header[Lane].post_count0, count1: lane_header[Lane].post_count1};
    assign not_done[i] = marks[Lane].not_done;
    assign lost_done[i] = marks[Lane].lost_done;
  end

  assign start_o = unit_valid & unit_ready;
  assign retire_o = in_reset ? '0 : retired;
  // A unit that has faulted is dead, but what it had finished before still retires.
  // So is what stands behind its commands, once it computes no more.
  assign unit_working = ((unit_active | (held & ~given_up)) & ~unit_faulted_q) | finished;

  // The MXU whose command would be the next to retire has faulted: those behind it never retire.
  always_comb begin
    mxu_units = '0;
    for (int unsigned u = 0; u < NumMxu; u++) mxu_units[control_pkg::place_of_mxu(u)] = 1'b1;
    given_up = (mxu_units & ~behind & unit_faulted_q & ~finished) != '0 ? behind : '0;
  end

  always_comb begin
    lane_taken = '0;
    queue_active = '0;
    lane_taken[QueueDmaIn] = start_o[AtDma0] || start_o[AtDma1];
    lane_taken[QueueMxu] = (start_o & mxu_units) != '0;
    lane_taken[QueueVpu] = start_o[AtVpu];
    lane_taken[QueueDmaOut] = start_o[AtDma2] || start_o[AtDma3];
    lane_taken[QueueSync] = start_o[AtSync];
    queue_active[QueueDmaIn] = unit_working[AtDma0] || unit_working[AtDma1];
    queue_active[QueueMxu] = (unit_working & mxu_units) != '0;
    queue_active[QueueVpu] = unit_working[AtVpu];
    queue_active[QueueDmaOut] = unit_working[AtDma2] || unit_working[AtDma3];
    queue_active[QueueSync] = unit_working[AtSync];
  end

  always_ff @(posedge clk_i) begin
    // what hangs is given up: its unit counts as idle from then on
    unit_faulted_q <= unit_faulted_q | unit_fault | (watchdog_expired ? held : '0);
    if (!core_rst_n) unit_faulted_q <= '0;
  end

  retire u_retire (
    .clk_i, .rst_ni(core_rst_n), .start_i(start_o), .post_i(lane_post),
    .not_done_i(not_done), .lost_done_i(lost_done), .done_i(unit_done),
    .full_o(retire_full), .held_o(held), .finished_o(finished), .behind_o(behind),
    .oldest_tag_o(oldest_tag),
    .post_valid_o(post_valid), .post_o(post),
    .post_overflow_i(post_overflow), .post_overflow_sem_i(post_overflow_sem), .retire_o(retired),
    .fault_o(retire_fault));

  // ---------------------------------------------------------------- semaphores and the sync engine
  logic sem_write;
  logic [15:0] sem_rdata;
  logic [weft_pkg::NumSemaphores-1:0] sem_nonzero;
  logic [8*NumQueues-1:0] wait_sem0, wait_sem1;
  logic [16*NumQueues-1:0] wait_count0, wait_count1;

  for (genvar i = 0; i < NumQueues; i++) begin : gen_wait
    assign wait_sem0[8*i+:8] = lane_header[i].wait_sem0;
    assign wait_sem1[8*i+:8] = lane_header[i].wait_sem1;
    assign wait_count0[16*i+:16] = lane_header[i].wait_count0;
    assign wait_count1[16*i+:16] = lane_header[i].wait_count1;
  end

  logic sem_post, sem_overflow, ici_waiting;
  logic [7:0] sem_post0, sem_post1;
  logic [15:0] sem_count0, sem_count1;
  control_pkg::fault_t ack_fault, ici_post_fault;

  slice_port u_slice_port (
    .clk_i, .rst_ni(core_rst_n), .open_i(ici_open_valid_o), .ack_valid_i(ici_ack_valid_i),
    .ack_fault_i(ici_ack_fault_i), .ack_channel_i(ici_ack_channel_i), .ack_tag_i(ici_ack_tag_i),
    .ack_address_i(ici_ack_address_i), .waiting_o(ici_waiting), .ack_fault_o(ack_fault),
    .post_valid_i(ici_post_valid_i), .post_ready_o(ici_post_ready_o),
    .post_sem_i(ici_post_sem_i), .post_count_i(ici_post_count_i), .post_fault_o(ici_post_fault),
    .retire_valid_i(post_valid), .retire_i(post), .retire_overflow_o(post_overflow),
    .sem_valid_o(sem_post), .sem0_o(sem_post0), .sem1_o(sem_post1), .count0_o(sem_count0),
    .count1_o(sem_count1), .overflow_i(sem_overflow));

  semaphores u_semaphores (
    .clk_i, .rst_ni(core_rst_n), .wait_valid_i(wait_valid), .wait_sem0_i(wait_sem0),
    .wait_sem1_i(wait_sem1), .wait_count0_i(wait_count0), .wait_count1_i(wait_count1),
    .wait_grant_o(wait_grant), .post_valid_i(sem_post), .post_sem0_i(sem_post0),
    .post_sem1_i(sem_post1), .post_count0_i(sem_count0), .post_count1_i(sem_count1),
    .overflow_o(sem_overflow), .overflow_sem_o(post_overflow_sem),
    .csr_write_i(sem_write), .csr_index_i(csr_addr_i[8:3]), .csr_wdata_i(csr_wdata_i[15:0]),
    .csr_rdata_o(sem_rdata), .nonzero_o(sem_nonzero));

  logic sync_ready, sync_done, sync_active, sync_fault;
  logic [7:0] sync_fault_code;
  logic [15:0] sync_fault_tag;
  logic [63:0] sync_fault_address;

  sync_engine u_sync_engine (
    .clk_i, .rst_ni(core_rst_n), .cmd_valid_i(unit_valid[AtSync]), .cmd_ready_o(sync_ready),
    .cmd_i(lane_cmd[QueueSync]),
    .others_active_i((unit_working & ~SyncUnit) != '0),
    .done_o(sync_done), .active_o(sync_active), .fault_valid_o(sync_fault),
    .fault_code_o(sync_fault_code), .fault_tag_o(sync_fault_tag),
    .fault_address_o(sync_fault_address), .barrier_begin_o(ici_barrier_valid_o),
    .barrier_end_i(ici_end_valid_i), .barrier_fault_i(ici_end_fault_i),
    .barrier_address_i(ici_end_address_i));
  assign ici_barrier_cmd_o = lane_cmd[QueueSync];

  // ---------------------------------------------------------------- units.sv
  logic [DmaChannels-1:0][core_pkg::SegmentBits-1:0] seg_index;
  core_pkg::segment_t [DmaChannels-1:0] segment;
  control_pkg::unit_events_t events;
  control_pkg::fault_t unit_faults [Units];
  logic [Units-1:0] engine_ready, engine_done, engine_active;   // all but the sync engine
  logic mrd_valid, mwr_valid, ici_valid, ici_open_valid;
  logic dma_read_valid, dma_read_ready, dma_mrsp_ready, fetch_read_valid, fetch_read_ready;
  logic mrd_fetch, mrsp_fetch, read_conflict, fetch_moving, fetch_waits, version_freed;
  logic [1:0] version_used;
  logic prefetch_base_write, prefetch_count_write;
  logic [NumQueues-1:0] fetch_dead, fetch_refused, fed;
  port_pkg::memory_read_t dma_read, fetch_read, read;
  port_pkg::memory_write_t write;
  logic [63:0] fetch_read_addr, prefetch_base;
  logic [31:0] prefetch_left;
  control_pkg::fault_t fetch_fault;
  core_pkg::flip_t vmem_flip, acc_flip;
  logic vmem_flip_write, acc_flip_write;
  logic [1:0] fail;
  logic [31:0] fail_beat;

  // In the first cycle of a reset the units still show what they had.
  assign mrd_valid_o = mrd_valid && core_rst_n;
  assign mwr_valid_o = mwr_valid && core_rst_n;
  assign ici_valid_o = ici_valid && core_rst_n;
  assign ici_open_valid_o = ici_open_valid && core_rst_n;

  // ---------------------------------------------------------------- commands from HBM
  command_prefetch u_command_prefetch (
    .clk_i, .rst_ni(core_rst_n), .stop_i(stop), .base_write_i(prefetch_base_write),
    .count_write_i(prefetch_count_write), .index_i(csr_addr_i[5:3]), .wdata_i(csr_wdata_i),
    .base_o(prefetch_base), .left_o(prefetch_left), .active_o(fetching_o), .dead_o(fetch_dead),
    .refused_o(fetch_refused), .manager_push_i(manager_push), .fed_o(fed),
    .mrd_valid_o(fetch_read_valid), .mrd_ready_i(fetch_read_ready), .mrd_addr_o(fetch_read_addr),
    .mrsp_valid_i(mrsp_valid_i && mrsp_fetch),
    .mrsp_i('{error: mrsp_error_i, data: mrsp_data_i[CmdBits-1:0]}), .full_i(full),
    .empty_i(~head_valid), .push_o(fetch_push_o), .cmd_o(fetch_cmd_o), .version_o(fetch_version),
    .push_ready_i(!cmd_valid_i), .taken_i(fetched_taken), .used_o(version_used),
    .freed_o(version_freed), .moving_o(fetch_moving), .wait_o(fetch_waits), .fault_o(fetch_fault));

  read_arbiter u_read_arbiter (
    .clk_i, .rst_ni(core_rst_n), .dma_valid_i(dma_read_valid), .dma_ready_o(dma_read_ready),
    .fetch_valid_i(fetch_read_valid), .fetch_ready_o(fetch_read_ready), .mrd_valid_o(mrd_valid),
    .mrd_fetch_o(mrd_fetch), .mrd_ready_i, .conflict_o(read_conflict));

  assign fetch_read = '{space: core_pkg::SpaceHbm, addr: fetch_read_addr, bytes: 16'(CmdBits / 8),
                       channel: 2'(PrefetchChannel)};
  assign read = mrd_fetch ? fetch_read : dma_read;
  // the pins are plain
  assign {mrd_space_o, mrd_addr_o, mrd_bytes_o, mrd_channel_o} = read;
  assign {mwr_space_o, mwr_addr_o, mwr_bytes_o, mwr_channel_o, mwr_data_o} = write;
  assign mrsp_fetch = mrsp_channel_i == 2'(PrefetchChannel);
  assign mrsp_ready_o = mrsp_fetch || dma_mrsp_ready;

  units #(.Structural(Structural)) u_units (
    .clk_i, .rst_ni(core_rst_n),
    .dma_in_cmd_i(lane_cmd[QueueDmaIn]), .dma_out_cmd_i(lane_cmd[QueueDmaOut]),
    .mxu_cmd_i(lane_cmd[QueueMxu]), .vpu_cmd_i(lane_cmd[QueueVpu]), .place_i,
    .cmd_valid_i(unit_valid), .cmd_ready_o(engine_ready),
    .done_o(engine_done), .active_o(engine_active), .fault_o(unit_faults),
    .seg_index_o(seg_index), .segment_i(segment),
    .mrd_valid_o(dma_read_valid), .mrd_ready_i(dma_read_ready), .mrd_o(dma_read),
    .mrsp_valid_i(mrsp_valid_i && !mrsp_fetch), .mrsp_ready_o(dma_mrsp_ready),
    .mrsp_i('{channel: mrsp_channel_i, error: mrsp_error_i, data: mrsp_data_i}),
    .mwr_valid_o(mwr_valid), .mwr_ready_i, .mwr_o(write),
    .ici_open_valid_o(ici_open_valid), .ici_open_channel_o, .ici_open_cmd_o,
    .ici_valid_o(ici_valid), .ici_ready_i, .ici_last_o,
    .mack_valid_i, .mack_i('{channel: mack_channel_i, error: mack_error_i}), .events_o(events),
    .vmem_flip_i(vmem_flip), .vmem_flip_write_o(vmem_flip_write), .acc_flip_i(acc_flip),
    .acc_flip_write_o(acc_flip_write), .fail_i(fail), .fail_beat_i(fail_beat));

  assign unit_ready = engine_ready | (sync_ready ? SyncUnit : '0);
  assign unit_done = engine_done | (sync_done ? SyncUnit : '0);
  assign unit_active = engine_active | (sync_active ? SyncUnit : '0);

  // ---------------------------------------------------------------- faults and the watchdog
  // units in the order of their numbers, acknowledgements, retirement, other chips' posts, queues,
  // fetches, watchdog
  localparam int unsigned AtAck = Units, AtRetire = Units + 1, AtPost = Units + 2;
  localparam int unsigned AtQueues = Units + 3;
  localparam int unsigned AtFetch = AtQueues + NumQueues;
  localparam int unsigned FaultSources = AtFetch + 2;
  control_pkg::fault_t faults [FaultSources];
  control_pkg::fault_t first_fault, hang;
  logic [63:0] cycle, first_fault_cycle, fault_count, watchdog_limit;
  logic fault_raised, clear_fault_count, working, progress;
  logic [NumMxu-1:0] mxu_busy;

  for (genvar i = 0; i < Units; i++) begin : gen_unit_fault
    if (i == AtSync) begin : gen_sync
      assign faults[i] = '{valid: sync_fault, code: sync_fault_code, unit_id: UnitSync,
                           queue_id: QueueSync, tag: sync_fault_tag,
                           address: sync_fault_address};
    end else begin : gen_engine
      assign faults[i] = unit_faults[i];
    end
    assign unit_fault[i] = faults[i].valid;
  end
  assign faults[AtAck] = ack_fault;
  assign faults[AtRetire] = retire_fault;
  assign faults[AtPost] = ici_post_fault;
  for (genvar i = 0; i < NumQueues; i++) begin : gen_queue_fault
    assign faults[AtQueues+i] = queue_fault[i];
  end
  for (genvar u = 0; u < NumMxu; u++) begin : gen_mxu_busy
    assign mxu_busy[u] = events.mxu_state[u*control_pkg::MxuStates+control_pkg::MxuBusy];
  end
  assign faults[AtFetch] = fetch_fault;
  assign faults[FaultSources-1] = hang;

  fault_capture #(.Sources(FaultSources)) u_fault_capture (
    .clk_i, .rst_ni(core_rst_n), .cycle_i(cycle), .fault_i(faults),
    .clear_count_i(clear_fault_count), .first_o(first_fault), .first_cycle_o(first_fault_cycle),
    .count_o(fault_count), .raised_o(fault_raised), .stop_o(stop));

  assign progress = push != 0 || start_o != 0 || retired != 0 || events.vmem_grant != 0 ||
                    mxu_busy != 0 || (mrd_valid_o && mrd_ready_i) ||
                    (mrsp_valid_i && mrsp_ready_o) || (mwr_valid_o && mwr_ready_i) ||
                    mack_valid_i || (ici_valid_o && ici_ready_i) || ici_ack_valid_i ||
                    (ici_post_valid_i && ici_post_ready_o) || ici_end_valid_i;

  watchdog u_watchdog (
    .clk_i, .rst_ni(core_rst_n), .busy_i(working), .progress_i(progress), .stopped_i(stop),
    .limit_i(watchdog_limit), .expired_o(watchdog_expired));

  // Who hangs: the first unit at work with its oldest command, else the first queue that is not
  // empty with its head, else the first queue that fetches.
  always_comb begin
    hang = '0;
    if (watchdog_expired) begin
      hang.valid = 1'b1;
      hang.code = FaultWatchdog;
      for (int unsigned i = NumQueues; i > 0; i--) begin
        if (fetching_o[i-1]) begin
          hang.queue_id = 3'(i) - 3'd1;
          hang.unit_id = control_pkg::unit_of_queue(hang.queue_id);
        end
      end
      for (int unsigned i = NumQueues; i > 0; i--) begin
        if (head_valid[i-1]) begin
          hang.queue_id = 3'(i) - 3'd1;
          hang.unit_id = control_pkg::unit_of_queue(hang.queue_id);
          hang.tag = head_tag[i-1];
        end
      end
      for (int unsigned i = Units; i > 0; i--) begin
        if (held[i-1]) begin
          hang.unit_id = 4'(i) - 4'd1;
          hang.queue_id = control_pkg::queue_of_unit(hang.unit_id);
          hang.tag = oldest_tag[i-1];
        end
      end
    end
  end

  // ---------------------------------------------------------------- registers and counters
  logic [63:0] counter_rdata, inject_rdata;
  logic [NumQueues-1:0] queue_retired;
  logic segment_write, inject_write, snapshot, clear_counters, idle_event;
  core_pkg::segment_t csr_segment;

  // Work: a command in a queue or on its way to it, in a unit, or on its way to another chip.
  // Stopped queues keep theirs, but no edge moves them.
  assign working = head_valid != 0 || fetching_o != 0 || unit_working != 0 || ici_waiting;
  assign busy_o = ((head_valid | fetching_o) != 0 && !stop) || fetch_moving || unit_working != 0 ||
                  ici_waiting || in_reset || idle_event;

  always_comb begin
    queue_retired = '0;
    queue_retired[QueueDmaIn] = retired[AtDma0] || retired[AtDma1];
    queue_retired[QueueMxu] = (retired & mxu_units) != '0;
    queue_retired[QueueVpu] = retired[AtVpu];
    queue_retired[QueueDmaOut] = retired[AtDma2] || retired[AtDma3];
    queue_retired[QueueSync] = retired[AtSync];
  end

  csr u_csr (
    .clk_i, .rst_ni, .core_rst_ni(core_rst_n), .csr_valid_i, .csr_write_i, .csr_addr_i,
    .csr_wdata_i, .csr_rdata_o, .busy_i(working), .stopped_i(stop), .idle_credit_i,
    .accept_i(push != 0), .fell_i(pop & ~push & ~fed), .retire_i(queue_retired), .level_i(level),
    .head_tag_i(head_tag), .fault_raised_i(fault_raised), .fault_i(first_fault),
    .fault_cycle_i(first_fault_cycle), .fault_count_i(fault_count),
    .clear_fault_count_o(clear_fault_count), .sem_write_o(sem_write), .sem_rdata_i(sem_rdata),
    .sem_nonzero_i(sem_nonzero),
    .prefetch_base_write_o(prefetch_base_write), .prefetch_count_write_o(prefetch_count_write),
    .prefetch_base_i(prefetch_base), .prefetch_left_i(prefetch_left),
    .prefetch_status_i({fetch_refused, fetch_dead, fetching_o}), .version_used_i(version_used),
    .version_freed_i(version_freed),
    .segment_write_o(segment_write), .segment_i(csr_segment), .snapshot_o(snapshot),
    .clear_counters_o(clear_counters), .counter_rdata_i(counter_rdata), .cycle_o(cycle),
    .watchdog_limit_o(watchdog_limit), .core_reset_o(core_reset), .idle_event_o(idle_event),
    .irq_o, .inject_write_o(inject_write), .inject_rdata_i(inject_rdata));

  inject u_inject (
    .clk_i, .rst_ni, .core_rst_ni(core_rst_n), .write_i(inject_write),
    .index_i(csr_addr_i[5:3]), .wdata_i(csr_wdata_i), .rdata_o(inject_rdata),
    .checked_i(checked), .started_i(lane_taken), .raise_o(raise), .raise_code_o(raise_code),
    .raise_address_o(raise_address), .hold_o(hold), .marks_o(marks), .fail_o(fail),
    .fail_beat_o(fail_beat), .vmem_flip_o(vmem_flip), .vmem_write_i(vmem_flip_write),
    .acc_flip_o(acc_flip), .acc_write_i(acc_flip_write));

  segment_table u_segment_table (
    .clk_i, .rst_ni, .csr_write_i(segment_write), .csr_index_i(csr_addr_i[9:5]),
    .csr_field_i(csr_addr_i[4:3]), .csr_wdata_i, .csr_segment_o(csr_segment),
    .seg_index_i(seg_index), .segment_o(segment));

  counters u_counters (
    .clk_i, .rst_ni, .clear_i(clear_counters), .snapshot_i(snapshot), .idle_credit_i,
    .queue_state_i(queue_state),
    .queue_retired_i(queue_retired), .fetched_i(fetch_push_o != 0), .fetch_waits_i(fetch_waits),
    .read_conflict_i(read_conflict), .events_i(events), .csr_index_i(csr_addr_i[11:3]),
    .csr_rdata_o(counter_rdata));
endmodule
`default_nettype wire
