`default_nettype none
// Fault injection: the INJECT registers, what is armed, and where it acts.
//
//   INJECT_ARM ─► legal? ─► per kind: its parameters, armed, a count ─► acts at the n-th event
//
// A place is a number of commands, beats or writes since arming, never a cycle, so every core that
// was idle at arming sees the same. `hold`, `raise` and the marks follow from registers only.
module inject
  import weft_pkg::*, chip_pkg::*;
(
  input  logic                  clk_i,
  input  logic                  rst_ni,          // power-up
  input  logic                  core_rst_ni,     // power-up or core reset
  // registers
  input  logic                  write_i,
  input  logic [2:0]            index_i,         // INJECT_ADDRESS + 8 index
  input  logic [63:0]           wdata_i,
  output logic [63:0]           rdata_o,
  // queues
  input  logic [NumQueues-1:0]  checked_i,       // the head is checked
  input  logic [NumQueues-1:0]  started_i,       // a unit takes the command
  output logic [NumQueues-1:0]  raise_o,         // the head is to be refused
  output logic [7:0]            raise_code_o,
  output logic [63:0]           raise_address_o,
  output logic [NumQueues-1:0]  hold_o,          // no unit is ready for the command
  output control_pkg::marks_t   marks_o [NumQueues],   // of the command that starts
  output logic [1:0]            fail_o,          // dma_in, dma_out: a beat of it fails
  output logic [31:0]           fail_beat_o,
  // memories
  output core_pkg::flip_t       vmem_flip_o,
  input  logic                  vmem_write_i,    // its granule is written
  output core_pkg::flip_t       acc_flip_o,
  input  logic                  acc_write_i
);
  localparam int unsigned Kinds = 9;             // NONE, then those that can be armed
  localparam int unsigned VmemFlip = 32'(InjectKindVmemFlip);
  localparam int unsigned AccFlip = 32'(InjectKindAccFlip);
  localparam int unsigned NotReady = 32'(InjectKindNotReady);
  localparam int unsigned NotDone = 32'(InjectKindNotDone);
  localparam int unsigned LostDone = 32'(InjectKindLostDone);
  localparam int unsigned LostPost = 32'(InjectKindLostPost);
  localparam int unsigned BusError = 32'(InjectKindBusError);
  localparam int unsigned Raise = 32'(InjectKindRaise);
  localparam int unsigned FlipKinds = 3;         // of those, the first that flip nothing
  localparam logic [63:0] VmemBytes = 64'(VmemWords) * 64'(WordBytes);

  typedef struct packed {
    logic [31:0] beat;
    logic [15:0] n;
    logic [7:0]  code;
    logic [7:0]  queue_id;
  } place_t;

  // Parameters as written, and as they were when a kind was armed.
  logic [63:0] address_q, data_q, check_q;
  place_t      place_q;
  place_t [Kinds-1:0] armed_place_q;
  logic [63:0] raise_address_q;
  core_pkg::flip_t vmem_flip_q, acc_flip_q;
  logic vmem_now_q, acc_now_q;
  logic [Kinds-1:0] armed_q, acted_q;
  logic [Kinds-1:0][15:0] count_q;               // commands or writes since arming
  logic refused_q;

  logic arm, legal, flips, flip_now;
  logic [3:0] kind;
  logic queue_ok, dma_queue, bits_ok;
  assign arm = write_i && index_i == 3'd4;
  assign kind = wdata_i[3:0];

  always_comb begin
    queue_ok = place_q.queue_id < 8'(NumQueues) && place_q.n != 0;
    dma_queue = place_q.queue_id == 8'(QueueDmaIn) || place_q.queue_id == 8'(QueueDmaOut);
    // one bit or two: a code of distance 4 promises nothing for more
    bits_ok = $countones(data_q) + $countones(check_q) - 32'd1 < 32'd2;
    unique case (wdata_i)
      64'(InjectKindNone): legal = 1'b1;
      64'(VmemFlip):
        legal = address_q < VmemBytes && address_q[2:0] == 0 && check_q[63:8] == 0 && bits_ok;
      64'(AccFlip):
        legal = address_q[63:32] == 0 && 32'(address_q[15:0]) < 2 * AccBankRows * NumMxu
             && 32'(address_q[31:16]) < N && data_q[63:32] == 0 && check_q[63:7] == 0 && bits_ok;
      64'(NotReady), 64'(NotDone), 64'(LostDone),
      64'(LostPost): legal = queue_ok;
      64'(BusError): legal = queue_ok && dma_queue && place_q.beat != 0;
      64'(Raise):
        legal = queue_ok && place_q.code != 0 && 32'(place_q.code) <= LastFault;
      default: legal = 1'b0;
    endcase
  end
  assign flips = kind == 4'(VmemFlip) || kind == 4'(AccFlip);
  assign flip_now = place_q.n == 0;

  // The command that a kind waits for is the next one of its queue.
  function automatic logic here(input logic [3:0] k, input logic [2:0] queue);
    here = armed_q[k] && armed_place_q[k].queue_id == 8'(queue)
        && count_q[k] + 16'd1 == armed_place_q[k].n;
  endfunction

  always_comb begin
    raise_o = '0;
    hold_o = '0;
    fail_o = '0;
    for (int unsigned q = 0; q < NumQueues; q++) marks_o[q] = '0;
    if (armed_q != '0) begin
      for (int unsigned q = 0; q < NumQueues; q++) begin
        raise_o[q] = here(4'(Raise), 3'(q));
        hold_o[q] = here(4'(NotReady), 3'(q));
        marks_o[q] = '{not_done: here(4'(NotDone), 3'(q)),
                       lost_done: here(4'(LostDone), 3'(q)),
                       lost_post: here(4'(LostPost), 3'(q))};
      end
      fail_o = {here(4'(BusError), QueueDmaOut),
                here(4'(BusError), QueueDmaIn)};
    end
  end
  assign raise_code_o = armed_place_q[Raise].code;
  assign raise_address_o = raise_address_q;
  assign fail_beat_o = armed_place_q[BusError].beat;

  always_comb begin
    vmem_flip_o = vmem_flip_q;
    vmem_flip_o.now = vmem_now_q;
    vmem_flip_o.watch = armed_q[VmemFlip];
    vmem_flip_o.next = count_q[VmemFlip] + 16'd1 == armed_place_q[VmemFlip].n;
    acc_flip_o = acc_flip_q;
    acc_flip_o.now = acc_now_q;
    acc_flip_o.watch = armed_q[AccFlip];
    acc_flip_o.next = count_q[AccFlip] + 16'd1 == armed_place_q[AccFlip].n;
`ifdef SYNTHESIS
    vmem_flip_o = '0;                            // a chip's memories flip by themselves
    acc_flip_o = '0;
