`default_nettype none
// The DMA engine with its VMEM and a segment table, for benches: core and memory are played by C++.
module dma_bench
  import weft_pkg::*, chip_pkg::*, core_pkg::*;
#(
  localparam int unsigned AddrBits = $clog2(VmemWords),
  localparam int unsigned BeatBytes = DmaWords * WordBytes
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // core
  input  logic [3:0]          cmd_valid_i,
  output logic [3:0]          cmd_ready_o,
  input  dma_cmd_t            cmd_in_i,
  input  dma_cmd_t            cmd_out_i,
  input  logic [15:0]         chip_i,
  input  logic [15:0]         chips_i,
  output logic [3:0]          done_o,
  output logic [3:0]          active_o,
  output logic [3:0]          fault_valid_o,
  output logic [3:0][7:0]     fault_code_o,
  output logic [3:0][15:0]    fault_tag_o,
  output logic [3:0][63:0]    fault_address_o,
  input  logic                segment_write_i,
  input  logic [4:0]          segment_index_i,
  input  logic [63:0]         segment_base_i,
  input  logic [63:0]         segment_limit_i,
  input  logic [3:0]          segment_attributes_i,  // writable, readable, space
  // other requesters of VMEM: what stands in the way
  input  logic                x_req_i,
  input  logic [AddrBits-1:0] x_addr_i,
  input  logic                va_req_i,
  input  logic [AddrBits-1:0] va_addr_i,
  input  logic                vw_req_i,
  input  logic [AddrBits-1:0] vw_addr_i,
  output logic [5:0]          vmem_grant_o,
  output logic [5:0]          vmem_conflict_o,
  // memory port
  output logic                mrd_valid_o,
  input  logic                mrd_ready_i,
  output logic [1:0]          mrd_space_o,
  output logic [63:0]         mrd_addr_o,
  output logic [15:0]         mrd_bytes_o,
  output logic [1:0]          mrd_channel_o,
  input  logic                mrsp_valid_i,
  output logic                mrsp_ready_o,
  input  logic [1:0]          mrsp_channel_i,
  input  logic                mrsp_error_i,
  input  logic [BeatBytes*8-1:0] mrsp_data_i,
  output logic                mwr_valid_o,
  input  logic                mwr_ready_i,
  output logic [1:0]          mwr_space_o,
  output logic [63:0]         mwr_addr_o,
  output logic [15:0]         mwr_bytes_o,
  output logic [1:0]          mwr_channel_o,
  output logic [BeatBytes*8-1:0] mwr_data_o,
  // interconnect
  output logic                ici_open_valid_o,
  output logic [1:0]          ici_open_channel_o,
  output dma_cmd_t            ici_open_cmd_o,
  output logic                ici_valid_o,
  input  logic                ici_ready_i,
  output logic                ici_last_o,
  input  logic                mack_valid_i,
  input  logic [1:0]          mack_channel_i,
  input  logic                mack_error_i,
  // counters
  output logic [15:0]         read_bytes_o,
  output logic [15:0]         write_bytes_o,
  output logic                read_beat_o,
  output logic                write_beat_o,
  output logic                read_stall_o,
  output logic                write_stall_o
);
  segment_t segments_q[NumSegments];
  logic [3:0][SegmentBits-1:0] seg_index;   // the same in both versions
  segment_t [3:0] segment;
  always_comb for (int unsigned c = 0; c < 4; c++)
    segment[c] = seg_index[c][4:0] == '0 ? '0 : segments_q[seg_index[c][4:0]];
  always_ff @(posedge clk_i)
    if (segment_write_i)
      segments_q[segment_index_i] <= {segment_attributes_i, segment_limit_i, segment_base_i};

  logic dr_req, dr_gnt, dr_rvalid, dw_req, dw_gnt;
  port_pkg::beat_read_t dr;
  port_pkg::beat_answer_t dr_answer;
  port_pkg::beat_write_t dw;
  port_pkg::memory_read_t mrd;
  port_pkg::memory_write_t mwr;
  assign {mrd_space_o, mrd_addr_o, mrd_bytes_o, mrd_channel_o} = mrd;
  assign {mwr_space_o, mwr_addr_o, mwr_bytes_o, mwr_channel_o, mwr_data_o} = mwr;

  dma u_dma (
    .clk_i, .rst_ni, .cmd_valid_i, .cmd_ready_o, .cmd_in_i, .cmd_out_i,
    .place_i('{chips: chips_i, chip: chip_i}), .done_o, .active_o,
    .fault_valid_o, .fault_code_o, .fault_tag_o, .fault_address_o, .seg_index_o(seg_index),
    .segment_i(segment),
    .dr_req_o(dr_req), .dr_o(dr), .dr_gnt_i(dr_gnt), .dr_rvalid_i(dr_rvalid), .dr_i(dr_answer),
    .dw_req_o(dw_req), .dw_o(dw), .dw_gnt_i(dw_gnt), .mrd_valid_o, .mrd_ready_i, .mrd_o(mrd),
    .mrsp_valid_i, .mrsp_ready_o,
    .mrsp_i('{channel: mrsp_channel_i, error: mrsp_error_i, data: mrsp_data_i}),
    .mwr_valid_o, .mwr_ready_i, .mwr_o(mwr), .ici_open_valid_o, .ici_open_channel_o,
    .ici_open_cmd_o, .ici_valid_o, .ici_ready_i, .ici_last_o,
    .mack_valid_i, .mack_i('{channel: mack_channel_i, error: mack_error_i}),
    .read_bytes_o, .write_bytes_o, .read_beat_o, .write_beat_o, .read_stall_o, .write_stall_o,
    .fail_i('0), .fail_beat_i('0)
  );

  // verilator lint_off PINCONNECTEMPTY
  vmem u_vmem (
    .clk_i, .rst_ni,
    .x_req_i, .x_addr_i, .x_gnt_o(), .x_rvalid_o(), .x_o(),
    .w_req_i(1'b0), .w_addr_i('0), .w_gnt_o(), .w_rvalid_o(), .w_o(),
    .va_req_i, .va_i('{pair: 1'b0, addr: va_addr_i}), .va_gnt_o(), .va_rvalid_o(), .va_o(),
    .vb_req_i(1'b0), .vb_i('0), .vb_gnt_o(), .vb_rvalid_o(), .vb_o(),
    .vw_req_i, .vw_i('{upper: 1'b0, pair: 1'b0, addr: vw_addr_i, data: '0}), .vw_gnt_o(),
    .dr_req_i(dr_req), .dr_i(dr), .dr_gnt_o(dr_gnt), .dr_rvalid_o(dr_rvalid), .dr_o(dr_answer),
    .dw_req_i(dw_req), .dw_i(dw), .dw_gnt_o(dw_gnt),
    .cnt_grant_o(vmem_grant_o), .cnt_conflict_o(vmem_conflict_o),
    .cnt_corrected_o(), .cnt_poison_o(), .flip_i('0), .flip_write_o()
  );
  // verilator lint_on PINCONNECTEMPTY
endmodule
`default_nettype wire
