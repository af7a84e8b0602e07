`default_nettype none
// The units that compute and move data, around the scratchpad: DMA, MXU, VPU, VMEM. Only
// connections.
//
//   dma ══ dr dw ══╗
//   mxus ═ x w ════╬══ vmem     Unit i of the ports: weft_pkg::unit_e. That of the sync engine is
//    └ acc ► vpu ══╝ va vb vw   not used.
module units
  import weft_pkg::*, chip_pkg::*;
  import control_pkg::AtMxu, control_pkg::AtVpu, control_pkg::AtSync;
#(
  parameter bit Structural = 1'b0,       // see mxu
  localparam int unsigned Units = control_pkg::Units,
  localparam int unsigned AddrBits = $clog2(VmemWords),
  localparam int unsigned CountBits = $clog2(DmaWords + 1),
  localparam int unsigned Sublanes = VpuSublanes
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  // commands
  input  logic [CmdBits-1:0]    dma_in_cmd_i,
  input  logic [CmdBits-1:0]    dma_out_cmd_i,
  input  logic [CmdBits-1:0]    mxu_cmd_i,
  input  logic [CmdBits-1:0]    vpu_cmd_i,
  input  core_pkg::place_t      place_i,
  input  logic [Units-1:0]      cmd_valid_i,
  output logic [Units-1:0]      cmd_ready_o,
  output logic [Units-1:0]      done_o,
  output logic [Units-1:0]      active_o,
  output control_pkg::fault_t   fault_o [Units],
  // segment table
  output logic [DmaChannels-1:0][core_pkg::SegmentBits-1:0] seg_index_o,
  input  core_pkg::segment_t [DmaChannels-1:0] segment_i,
  // memory port
  output logic                  mrd_valid_o,
  input  logic                  mrd_ready_i,
  output port_pkg::memory_read_t mrd_o,
  input  logic                  mrsp_valid_i,
  output logic                  mrsp_ready_o,
  input  port_pkg::memory_answer_t mrsp_i,
  output logic                  mwr_valid_o,
  input  logic                  mwr_ready_i,
  output port_pkg::memory_write_t mwr_o,
  // interconnect: beats for other chips, with what mwr carries beside valid
  output logic                  ici_open_valid_o,
  output logic [1:0]            ici_open_channel_o,
  output logic [CmdBits-1:0]    ici_open_cmd_o,
  output logic                  ici_valid_o,
  input  logic                  ici_ready_i,
  output logic                  ici_last_o,
  input  logic                  mack_valid_i,
  input  port_pkg::memory_ack_t mack_i,
  // fault injection
  input  core_pkg::flip_t       vmem_flip_i,
  output logic                  vmem_flip_write_o,
  input  core_pkg::flip_t       acc_flip_i,
  output logic                  acc_flip_write_o,
  input  logic [1:0]            fail_i,
  input  logic [31:0]           fail_beat_i,
  // what is counted in this cycle
  output control_pkg::unit_events_t events_o
);
  // ---------------------------------------------------------------- faults, one shape for all
  logic [Units-1:0] fault_valid;
  logic [Units-1:0][7:0] fault_code;
  logic [Units-1:0][15:0] fault_tag;
  logic [Units-1:0][63:0] fault_address;

  for (genvar i = 0; i < Units; i++) begin : gen_fault
    always_comb begin
      fault_o[i] = '0;
      if (fault_valid[i]) begin
        fault_o[i] = '{valid: 1'b1, code: fault_code[i], unit_id: 4'(i),
                       queue_id: control_pkg::queue_of_unit(4'(i)), tag: fault_tag[i],
                           address: fault_address[i]};
      end
    end
  end

  // The sync engine stands in weft_core.
  assign cmd_ready_o[AtSync] = 1'b0;
  assign done_o[AtSync] = 1'b0;
  assign active_o[AtSync] = 1'b0;
  assign fault_valid[AtSync] = 1'b0;
  assign fault_code[AtSync] = '0;
  assign fault_tag[AtSync] = '0;
  assign fault_address[AtSync] = '0;
  logic unused_sync;
  assign unused_sync = &{1'b0, cmd_valid_i[AtSync]};

  // ---------------------------------------------------------------- VMEM
  logic [NumMxu-1:0] x_req, x_gnt, x_rvalid, w_req, w_gnt, w_rvalid;
  logic [Sublanes-1:0] va_req, va_gnt, va_rvalid, vb_req, vb_gnt, vb_rvalid, vw_req;
  logic dr_req, dr_gnt, dr_rvalid, dw_req;
  logic [NumMxu-1:0][AddrBits-1:0] x_addr, w_addr;
  port_pkg::words_answer_t x_answer, w_answer;
  port_pkg::rows_read_t va, vb;
  port_pkg::rows_answer_t va_answer, vb_answer;
  port_pkg::rows_write_t vw;
  port_pkg::beat_read_t dr;
  port_pkg::beat_answer_t dr_answer;
  port_pkg::beat_write_t dw;
  // The lockstep core follows what is written.
  logic [Sublanes-1:0] vw_gnt /* verilator public_flat_rd */;
  logic vw_pair /* verilator public_flat_rd */;
  logic [Sublanes-1:0][31:0] vw_addr /* verilator public_flat_rd */;
  logic dw_gnt /* verilator public_flat_rd */;
  logic [AddrBits-1:0] dw_addr /* verilator public_flat_rd */;
  logic [CountBits-1:0] dw_words /* verilator public_flat_rd */;
  assign vw_pair = vw.pair;
  assign dw_addr = dw.addr;
  assign dw_words = dw.words;
  for (genvar i = 0; i < Sublanes; i++) begin : gen_written
    assign vw_addr[i] = 32'(vw.addr[i]);
  end

  vmem u_vmem (
    .clk_i, .rst_ni,
    .x_req_i(x_req), .x_addr_i(x_addr), .x_gnt_o(x_gnt), .x_rvalid_o(x_rvalid), .x_o(x_answer),
    .w_req_i(w_req), .w_addr_i(w_addr), .w_gnt_o(w_gnt), .w_rvalid_o(w_rvalid), .w_o(w_answer),
    .va_req_i(va_req), .va_i(va), .va_gnt_o(va_gnt), .va_rvalid_o(va_rvalid), .va_o(va_answer),
    .vb_req_i(vb_req), .vb_i(vb), .vb_gnt_o(vb_gnt), .vb_rvalid_o(vb_rvalid), .vb_o(vb_answer),
    .vw_req_i(vw_req), .vw_i(vw), .vw_gnt_o(vw_gnt),
    .dr_req_i(dr_req), .dr_i(dr), .dr_gnt_o(dr_gnt), .dr_rvalid_o(dr_rvalid), .dr_o(dr_answer),
    .dw_req_i(dw_req), .dw_i(dw), .dw_gnt_o(dw_gnt),
    .cnt_grant_o(events_o.vmem_grant), .cnt_conflict_o(events_o.vmem_conflict),
    .cnt_corrected_o(events_o.vmem_corrected), .cnt_poison_o(events_o.vmem_poison),
    .flip_i(vmem_flip_i), .flip_write_o(vmem_flip_write_o));

  // ---------------------------------------------------------------- DMA
  dma u_dma (
    .clk_i, .rst_ni, .cmd_valid_i(cmd_valid_i[DmaChannels-1:0]),
    .cmd_ready_o(cmd_ready_o[DmaChannels-1:0]),
    .cmd_in_i(dma_in_cmd_i), .cmd_out_i(dma_out_cmd_i), .place_i, .done_o(done_o[DmaChannels-1:0]),
    .active_o(active_o[DmaChannels-1:0]), .fault_valid_o(fault_valid[DmaChannels-1:0]),
    .fault_code_o(fault_code[DmaChannels-1:0]), .fault_tag_o(fault_tag[DmaChannels-1:0]),
    .fault_address_o(fault_address[DmaChannels-1:0]),
    .seg_index_o, .segment_i,
    .dr_req_o(dr_req), .dr_o(dr), .dr_gnt_i(dr_gnt), .dr_rvalid_i(dr_rvalid), .dr_i(dr_answer),
    .dw_req_o(dw_req), .dw_o(dw), .dw_gnt_i(dw_gnt),
    .mrd_valid_o, .mrd_ready_i, .mrd_o, .mrsp_valid_i, .mrsp_ready_o, .mrsp_i,
    .mwr_valid_o, .mwr_ready_i, .mwr_o, .ici_open_valid_o, .ici_open_channel_o, .ici_open_cmd_o,
    .ici_valid_o, .ici_ready_i, .ici_last_o,
    .mack_valid_i, .mack_i,
    .read_bytes_o(events_o.dma_read_bytes), .write_bytes_o(events_o.dma_write_bytes),
    .read_beat_o(events_o.dma_read_beat), .write_beat_o(events_o.dma_write_beat),
    .read_stall_o(events_o.dma_read_stall), .write_stall_o(events_o.dma_write_stall),
    .fail_i, .fail_beat_i);

  // ---------------------------------------------------------------- MXUs and their accumulators
  logic [Sublanes-1:0] acc_req, acc_gnt, acc_rvalid;
  logic [Sublanes-1:0][15:0] acc_row;
  port_pkg::acc_answer_t acc;

  logic [NumMxu-1:0] mxu_valid, mxu_ready, mxu_done, mxu_fault, mxu_active;
  logic [NumMxu-1:0][7:0] mxu_fault_code;
  logic [NumMxu-1:0][15:0] mxu_fault_tag;
  logic [NumMxu-1:0][63:0] mxu_fault_address;

  for (genvar u = 0; u < NumMxu; u++) begin : gen_mxu
    localparam int unsigned Unit = control_pkg::place_of_mxu(u);
    assign mxu_valid[u] = cmd_valid_i[Unit];
    assign cmd_ready_o[Unit] = mxu_ready[u];
    assign done_o[Unit] = mxu_done[u];
    assign active_o[Unit] = mxu_active[u];
    assign fault_valid[Unit] = mxu_fault[u];
    assign fault_code[Unit] = mxu_fault_code[u];
    assign fault_tag[Unit] = mxu_fault_tag[u];
    assign fault_address[Unit] = mxu_fault_address[u];
  end

  mxu_group #(.Structural(Structural)) u_mxus (
    .clk_i, .rst_ni, .cmd_valid_i(mxu_valid), .cmd_ready_o(mxu_ready), .cmd_i(mxu_cmd_i),
    .done_o(mxu_done), .fault_valid_o(mxu_fault), .fault_code_o(mxu_fault_code),
    .fault_tag_o(mxu_fault_tag), .fault_address_o(mxu_fault_address), .active_o(mxu_active),
    .x_req_o(x_req), .x_addr_o(x_addr), .x_gnt_i(x_gnt), .x_rvalid_i(x_rvalid), .x_i(x_answer),
    .w_req_o(w_req), .w_addr_o(w_addr), .w_gnt_i(w_gnt), .w_rvalid_i(w_rvalid), .w_i(w_answer),
    .acc_req_i(acc_req), .acc_row_i(acc_row), .acc_gnt_o(acc_gnt), .acc_rvalid_o(acc_rvalid),
    .acc_o(acc), .cnt_state_o(events_o.mxu_state), .cnt_macs_o(events_o.mxu_macs),
    .int_overflow_o(events_o.int_overflow),
    .cnt_corrected_o(events_o.acc_corrected), .cnt_poison_o(events_o.acc_poison),
    .flip_i(acc_flip_i), .flip_write_o(acc_flip_write_o));

  // ---------------------------------------------------------------- VPU
  logic [$clog2(Sublanes+1)-1:0] vpu_rows;
  assign events_o.vpu_rows = $bits(events_o.vpu_rows)'(vpu_rows);

  vpu u_vpu (
    .clk_i, .rst_ni, .cmd_valid_i(cmd_valid_i[AtVpu]), .cmd_ready_o(cmd_ready_o[AtVpu]),
    .cmd_i(vpu_cmd_i),
    .done_o(done_o[AtVpu]), .fault_valid_o(fault_valid[AtVpu]),
    .fault_code_o(fault_code[AtVpu]),
    .fault_tag_o(fault_tag[AtVpu]), .fault_address_o(fault_address[AtVpu]),
    .active_o(active_o[AtVpu]),
    .va_req_o(va_req), .va_o(va), .va_gnt_i(va_gnt), .va_rvalid_i(va_rvalid), .va_i(va_answer),
    .vb_req_o(vb_req), .vb_o(vb), .vb_gnt_i(vb_gnt), .vb_rvalid_i(vb_rvalid), .vb_i(vb_answer),
    .vw_req_o(vw_req), .vw_o(vw), .vw_gnt_i(vw_gnt),
    .acc_req_o(acc_req), .acc_row_o(acc_row), .acc_gnt_i(acc_gnt), .acc_rvalid_i(acc_rvalid),
    .acc_i(acc),
    .cnt_busy_o(events_o.vpu_state[0]), .cnt_stalled_o(events_o.vpu_state[1]),
    .cnt_idle_o(events_o.vpu_state[2]),
    .cnt_rows_o(vpu_rows), .nan_results_o(events_o.nan_results),
    .inf_results_o(events_o.inf_results));
endmodule
`default_nettype wire