`endif
  end

  // What each kind counts in this cycle.
  logic [Kinds-1:0] event_now;
  always_comb begin
    event_now = '0;
    if (armed_q != '0) begin
      for (int unsigned k = FlipKinds; k < Kinds; k++)
        event_now[k] = armed_q[k] && started_i[armed_place_q[k].queue_id[2:0]];
      event_now[Raise] = armed_q[Raise]
                                && checked_i[armed_place_q[Raise].queue_id[2:0]];
      event_now[VmemFlip] = vmem_write_i;
      event_now[AccFlip] = acc_write_i;
    end
  end

  // A kind has acted, and waits no more, with its n-th event. A queue that is held stays armed.
  logic [Kinds-1:0] last_event;
  always_comb begin
    last_event = '0;
    if (event_now != '0)
      for (int unsigned k = 0; k < Kinds; k++)
        last_event[k] = event_now[k] && count_q[k] + 16'd1 == armed_place_q[k].n;
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k < Kinds; k++)
      if (event_now[k]) count_q[k] <= count_q[k] + 16'd1;
    armed_q <= armed_q & ~last_event;
    acted_q <= acted_q | last_event;
    if (hold_o != '0) acted_q[NotReady] <= 1'b1;
    vmem_now_q <= 1'b0;
    acc_now_q <= 1'b0;
    if (arm) refused_q <= !legal;
    if (arm && legal) begin
      armed_place_q[kind] <= place_q;
      count_q[kind] <= '0;
      armed_q[kind] <= !(flips && flip_now);
      if (flips && flip_now) acted_q[kind] <= 1'b1;
      if (kind == 4'(InjectKindNone)) armed_q <= '0;
      if (kind == 4'(Raise)) raise_address_q <= address_q;
      if (kind == 4'(VmemFlip)) begin
        vmem_flip_q <= '{granule: address_q[34:3], data: data_q, check: check_q[7:0], default: '0};
        vmem_now_q <= flip_now;
      end
      if (kind == 4'(AccFlip)) begin
        acc_flip_q <= '{granule: 32'(address_q[15:0]) * N + 32'(address_q[31:16]), data: data_q,
                        check: check_q[7:0], default: '0};
        acc_now_q <= flip_now;
      end
    end
    if (write_i && index_i == 3'd0) address_q <= wdata_i;
    if (write_i && index_i == 3'd1) data_q <= wdata_i;
    if (write_i && index_i == 3'd2) check_q <= wdata_i;
    if (write_i && index_i == 3'd3) place_q <= wdata_i;
    if (!core_rst_ni) begin
      armed_q <= '0;
      acted_q <= '0;
      refused_q <= 1'b0;
      vmem_now_q <= 1'b0;
      acc_now_q <= 1'b0;
    end
    if (!rst_ni) begin
      address_q <= '0;
      data_q <= '0;
      check_q <= '0;
      place_q <= '0;
    end
  end

  always_comb begin
    unique case (index_i)
      3'd0: rdata_o = address_q;
      3'd1: rdata_o = data_q;
      3'd2: rdata_o = check_q;
      3'd3: rdata_o = place_q;
      3'd5: rdata_o = {31'd0, refused_q, 16'(acted_q), 16'(armed_q)};
      default: rdata_o = '0;
    endcase
  end
endmodule
`default_nettype wire
