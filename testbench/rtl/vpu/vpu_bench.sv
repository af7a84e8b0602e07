`default_nettype none
// The VPU with plain pins, for benches: C++ finds each field of a port by its name.
module vpu_bench
  import weft_pkg::*, chip_pkg::*;
#(
  localparam int unsigned Sublanes = VpuSublanes,
  localparam int unsigned CountBits = $clog2(Sublanes + 1),
  localparam int unsigned RowBits = 2 * 8 * WordBytes
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     cmd_valid_i,
  output logic                     cmd_ready_o,
  input  logic [CmdBits-1:0]       cmd_i,
  output logic                     done_o,
  output logic                     fault_valid_o,
  output logic [7:0]               fault_code_o,
  output logic [15:0]              fault_tag_o,
  output logic [63:0]              fault_address_o,
  output logic                     active_o,
  // VMEM, operand a
  output logic [Sublanes-1:0]              va_req_o,
  output logic [Sublanes-1:0][31:0]        va_addr_o,
  output logic                             va_pair_o,
  input  logic [Sublanes-1:0]              va_gnt_i,
  input  logic [Sublanes-1:0]              va_rvalid_i,
  input  logic [Sublanes-1:0][RowBits-1:0] va_rdata_i,
  // VMEM, operand b
  output logic [Sublanes-1:0]              vb_req_o,
  output logic [Sublanes-1:0][31:0]        vb_addr_o,
  output logic                             vb_pair_o,
  input  logic [Sublanes-1:0]              vb_gnt_i,
  input  logic [Sublanes-1:0]              vb_rvalid_i,
  input  logic [Sublanes-1:0][RowBits-1:0] vb_rdata_i,
  // VMEM, result
  output logic [Sublanes-1:0]              vw_req_o,
  output logic [Sublanes-1:0][31:0]        vw_addr_o,
  output logic                             vw_pair_o,
  output logic                             vw_upper_o,
  output logic [Sublanes-1:0][RowBits-1:0] vw_data_o,
  input  logic [Sublanes-1:0]              vw_gnt_i,
  // ACC
  output logic [Sublanes-1:0]              acc_req_o,
  output logic [Sublanes-1:0][15:0]        acc_row_o,
  input  logic [Sublanes-1:0]              acc_gnt_i,
  input  logic [Sublanes-1:0]              acc_rvalid_i,
  input  logic [Sublanes-1:0][32*N-1:0]    acc_data_i,
  // counters
  output logic                     cnt_busy_o,
  output logic                     cnt_stalled_o,
  output logic                     cnt_idle_o,
  output logic [CountBits-1:0]     cnt_rows_o,
  output logic [15:0]              nan_results_o,
  output logic [15:0]              inf_results_o
);
  port_pkg::rows_read_t va, vb;
  port_pkg::rows_write_t vw;
  assign va_pair_o = va.pair;
  assign vb_pair_o = vb.pair;
  assign vw_pair_o = vw.pair;
  assign vw_upper_o = vw.upper;
  assign vw_data_o = vw.data;
  for (genvar i = 0; i < Sublanes; i++) begin : gen_addr
    assign va_addr_o[i] = 32'(va.addr[i]);
    assign vb_addr_o[i] = 32'(vb.addr[i]);
    assign vw_addr_o[i] = 32'(vw.addr[i]);
  end

  // nothing is poisoned
  vpu u_vpu (
    .clk_i, .rst_ni, .cmd_valid_i, .cmd_ready_o, .cmd_i, .done_o, .fault_valid_o, .fault_code_o,
    .fault_tag_o, .fault_address_o, .active_o,
    .va_req_o, .va_o(va), .va_gnt_i, .va_rvalid_i, .va_i('{poison: '0, data: va_rdata_i}),
    .vb_req_o, .vb_o(vb), .vb_gnt_i, .vb_rvalid_i, .vb_i('{poison: '0, data: vb_rdata_i}),
    .vw_req_o, .vw_o(vw), .vw_gnt_i, .acc_req_o, .acc_row_o, .acc_gnt_i, .acc_rvalid_i,
    .acc_i('{poison: '0, data: acc_data_i}), .cnt_busy_o, .cnt_stalled_o, .cnt_idle_o, .cnt_rows_o,
    .nan_results_o, .inf_results_o);
endmodule
`default_nettype wire
