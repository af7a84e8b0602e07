`default_nettype none
// The vector unit: EPILOGUE, ELEMENTWISE, REDUCE, CAST, TRANSPOSE; rows of N lanes, one a cycle.
//
//   commands ─► control ──► check
//                 │ start, go
//   ACC ──┐   ┌───▼─────┐    ┌───────┐    ┌────────┐
//   va ───┴──►│operand a├───►│ lanes │───►│ out    ├──► vw
//   vb ──────►│operand b├───►│ execute ─►─► finish │
//             └─────────┘    └──▲─┬──┘    └────────┘
//                               └─┴─ reduce, functions, transpose
// Latency: command taken to first request 3 cycles, grant of a row to its write request 3 cycles
// (REDUCE: + log2 N, functions: + 6), last write granted to done_o 1 cycle. More: README.md.
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
  input  logic [N/2-1:0]           va_poison_i,
  // VMEM, operand b
  output logic                     vb_req_o,
  output logic [31:0]              vb_addr_o,
  output logic                     vb_pair_o,
  input  logic                     vb_gnt_i,
  input  logic                     vb_rvalid_i,
  input  logic [2*8*WordBytes-1:0] vb_rdata_i,
  input  logic [N/2-1:0]           vb_poison_i,
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
  input  logic [N-1:0]             acc_poison_i,
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
  logic            execute, first, inner_step, load, emit, finish, is_function, iota;
  logic            columns, b_pop;
  logic [15:0]     index;
  logic [$clog2(N)-1:0] b_lane_q;
  logic [31:0]     iota_q;
  logic            iota_valid_q;
  logic [32*N-1:0] function_row, column_row;
  logic            a_req, a_gnt, a_rvalid, a_valid, a_left, b_valid, b_left, use_b, from_acc;
  logic [31:0]     a_addr, root;
  logic [32*N-1:0] a_rdata, a_row, b_row, result;
  logic [15:0]     b_rows, nans, infs;
  logic            written;
  logic            a_bad, b_bad, a_row_bad, b_row_bad, fault_ecc;
  logic [7:0]      a_granule, b_granule, a_row_granule, b_row_granule, check_code;
  logic [31:0]     a_row_addr, b_row_addr;
  logic [63:0]     check_address, ecc_address;
  logic [15:0]     b_rest_q;                      // b_mode column: elements from this row of b on

  vpu_control u_control (
    .clk_i, .rst_ni, .cmd_valid_i, .cmd_ready_o, .cmd_i(vpu_cmd_t'(cmd_i)), .done_o, .fault_valid_o,
    .fault_ecc_o(fault_ecc), .active_o, .check_o(check), .slot_o(slot),
    .verdict_valid_i(verdict_valid), .legal_i(legal),
    .start_o(start), .run_o(run), .run_cmd_o(run_cmd),
    .operands_valid_i(a_valid & (b_valid | ~use_b)),
    .operands_bad_i(a_row_bad | (b_row_bad & use_b)), .execute_o(execute),
    .first_o(first), .inner_step_o(inner_step), .load_o(load), .emit_o(emit), .index_o(index),
    .finish_o(finish), .vw_req_o, .vw_addr_o, .vw_gnt_i
  );

  vpu_check u_check (
    .clk_i, .rst_ni, .check_i(check), .cmd_i(slot), .verdict_valid_o(verdict_valid),
    .legal_o(legal), .fault_code_o(check_code), .fault_address_o(check_address)
  );

  // A fault is of the slot's command, or of a row that the running one would use.
  always_comb begin
    ecc_address = 64'(b_row_addr) * 64'(WordBytes) + 64'(b_row_granule) * 64'd8;
    if (a_row_bad)
      ecc_address = from_acc ? {1'b1, 31'd0, a_row_addr}
                             : 64'(a_row_addr) * 64'(WordBytes) + 64'(a_row_granule) * 64'd8;
  end
  assign fault_tag_o = fault_ecc ? run_cmd.tag : slot.tag;
  assign fault_code_o = fault_ecc ? FaultEccUncorrectable : check_code;
  assign fault_address_o = fault_ecc ? ecc_address : check_address;

  // An access of one word leaves the flags of the second as they were.
  logic [N/2-1:0] va_poison, vb_poison;
  logic [1:0] lane_shift;
  localparam logic [N/2-1:0] FirstWord = {{N / 4{1'b0}}, {N / 4{1'b1}}};
  assign va_poison = va_pair_o ? va_poison_i : va_poison_i & FirstWord;
  assign vb_poison = vb_pair_o ? vb_poison_i : vb_poison_i & FirstWord;
  assign lane_shift = va_pair_o ? 2'd2 : run_cmd.src_dtype == VpuDtypeBf16 ? 2'd1 : 2'd0;

  function automatic logic two_words(input logic [7:0] dtype);
    return dtype == VpuDtypeF32 || dtype == VpuDtypeI32;
  endfunction

  // Operand a: rows of VMEM or ACC; iota has none, its requests are granted here.
  assign from_acc = run_cmd.src_space == VpuSpaceAcc;
  assign iota = run_cmd.op == VpuOpIota;
  assign va_req_o = a_req & ~from_acc & ~iota;
  assign va_addr_o = a_addr;
  assign va_pair_o = two_words(run_cmd.src_dtype);
  assign acc_req_o = a_req & from_acc;
  assign acc_row_o = a_addr[15:0];
  assign a_gnt = iota ? 1'b1 : from_acc ? acc_gnt_i : va_gnt_i;
  assign a_rvalid = iota ? iota_valid_q : from_acc ? acc_rvalid_i : va_rvalid_i;
  assign a_rdata = from_acc ? acc_rdata_i : va_rdata_i;

  vpu_poison u_poison_a (
    .acc_i(from_acc), .shift_i(lane_shift), .upper_i(run_cmd.op == VpuOpUpper),
    .lanes_i(run_cmd.cols), .vmem_poison_i(va_poison), .acc_poison_i, .bad_o(a_bad),
    .granule_o(a_granule)
  );
  vpu_operand u_operand_a (
    .clk_i, .rst_ni, .start_i(start), .rows_i(slot.rows), .addr_i(slot.a_addr),
    .stride_i(slot.a_stride), .window_i(slot.axis == VpuAxisRows ? slot.window : 16'd1),
    .inner_i(slot.b_stride), .keep_i(1'b0), .req_o(a_req), .addr_o(a_addr), .gnt_i(a_gnt),
    .rvalid_i(a_rvalid), .rdata_i(a_rdata), .bad_i(a_bad & ~iota), .bad_granule_i(a_granule),
    .valid_o(a_valid), .row_o(a_row), .bad_o(a_row_bad), .bad_addr_o(a_row_addr),
    .bad_granule_o(a_row_granule), .pop_i(execute),
    .left_o(a_left)
  );

  // Operand b: a row for each row of a, one row that stays, or an element for each row.
  always_comb begin
    b_rows = '0;
    if (slot.b_mode == VpuBModeTensor) b_rows = slot.rows;
    if (slot.b_mode == VpuBModeRow) b_rows = 16'd1;
    if (slot.b_mode == VpuBModeColumn) b_rows = 16'((32'(slot.rows) + N - 1) / N);
  end
  assign columns = run_cmd.b_mode == VpuBModeColumn;
  assign use_b = run_cmd.b_mode == VpuBModeTensor || run_cmd.b_mode == VpuBModeRow || columns;
  assign b_pop = execute & use_b & (~columns | (&b_lane_q));
  assign vb_pair_o = va_pair_o;

  vpu_poison u_poison_b (
    .acc_i(1'b0), .shift_i(lane_shift), .upper_i(1'b0),
    .lanes_i(columns ? b_rest_q : run_cmd.cols), .vmem_poison_i(vb_poison), .acc_poison_i('0),
    .bad_o(b_bad), .granule_o(b_granule)
  );
  vpu_operand u_operand_b (
    .clk_i, .rst_ni, .start_i(start), .rows_i(b_rows), .addr_i(slot.b_addr),
    .stride_i(slot.b_stride), .window_i(16'd1), .inner_i(32'd0),
    .keep_i(slot.b_mode == VpuBModeRow), .req_o(vb_req_o),
    .addr_o(vb_addr_o), .gnt_i(vb_gnt_i), .rvalid_i(vb_rvalid_i), .rdata_i(vb_rdata_i),
    .bad_i(b_bad), .bad_granule_i(b_granule), .valid_o(b_valid), .row_o(b_row), .bad_o(b_row_bad),
    .bad_addr_o(b_row_addr), .bad_granule_o(b_row_granule), .pop_i(b_pop), .left_o(b_left)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) iota_valid_q <= 1'b0;
    else iota_valid_q <= a_req & iota;
    if (start) b_rest_q <= slot.rows;
    else if (vb_rvalid_i) b_rest_q <= b_rest_q - 16'(N);
    if (start) begin
      b_lane_q <= '0;
      iota_q <= slot.scalar;
    end else if (execute) begin
      b_lane_q <= b_lane_q + 1'b1;
      iota_q <= iota_q + run_cmd.scalar2;
    end
  end

  vpu_lanes u_lanes (
    .clk_i, .cmd_i(run_cmd), .execute_i(execute), .first_i(first), .a_i(a_row), .b_i(b_row),
    .b_lane_i(32'(b_lane_q)), .iota_i(iota_q), .result_o(result), .finish_i(finish), .root_i(root),
    .function_i(function_row), .column_i(column_row), .out_o(vw_data_o), .nan_o(nans), .inf_o(infs)
  );

  assign is_function = run_cmd.op >= VpuOpExp2 && run_cmd.op <= VpuOpErf;
  vpu_functions u_functions (
    .clk_i, .step_i(inner_step & is_function), .op_i(run_cmd.op), .x_i(result), .y_o(function_row)
  );

  vpu_reduce u_reduce (
    .clk_i, .load_i(start & (slot.opcode == OpcodeReduce)), .cols_i(slot.cols),
    .step_i(inner_step & ~is_function), .i32_i(run_cmd.src_dtype == VpuDtypeI32),
    .largest_i(run_cmd.op == VpuOpRmax), .smallest_i(run_cmd.op == VpuOpRmin), .row_i(result),
    .root_o(root)
  );

  vpu_transpose u_transpose (
    .clk_i, .load_i(load), .emit_i(emit), .index_i(index), .row_i(result), .column_o(column_row)
  );
  assign vw_pair_o = two_words(run_cmd.dst_dtype);

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
