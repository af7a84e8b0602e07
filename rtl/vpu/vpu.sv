`default_nettype none
// The vector unit: EPILOGUE, ELEMENTWISE, REDUCE and CAST on rows of N lanes, one row a cycle.
//
//   commands ─► control ──► check
//                 │ start, go
//   ACC ──┐   ┌───▼─────┐    ┌───────┐    ┌────────┐
//   va ───┴──►│operand a├───►│ lanes │───►│ out    ├──► vw
//   vb ──────►│operand b├───►│ execute ─►─► finish │
//             └─────────┘    └──▲─┬──┘    └────────┘
//                               └─┴─ reduce
// Latency: command taken to first request 3 cycles, grant of a row to its write request 3 cycles
// (REDUCE: + log2 N), last write granted to done_o 1 cycle. Figures and contract: README.md.
module vpu
  import weft_pkg::*;
  import chip_pkg::*;
(
  input  logic                     clk_i,
  input  logic                     rst_ni,
  // unit contract (rtl/README.md)
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
  output logic                     va_req_o,
  output logic [31:0]              va_addr_o,
  output logic                     va_pair_o,
  input  logic                     va_gnt_i,
  input  logic                     va_rvalid_i,
  input  logic [2*8*WordBytes-1:0] va_rdata_i,
  // VMEM, operand b
  output logic                     vb_req_o,
  output logic [31:0]              vb_addr_o,
  output logic                     vb_pair_o,
  input  logic                     vb_gnt_i,
  input  logic                     vb_rvalid_i,
  input  logic [2*8*WordBytes-1:0] vb_rdata_i,
  // VMEM, result
  output logic                     vw_req_o,
  output logic [31:0]              vw_addr_o,
  output logic                     vw_pair_o,
  output logic [2*8*WordBytes-1:0] vw_data_o,
  input  logic                     vw_gnt_i,
  // ACC, data the cycle after the grant
  output logic                     acc_req_o,
  output logic [15:0]              acc_row_o,
  input  logic                     acc_gnt_i,
  input  logic                     acc_rvalid_i,
  input  logic [32*N-1:0]          acc_rdata_i,
  // counters: exactly one of busy, stalled, idle in a cycle; the others count in the write's cycle
  output logic                     cnt_busy_o,
  output logic                     cnt_stalled_o,
  output logic                     cnt_idle_o,
  output logic                     cnt_row_o,
  output logic [15:0]              nan_results_o,
  output logic [15:0]              inf_results_o
);
  if (2 * 8 * WordBytes != 32 * N) begin : gen_check_row
    $error("vpu: two VMEM words of %0d bytes are no row of %0d x 32 bits", WordBytes, N);
  end

  vpu_cmd_t        slot, run_cmd;
  logic            check, verdict_valid, legal, start, run;
  logic            execute, reduce_step, finish;
  logic            a_req, a_gnt, a_rvalid, a_valid, a_left, b_valid, b_left, use_b, from_acc;
  logic [31:0]     a_addr, root;
  logic [32*N-1:0] a_rdata, a_row, b_row, result;
  logic [15:0]     b_rows, nans, infs;
  logic            written;

  vpu_control u_control (
    .clk_i, .rst_ni, .cmd_valid_i, .cmd_ready_o, .cmd_i(vpu_cmd_t'(cmd_i)), .done_o, .fault_valid_o,
    .active_o, .check_o(check), .slot_o(slot), .verdict_valid_i(verdict_valid), .legal_i(legal),
    .start_o(start), .run_o(run), .run_cmd_o(run_cmd),
    .operands_valid_i(a_valid & (b_valid | ~use_b)), .execute_o(execute),
    .reduce_step_o(reduce_step), .finish_o(finish), .vw_req_o, .vw_addr_o, .vw_gnt_i
  );

  vpu_check u_check (
    .clk_i, .rst_ni, .check_i(check), .cmd_i(slot), .verdict_valid_o(verdict_valid),
    .legal_o(legal), .fault_code_o, .fault_address_o
  );
  assign fault_tag_o = slot.tag;

  // Operand a: rows of VMEM or ACC.
  assign from_acc = run_cmd.src_space == VpuSpaceAcc;
  assign va_req_o = a_req & ~from_acc;
  assign va_addr_o = a_addr;
  assign va_pair_o = run_cmd.src_dtype != VpuDtypeBf16;
  assign acc_req_o = a_req & from_acc;
  assign acc_row_o = a_addr[15:0];
  assign a_gnt = from_acc ? acc_gnt_i : va_gnt_i;
  assign a_rvalid = from_acc ? acc_rvalid_i : va_rvalid_i;
  assign a_rdata = from_acc ? acc_rdata_i : va_rdata_i;

  vpu_operand u_operand_a (
    .clk_i, .rst_ni, .start_i(start), .rows_i(slot.rows), .addr_i(slot.a_addr),
    .stride_i(slot.a_stride), .keep_i(1'b0), .req_o(a_req), .addr_o(a_addr), .gnt_i(a_gnt),
    .rvalid_i(a_rvalid), .rdata_i(a_rdata), .valid_o(a_valid), .row_o(a_row), .pop_i(execute),
    .left_o(a_left)
  );

  // Operand b: a row for each row of a, or one row that stays.
  always_comb begin
    b_rows = '0;
    if (slot.b_mode == VpuBModeTensor) b_rows = slot.rows;
    if (slot.b_mode == VpuBModeRow) b_rows = 16'd1;
  end
  assign use_b = run_cmd.b_mode == VpuBModeTensor || run_cmd.b_mode == VpuBModeRow;
  assign vb_pair_o = va_pair_o;

  vpu_operand u_operand_b (
    .clk_i, .rst_ni, .start_i(start), .rows_i(b_rows), .addr_i(slot.b_addr),
    .stride_i(slot.b_stride), .keep_i(slot.b_mode == VpuBModeRow), .req_o(vb_req_o),
    .addr_o(vb_addr_o), .gnt_i(vb_gnt_i), .rvalid_i(vb_rvalid_i), .rdata_i(vb_rdata_i),
    .valid_o(b_valid), .row_o(b_row), .pop_i(execute & use_b), .left_o(b_left)
  );

  vpu_lanes u_lanes (
    .clk_i, .cmd_i(run_cmd), .execute_i(execute), .a_i(a_row), .b_i(b_row), .result_o(result),
    .finish_i(finish), .root_i(root), .out_o(vw_data_o), .nan_o(nans), .inf_o(infs)
  );

  vpu_reduce u_reduce (
    .clk_i, .load_i(start & (slot.opcode == OpcodeReduce)), .cols_i(slot.cols),
    .step_i(reduce_step), .i32_i(run_cmd.src_dtype == VpuDtypeI32),
    .largest_i(run_cmd.op == VpuOpRmax), .row_i(result), .root_o(root)
  );
  assign vw_pair_o = run_cmd.dst_dtype != VpuDtypeBf16;

  // busy: a row of a is read. stalled: rows are left to read and none is, or a write is refused.
  assign written = vw_req_o & vw_gnt_i;
  assign cnt_busy_o = a_req & a_gnt;
  assign cnt_stalled_o = run & ~cnt_busy_o & (a_left | b_left | (vw_req_o & ~vw_gnt_i));
  assign cnt_idle_o = ~cnt_busy_o & ~cnt_stalled_o;
  assign cnt_row_o = written;
  assign nan_results_o = written ? nans : '0;
  assign inf_results_o = written ? infs : '0;
endmodule
`default_nettype wire
