`default_nettype none
// The DMA engine: four channels between VMEM and memory; 0 and 1 serve dma_in, 2 and 3 dma_out.
//
//   dma_in  ─► channel 0, 1 ─► dma_read_port  ─► mrd, mrsp ─► VMEM dw
//   dma_out ─► channel 2, 3 ─► dma_write_port ─► VMEM dr ─► mwr or ici, mack
//   indices of all four ─► dma_index_port ─► VMEM dr
//
// Of the two channels of a direction, the one that holds fewer commands is ready (a tie: the
// lower), so commands start in order and may finish out of order. Taken in cycle 0: mrd valid in 6,
// dr request in 5, mwr valid in 7. A beat a cycle each way.
module dma
  import weft_pkg::*, chip_pkg::*, core_pkg::*;
#(
  localparam int unsigned BeatBytes = DmaWords * WordBytes,
  localparam int unsigned AddrBits = $clog2(VmemWords)
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  // core: commands, a bus for each direction
  input  logic     [DmaChannels-1:0]        cmd_valid_i,
  output logic     [DmaChannels-1:0]        cmd_ready_o,
  input  dma_cmd_t                          cmd_in_i,
  input  dma_cmd_t                          cmd_out_i,
  input  place_t                            place_i,
  output logic     [DmaChannels-1:0]        done_o,
  output logic     [DmaChannels-1:0]        active_o,
  output logic     [DmaChannels-1:0]        fault_valid_o,
  output logic     [DmaChannels-1:0][7:0]   fault_code_o,
  output logic     [DmaChannels-1:0][15:0]  fault_tag_o,
  output logic     [DmaChannels-1:0][63:0]  fault_address_o,
  // segment table
  output logic     [DmaChannels-1:0][SegmentBits-1:0] seg_index_o,
  input  segment_t [DmaChannels-1:0]        segment_i,
  // VMEM read
  output logic                              dr_req_o,
  output port_pkg::beat_read_t              dr_o,
  input  logic                              dr_gnt_i,
  input  logic                              dr_rvalid_i,
  input  port_pkg::beat_answer_t            dr_i,
  // VMEM write
  output logic                              dw_req_o,
  output port_pkg::beat_write_t             dw_o,
  input  logic                              dw_gnt_i,
  // memory: reads
  output logic                              mrd_valid_o,
  input  logic                              mrd_ready_i,
  output port_pkg::memory_read_t            mrd_o,
  input  logic                              mrsp_valid_i,
  output logic                              mrsp_ready_o,
  input  port_pkg::memory_answer_t          mrsp_i,
  // memory: writes
  output logic                              mwr_valid_o,
  input  logic                              mwr_ready_i,
  output port_pkg::memory_write_t           mwr_o,
  // interconnect: a remote COPY begins, in the order in which they were taken; its beats follow,
  // with address (the offset at the receiver), bytes, channel and data of mwr
  output logic                              ici_open_valid_o,
  output logic     [1:0]                    ici_open_channel_o,
  output dma_cmd_t                          ici_open_cmd_o,
  output logic                              ici_valid_o,
  input  logic                              ici_ready_i,
  output logic                              ici_last_o,
  // memory and interconnect: a beat has been written, or has been taken to another chip
  input  logic                              mack_valid_i,
  input  port_pkg::memory_ack_t             mack_i,
  // counters, this cycle
  output logic     [15:0]                   read_bytes_o,
  output logic     [15:0]                   write_bytes_o,
  output logic                              read_beat_o,
  output logic                              write_beat_o,
  output logic                              read_stall_o,
  output logic                              write_stall_o,
  // fault injection: beat n of the command that dma_in, dma_out takes in this cycle fails
  input  logic     [1:0]                    fail_i,
  input  logic     [31:0]                   fail_beat_i
);
  localparam logic [63:0] VmemBytes = 64'(VmemWords) * 64'(WordBytes);
  localparam int unsigned HeldBits = $clog2(dma_pkg::HeldCommands + 1);
  if (BeatBytes > 32768) $error("a beat of %0d bytes does not fit mrd_bytes", BeatBytes);
  if (WordBytes < DmaGranuleBytes)
    $error("WordBytes is %0d, below the granule of %0d", WordBytes, DmaGranuleBytes);

  logic [DmaChannels-1:0] able;
  logic [HeldBits-1:0] held[DmaChannels];
  dma_pkg::fault_t fault[DmaChannels];
  for (genvar d = 0; d < 2; d++) begin : gen_direction
    localparam int unsigned Low = 2 * d;
    wire low_first = !able[Low+1] || held[Low] <= held[Low+1];
    assign cmd_ready_o[Low]   = able[Low] && low_first;
    assign cmd_ready_o[Low+1] = able[Low+1] && (!able[Low] || !low_first);
  end
  for (genvar c = 0; c < DmaChannels; c++) begin : gen_fault
    assign active_o[c] = held[c] != '0;
    assign {fault_code_o[c], fault_tag_o[c], fault_address_o[c]} = fault[c];
  end

  // The face of a channel is the same for both directions; each uses its part.
  // verilator lint_off PINCONNECTEMPTY
  logic [1:0] in_front_valid, in_front_ready, in_back_valid, in_back_take, in_back_fill;
  logic [1:0] in_back_last, in_retire, in_busy, in_dead, out_open_valid;
  dma_cmd_t out_open_cmd[2];
  logic in_back_error;
  logic [1:0] in_back_fail, out_drop, out_poisoned;
  logic [DmaChannels-1:0] index_valid, index_ready, index_answer;
  logic [31:0] index_word[DmaChannels];
  logic [9:0] out_granule;
  logic [1:0] in_front_space[2];
  logic [15:0] in_front_bytes[2], in_back_bytes[2];
  logic [31:0] in_back_pattern[2];
  logic [63:0] in_front_mem[2], in_back_vmem[2];
  for (genvar c = 0; c < 2; c++) begin : gen_in
    dma_channel #(
      .Out(1'b0), .BeatBytes(BeatBytes), .VmemBytes(VmemBytes), .WordBytes(40'(WordBytes)),
      .Outstanding(DmaOutstandingBeats)
    ) u_channel (
      .clk_i, .rst_ni,
      .cmd_valid_i(cmd_valid_i[c] && cmd_ready_o[c]), .cmd_ready_o(able[c]), .cmd_i(cmd_in_i),
      .place_i, .open_valid_o(), .open_cmd_o(), .held_o(held[c]),
      .done_o(done_o[c]), .fault_valid_o(fault_valid_o[c]), .fault_o(fault[c]), .dead_o(in_dead[c]),
      .seg_index_o(seg_index_o[c]), .segment_i(segment_i[c]),
      .front_valid_o(in_front_valid[c]), .front_ready_i(in_front_ready[c]), .front_fill_o(),
      .front_remote_o(), .front_last_o(), .front_pattern_o(),
      .front_space_o(in_front_space[c]), .front_mem_o(in_front_mem[c]), .front_vmem_o(),
      .front_bytes_o(in_front_bytes[c]),
      .back_valid_o(in_back_valid[c]), .back_take_i(in_back_take[c]), .back_error_i(in_back_error),
      .back_fill_o(in_back_fill[c]), .back_pattern_o(in_back_pattern[c]),
      .back_vmem_o(in_back_vmem[c]),
      .back_bytes_o(in_back_bytes[c]), .back_last_o(in_back_last[c]), .retire_i(in_retire[c]),
      .back_busy_i(in_busy[c]), .ack_i(1'b0), .ack_error_i(1'b0),
      .index_valid_o(index_valid[c]), .index_ready_i(index_ready[c]),
      .index_word_o(index_word[c]), .index_answer_i(index_answer[c]),
      .index_data_i(dr_i.data[8*WordBytes-1:0]), .index_poison_i(dr_i.poison[WordBytes/8-1:0]),
      .drop_i(1'b0), .poison_granule_i('0), .poisoned_o(), .fail_i(fail_i[0]), .fail_beat_i,
      .back_fail_o(in_back_fail[c])
    );
  end
  dma_read_port u_read_port (
    .clk_i, .rst_ni,
    .front_valid_i(in_front_valid), .front_ready_o(in_front_ready), .front_space_i(in_front_space),
    .front_mem_i(in_front_mem), .front_bytes_i(in_front_bytes),
    .back_valid_i(in_back_valid), .back_take_o(in_back_take), .back_error_o(in_back_error),
    .back_fail_i(in_back_fail),
    .back_fill_i(in_back_fill),
    .back_pattern_i(in_back_pattern), .back_vmem_i(in_back_vmem), .back_bytes_i(in_back_bytes),
    .back_last_i(in_back_last), .retire_o(in_retire), .busy_o(in_busy), .dead_i(in_dead),
    .mrd_valid_o, .mrd_ready_i, .mrd_o, .mrsp_valid_i, .mrsp_ready_o, .mrsp_i,
    .dw_req_o, .dw_o, .dw_gnt_i
  );

  logic [1:0] out_front_valid, out_front_ready, out_front_fill, out_ack;
  logic [1:0] out_front_remote, out_front_last;
  logic out_ack_error;
  logic [1:0] out_front_space[2];
  logic [15:0] out_front_bytes[2];
  logic [31:0] out_front_pattern[2];
  logic [63:0] out_front_mem[2], out_front_vmem[2];
  logic data_req, data_gnt, data_rvalid;
  port_pkg::beat_read_t data_read;
  for (genvar c = 0; c < 2; c++) begin : gen_out
    dma_channel #(
      .Out(1'b1), .BeatBytes(BeatBytes), .VmemBytes(VmemBytes), .WordBytes(40'(WordBytes)),
      .Outstanding(DmaOutstandingWrites)
    ) u_channel (
      .clk_i, .rst_ni,
      .cmd_valid_i(cmd_valid_i[c+2] && cmd_ready_o[c+2]), .cmd_ready_o(able[c+2]),
      .cmd_i(cmd_out_i), .place_i, .open_valid_o(out_open_valid[c]), .open_cmd_o(out_open_cmd[c]),
      .held_o(held[c+2]),
      .done_o(done_o[c+2]), .fault_valid_o(fault_valid_o[c+2]), .fault_o(fault[c+2]), .dead_o(),
      .seg_index_o(seg_index_o[c+2]), .segment_i(segment_i[c+2]),
      .front_valid_o(out_front_valid[c]), .front_ready_i(out_front_ready[c]),
      .front_fill_o(out_front_fill[c]), .front_remote_o(out_front_remote[c]),
      .front_last_o(out_front_last[c]),
      .front_pattern_o(out_front_pattern[c]), .front_space_o(out_front_space[c]),
      .front_mem_o(out_front_mem[c]),
      .front_vmem_o(out_front_vmem[c]), .front_bytes_o(out_front_bytes[c]),
      .back_valid_o(), .back_take_i(1'b0), .back_error_i(1'b0),
      .back_fill_o(), .back_pattern_o(), .back_vmem_o(), .back_bytes_o(), .back_last_o(),
      .retire_i(1'b0), .back_busy_i(1'b0), .ack_i(out_ack[c]), .ack_error_i(out_ack_error),
      .index_valid_o(index_valid[c+2]), .index_ready_i(index_ready[c+2]),
      .index_word_o(index_word[c+2]), .index_answer_i(index_answer[c+2]),
      .index_data_i(dr_i.data[8*WordBytes-1:0]), .index_poison_i(dr_i.poison[WordBytes/8-1:0]),
      .drop_i(out_drop[c]), .poison_granule_i(out_granule),
      .poisoned_o(out_poisoned[c]), .fail_i(fail_i[1]), .fail_beat_i, .back_fail_o()
    );
  end
  dma_write_port u_write_port (
    .clk_i, .rst_ni,
    .front_valid_i(out_front_valid), .front_ready_o(out_front_ready), .front_fill_i(out_front_fill),
    .front_remote_i(out_front_remote), .front_last_i(out_front_last),
    .front_pattern_i(out_front_pattern), .front_space_i(out_front_space),
    .front_mem_i(out_front_mem),
    .front_vmem_i(out_front_vmem), .front_bytes_i(out_front_bytes),
    .ack_o(out_ack), .ack_error_o(out_ack_error), .drop_o(out_drop),
    .poison_granule_o(out_granule), .poisoned_i(out_poisoned),
    .dr_req_o(data_req), .dr_o(data_read), .dr_gnt_i(data_gnt), .dr_rvalid_i(data_rvalid), .dr_i,
    .mwr_valid_o, .mwr_ready_i, .mwr_o,
    .ici_valid_o, .ici_ready_i, .ici_last_o, .mack_valid_i, .mack_i
  );
  // verilator lint_on PINCONNECTEMPTY

  logic [AddrBits-1:0] index_place[DmaChannels];
  for (genvar c = 0; c < DmaChannels; c++) begin : gen_index
    assign index_place[c] = index_word[c][AddrBits-1:0];
  end
  dma_index_port u_index_port (
    .clk_i, .rst_ni,
    .index_valid_i(index_valid), .index_ready_o(index_ready), .index_word_i(index_place),
    .index_answer_o(index_answer),
    .data_req_i(data_req), .data_i(data_read), .data_gnt_o(data_gnt), .data_rvalid_o(data_rvalid),
    .dr_req_o, .dr_o, .dr_gnt_i, .dr_rvalid_i
  );

  assign read_beat_o   = mrd_valid_o && mrd_ready_i;
  // A channel's check takes four cycles and one command is taken in a cycle: never both at once.
  assign ici_open_valid_o   = out_open_valid != '0;
  assign ici_open_channel_o = {1'b1, out_open_valid[1]};
  assign ici_open_cmd_o     = out_open_cmd[out_open_valid[1]];

  assign write_beat_o  = (mwr_valid_o && mwr_ready_i) || (ici_valid_o && ici_ready_i);
  assign read_bytes_o  = read_beat_o ? mrd_o.bytes : '0;
  assign write_bytes_o = write_beat_o ? mwr_o.bytes : '0;
  assign read_stall_o  = mrd_valid_o && !mrd_ready_i;
  assign write_stall_o = (mwr_valid_o && !mwr_ready_i) || (ici_valid_o && !ici_ready_i);

  // of each direction at most one channel is ready
  OneReadyIn_A: assert property (@(posedge clk_i) disable iff (!rst_ni) cmd_ready_o[1:0] != 2'b11);
  OneOpens_A: assert property (@(posedge clk_i) disable iff (!rst_ni) out_open_valid != 2'b11);
  OneReadyOut_A: assert property (@(posedge clk_i) disable iff (!rst_ni) cmd_ready_o[3:2] != 2'b11);
endmodule
`default_nettype wire
