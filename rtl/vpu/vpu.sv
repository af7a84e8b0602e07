`default_nettype none
// The vector unit: EPILOGUE, ELEMENTWISE, REDUCE, CAST, TRANSPOSE; rows of N lanes, one a cycle and
// sublane.
//
//   commands ─► control ──► check
//                 │ start, go
//   ACC ──┐   ┌───▼─────┐    ┌───── a sublane for each row ────┐
//   va ───┴──►│ operand a├───►│ lanes: execute ─►─► finish      ├──► vw
//    └───────►│ kept row │───►│            │                    │
//   vb ──────►│ operand b├───►│          └─ reduce, functions ─┘ │
//             └─────────┘    └──────────▲─┬────────────────────┘
//                                       └─┴─ transpose
// Latency: command taken to first request 3 cycles, grant of a group to its write requests 3 cycles
// (REDUCE: + log2 N, functions: + 6), last write granted to done_o 1 cycle. More: README.md.
module vpu
  import weft_pkg::*;
  import chip_pkg::*;
#(
  localparam int unsigned Sublanes = VpuSublanes,
  localparam int unsigned CountBits = $clog2(Sublanes + 1),
  localparam int unsigned RowBits = 2 * 8 * WordBytes,
  localparam int unsigned AddrBits = $clog2(VmemWords)
) (
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
  // VMEM, operand a: a port for each row of a group; pair holds for all
  output logic [Sublanes-1:0]              va_req_o,
  output port_pkg::rows_read_t             va_o,
  input  logic [Sublanes-1:0]              va_gnt_i,
  input  logic [Sublanes-1:0]              va_rvalid_i,
  input  port_pkg::rows_answer_t           va_i,
  // VMEM, operand b
  output logic [Sublanes-1:0]              vb_req_o,
  output port_pkg::rows_read_t             vb_o,
  input  logic [Sublanes-1:0]              vb_gnt_i,
  input  logic [Sublanes-1:0]              vb_rvalid_i,
  input  port_pkg::rows_answer_t           vb_i,
  // VMEM, result
  output logic [Sublanes-1:0]              vw_req_o,
  output port_pkg::rows_write_t            vw_o,
  input  logic [Sublanes-1:0]              vw_gnt_i,
  // ACC, data the cycle after the grant
  output logic [Sublanes-1:0]              acc_req_o,
  output logic [Sublanes-1:0][15:0]        acc_row_o,
  input  logic [Sublanes-1:0]              acc_gnt_i,
  input  logic [Sublanes-1:0]              acc_rvalid_i,
  input  port_pkg::acc_answer_t            acc_i,
  // counters: exactly one of busy, stalled, idle in a cycle; the others count in the write's cycle
  output logic                     cnt_busy_o,
  output logic                     cnt_stalled_o,
  output logic                     cnt_idle_o,
  output logic [CountBits-1:0]     cnt_rows_o,
  output logic [15:0]              nan_results_o,
  output logic [15:0]              inf_results_o
);
  typedef logic [Sublanes-1:0] mask_t;
  typedef logic [Sublanes-1:0][32*N-1:0] group_t;
  typedef logic [N/2-1:0] poison_t;

  if (RowBits != 32 * N) begin : gen_check_row
    $error("vpu: two VMEM words of %0d bytes are no row of %0d x 32 bits", WordBytes, N);
  end

  vpu_cmd_t        slot, run_cmd;
  logic            check, verdict_valid, legal, start, run;
  logic            execute, first, inner_step, load, emit, iota;
  logic            columns, b_pop, single, slot_single;
  mask_t           execute_rows, inner_rows, finish_rows;
  logic [15:0]     index;
  logic [$clog2(N)-1:0] b_lane_q;
  logic [31:0]     iota_q;
  mask_t           iota_valid_q;
  mask_t           a_req, a_gnt, a_rvalid, a_bad, b_bad, a_row_bad, b_row_bad, bad;
  logic            a_valid, a_left, b_valid, b_left, use_b, from_acc, fault_ecc;
  // Waived: vpu_check has checked their range; VMEM has no more bits of them.
  // verilator lint_off UNUSEDSIGNAL
  logic [Sublanes-1:0][31:0] a_addr, va_addr, b_addr, vw_addr;
  // verilator lint_on UNUSEDSIGNAL
  logic [Sublanes-1:0][31:0] a_row_addr, b_row_addr;
  logic [Sublanes-1:0][7:0]  a_granule, b_granule, a_row_granule, b_row_granule;
  group_t          a_rdata, a_rows, b_rows, results, column_rows;
  logic [15:0]     b_count, nans[Sublanes], infs[Sublanes];
  logic            bad_found, bad_earlier;
  logic            use_kept, kept_req, kept_valid, kept_left, kept_bad;
  logic [31:0]     kept_addr;
  logic [7:0]      kept_granule;
  logic [32*N-1:0] kept_row;
  logic [CountBits-1:0] bad_row;
  logic [7:0]      check_code;
  logic [63:0]     check_address, bad_address, bad_address_q;
  logic [15:0]     b_rest_q;                      // b_mode column: elements from this row of b on

  vpu_control u_control (
    .clk_i, .rst_ni, .cmd_valid_i, .cmd_ready_o, .cmd_i(vpu_cmd_t'(cmd_i)), .done_o, .fault_valid_o,
    .fault_ecc_o(fault_ecc), .active_o, .check_o(check), .slot_o(slot),
    .verdict_valid_i(verdict_valid), .legal_i(legal),
    .start_o(start), .run_o(run), .run_cmd_o(run_cmd),
    .operands_valid_i(a_valid & (b_valid | ~use_b) & (kept_valid | ~use_kept)),
    .operands_bad_i(bad),
    .bad_found_o(bad_found), .bad_row_o(bad_row), .bad_earlier_o(bad_earlier),
    .execute_o(execute), .execute_rows_o(execute_rows),
    .first_o(first), .inner_step_o(inner_step), .inner_rows_o(inner_rows), .load_o(load),
    .emit_o(emit), .index_o(index), .finish_rows_o(finish_rows), .vw_req_o, .vw_addr_o(vw_addr),
    .vw_gnt_i);

  vpu_check u_check (
    .clk_i, .rst_ni, .check_i(check), .cmd_i(slot), .verdict_valid_o(verdict_valid),
    .legal_o(legal), .fault_code_o(check_code), .fault_address_o(check_address)
  );

  // A fault is of the slot's command, or of the first row that the running one would use. b counts
  // beside the row of a that meets it first, the row that is kept behind it.
  always_comb begin
    bad = a_row_bad;
    if (use_b) bad = single ? bad | mask_t'(b_row_bad[0]) : bad | b_row_bad;
    if (use_kept & kept_bad) bad[0] = 1'b1;
    bad_address = '0;
    if (bad_found)
      for (int unsigned i = 0; i < Sublanes; i++)
        if (bad_row == CountBits'(i)) begin
          bad_address = 64'(kept_addr) * 64'(WordBytes) + 64'(kept_granule) * 64'd8;
          if (b_row_bad[i])
            bad_address = 64'(b_row_addr[i]) * 64'(WordBytes) + 64'(b_row_granule[i]) * 64'd8;
          if (a_row_bad[i])
            bad_address = from_acc
                ? {1'b1, 31'd0, a_row_addr[i]}
                : 64'(a_row_addr[i]) * 64'(WordBytes) + 64'(a_row_granule[i]) * 64'd8;
        end
  end
  always_ff @(posedge clk_i) if (execute && bad_found) bad_address_q <= bad_address;
  assign fault_tag_o = fault_ecc ? run_cmd.tag : slot.tag;
  assign fault_code_o = fault_ecc ? FaultEccUncorrectable : check_code;
  assign fault_address_o = !fault_ecc ? check_address : bad_earlier ? bad_address_q : bad_address;

  // An access of one word leaves the flags of the second as they were.
  logic [1:0] lane_shift;
  localparam poison_t FirstWord = {{N / 4{1'b0}}, {N / 4{1'b1}}};
  assign lane_shift = va_o.pair ? 2'd2 : run_cmd.src_dtype == VpuDtypeBf16 ? 2'd1 : 2'd0;

  function automatic logic two_words(input logic [7:0] dtype);
    return dtype == VpuDtypeF32 || dtype == VpuDtypeI32;
  endfunction

  // Operand a: rows of VMEM or ACC; iota has none, its requests are granted here.
  assign from_acc = run_cmd.src_space == VpuSpaceAcc;
  assign iota = run_cmd.op == VpuOpIota;
  assign va_req_o = from_acc ? mask_t'(kept_req) : iota ? '0 : a_req;
  assign va_o.pair = two_words(run_cmd.src_dtype);
  assign acc_req_o = from_acc ? a_req : '0;
  assign a_gnt = iota ? '1 : from_acc ? acc_gnt_i : va_gnt_i;
  assign a_rvalid = iota ? iota_valid_q : from_acc ? acc_rvalid_i : va_rvalid_i;

  vpu_operand u_operand_a (
    .clk_i, .rst_ni, .start_i(start), .rows_i(slot.rows), .single_i(1'b0), .addr_i(slot.a_addr),
    .stride_i(slot.a_stride), .window_i(slot.axis == VpuAxisRows ? slot.window : 16'd1),
    .inner_i(slot.b_stride), .keep_i(1'b0), .req_o(a_req), .addr_o(a_addr), .gnt_i(a_gnt),
    .rvalid_i(a_rvalid), .rdata_i(a_rdata), .bad_i(iota ? '0 : a_bad), .bad_granule_i(a_granule),
    .valid_o(a_valid), .rows_o(a_rows), .bad_o(a_row_bad), .bad_addr_o(a_row_addr),
    .bad_granule_o(a_row_granule), .use_i(execute), .pop_i(execute),
    .left_o(a_left)
  );

  // Operand b: a row for each row of a, one row that stays, or an element for each row.
  always_comb begin
    b_count = '0;
    if (slot.b_mode == VpuBModeTensor || slot.b_mode == VpuBModeResidual) b_count = slot.rows;
    if (slot.b_mode == VpuBModeRow || slot.b_mode == VpuBModeScaled) b_count = 16'd1;
    if (slot.b_mode == VpuBModeColumn) b_count = 16'((32'(slot.rows) + N - 1) / N);
  end
  assign slot_single = slot.b_mode != VpuBModeTensor && slot.b_mode != VpuBModeResidual;
  assign single = run_cmd.b_mode != VpuBModeTensor && run_cmd.b_mode != VpuBModeResidual;
  assign columns = run_cmd.b_mode == VpuBModeColumn;
  assign use_kept = run_cmd.b_mode == VpuBModeResidual || run_cmd.b_mode == VpuBModeScaled;
  assign use_b = run_cmd.b_mode == VpuBModeTensor || run_cmd.b_mode == VpuBModeRow || columns
               || use_kept;
  assign b_pop = execute & use_b & (~columns | (32'(b_lane_q) == N - Sublanes));
  assign vb_o.pair = va_o.pair;

  vpu_operand u_operand_b (
    .clk_i, .rst_ni, .start_i(start), .rows_i(b_count), .single_i(slot_single),
    .addr_i(slot.b_addr), .stride_i(slot.b_stride), .window_i(16'd1), .inner_i(32'd0),
    .keep_i(slot.b_mode == VpuBModeRow || slot.b_mode == VpuBModeScaled), .req_o(vb_req_o),
    .addr_o(b_addr), .gnt_i(vb_gnt_i), .rvalid_i(vb_rvalid_i), .rdata_i(vb_i.data),
    .bad_i(b_bad), .bad_granule_i(b_granule), .valid_o(b_valid), .rows_o(b_rows), .bad_o(b_row_bad),
    .bad_addr_o(b_row_addr), .bad_granule_o(b_row_granule), .use_i(execute),
    .pop_i(b_pop), .left_o(b_left)
  );

  // EPILOGUE: bias beside a residual, or scales, through the port of the operand that is in ACC.
  vpu_kept_row u_kept_row (
    .clk_i, .rst_ni, .start_i(start),
    .wanted_i(slot.b_mode == VpuBModeResidual || slot.b_mode == VpuBModeScaled),
    .addr_i(slot.scalar2), .lanes_i(run_cmd.cols), .req_o(kept_req), .addr_o(kept_addr),
    .gnt_i(va_gnt_i[0]), .rvalid_i(va_rvalid_i[0]), .rdata_i(va_i.data[0]),
    .poison_i(va_i.poison[0]), .valid_o(kept_valid), .row_o(kept_row), .bad_o(kept_bad),
    .granule_o(kept_granule), .left_o(kept_left)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) iota_valid_q <= '0;
    else iota_valid_q <= iota ? a_req : '0;
    if (start) b_rest_q <= slot.rows;
    else if (vb_rvalid_i[0]) b_rest_q <= b_rest_q - 16'(N);
    if (start) begin
      b_lane_q <= '0;
      iota_q <= slot.scalar;
    end else if (execute) begin
      b_lane_q <= b_lane_q + $bits(b_lane_q)'(Sublanes);
      iota_q <= iota_q + Sublanes * run_cmd.scalar2;
    end
  end

  // ---------------------------------------------------------------- a sublane for each row
  // Wide signals change only with what they carry: a simulator pays for each that does.
  always_comb begin
    a_rdata = group_t'(1'b0);
    if (a_rvalid != '0)
      for (int unsigned i = 0; i < Sublanes; i++)
        if (a_rvalid[i]) a_rdata[i] = from_acc ? acc_i.data[i] : va_i.data[i];
  end

  for (genvar i = 0; i < Sublanes; i++) begin : gen_sublane
    poison_t va_poison, vb_poison;
    logic [32*N-1:0] result, out;
    assign va_poison = va_o.pair ? va_i.poison[i] : va_i.poison[i] & FirstWord;
    assign vb_poison = vb_o.pair ? vb_i.poison[i] : vb_i.poison[i] & FirstWord;
    vpu_poison u_poison_a (
      .acc_i(from_acc), .shift_i(lane_shift), .upper_i(run_cmd.op == VpuOpUpper),
      .lanes_i(run_cmd.op == VpuOpRotate ? 16'(N) : run_cmd.cols),
      .vmem_poison_i(va_poison), .acc_poison_i(acc_i.poison[i]),
      .bad_o(a_bad[i]), .granule_o(a_granule[i])
    );
    vpu_poison u_poison_b (
      .acc_i(1'b0), .shift_i(lane_shift), .upper_i(1'b0),
      .lanes_i(columns ? b_rest_q : run_cmd.cols), .vmem_poison_i(vb_poison), .acc_poison_i('0),
      .bad_o(b_bad[i]), .granule_o(b_granule[i])
    );

    assign va_addr[i] = from_acc ? kept_addr : a_addr[i];
    assign va_o.addr[i] = va_addr[i][AddrBits-1:0];
    assign vb_o.addr[i] = b_addr[i][AddrBits-1:0];
    assign vw_o.addr[i] = vw_addr[i][AddrBits-1:0];
    assign acc_row_o[i] = a_addr[i][15:0];
    always_comb begin
      results[i] = '0;
      vw_o.data[i] = '0;
      if (load) results[i] = result;
      if (vw_req_o[i]) vw_o.data[i] = out;
    end
    AInside_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                va_req_o[i] |-> va_addr[i] < VmemWords);
    BInside_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                vb_req_o[i] |-> b_addr[i] < VmemWords);
    WInside_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                vw_req_o[i] |-> vw_addr[i] < VmemWords);
    vpu_sublane u_sublane (
      .clk_i, .cmd_i(run_cmd), .load_i(start & (slot.opcode == OpcodeReduce)), .cols_i(slot.cols),
      .execute_i(execute_rows[i]), .first_i(first), .a_i(a_rows[i]),
      .b_i(b_rows[i]), .b_lane_i(32'(b_lane_q) + i), .kept_i(kept_row),
      .iota_i(iota_q + i * run_cmd.scalar2), .result_o(result),
      .step_i(inner_step & inner_rows[i]), .finish_i(finish_rows[i]), .column_i(column_rows[i]),
      .out_o(out), .nan_o(nans[i]), .inf_o(infs[i])
    );
  end

  vpu_transpose u_transpose (
    .clk_i, .load_i(load), .emit_i(emit), .index_i(index), .rows_i(results),
    .columns_o(column_rows)
  );
  assign vw_o.pair = two_words(run_cmd.dst_dtype);
  assign vw_o.upper = run_cmd.opcode == OpcodeEpilogue && run_cmd.op == VpuOpUpper;

  // busy: a row of a is read. stalled: rows are left to read and none is, or a write is refused.
  assign cnt_busy_o = (a_req & a_gnt) != '0;
  assign cnt_stalled_o = run & ~cnt_busy_o
                       & (a_left | b_left | kept_left | ((vw_req_o & ~vw_gnt_i) != '0));
  assign cnt_idle_o = ~cnt_busy_o & ~cnt_stalled_o;
  always_comb begin
    cnt_rows_o = '0;
    nan_results_o = '0;
    inf_results_o = '0;
    for (int unsigned i = 0; i < Sublanes; i++)
      if (vw_req_o[i] && vw_gnt_i[i]) begin
        cnt_rows_o = cnt_rows_o + 1'b1;
        nan_results_o = nan_results_o + nans[i];
        inf_results_o = inf_results_o + infs[i];
      end
  end
endmodule
`default_nettype wire
