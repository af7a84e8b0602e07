`default_nettype none
// Decides whether a VPU command is legal: fields, alignment, ACC range, VMEM range, in the order
// and with the addresses of docs/command_checks.md, section 4. The first check that fails is the
// one reported, and within a step the field with the lowest offset.
//
// Latency: verdict_valid_o and the verdict follow check_i by one cycle and hold until the next.
// cmd_i must be stable in the cycle of check_i.
module vpu_check
  import weft_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        check_i,
  // semaphores, flags and reserved bits were checked before
  // verilator lint_off UNUSEDSIGNAL
  input  vpu_cmd_t    cmd_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic        verdict_valid_o,  // one cycle
  output logic        legal_o,
  output logic [7:0]  fault_code_o,
  output logic [63:0] fault_address_o
);
  import chip_pkg::*;

  typedef struct packed {
    logic [7:0]  code;  // FaultNone: legal
    logic [63:0] address;
  } verdict_t;

  localparam logic [63:0] VmemBytes = 64'(VmemWords) * 64'(WordBytes);

  // A set of fields: those that offend are all ones, so the lowest byte set is the fault's address.
  typedef vpu_cmd_t fields_t;

  function automatic fields_t illegal_fields();
    logic elementwise, reduce, epilogue, cast_op, op_ok, src_ok, dst_ok, mode_ok;
    logic f32, bf16, i32, same;
    fields_t bad;
    elementwise = cmd_i.opcode == OpcodeElementwise;
    reduce = cmd_i.opcode == OpcodeReduce;
    epilogue = cmd_i.opcode == OpcodeEpilogue;
    cast_op = cmd_i.opcode == OpcodeCast;
    f32 = cmd_i.src_dtype == VpuDtypeF32;
    bf16 = cmd_i.src_dtype == VpuDtypeBf16;
    i32 = cmd_i.src_dtype == VpuDtypeI32;
    same = cmd_i.dst_dtype == cmd_i.src_dtype;

    op_ok = cmd_i.op == VpuOpNone;
    src_ok = f32 | i32;
    dst_ok = same;
    mode_ok = cmd_i.b_mode == VpuBModeNone;
    if (elementwise) begin
      op_ok = cmd_i.op >= VpuOpAdd && cmd_i.op <= VpuOpMax;
      src_ok = f32 | bf16 | i32;
      mode_ok = cmd_i.b_mode >= VpuBModeTensor && cmd_i.b_mode <= VpuBModeScalar;
    end
    if (reduce) op_ok = cmd_i.op == VpuOpSum || cmd_i.op == VpuOpRmax;
    if (epilogue) begin
      dst_ok = same | (f32 & (cmd_i.dst_dtype == VpuDtypeBf16));
      mode_ok = cmd_i.b_mode == VpuBModeNone || cmd_i.b_mode == VpuBModeRow;
    end
    if (cast_op) begin
      src_ok = f32 | bf16 | i32;
      dst_ok = f32 ? cmd_i.dst_dtype == VpuDtypeBf16 || cmd_i.dst_dtype == VpuDtypeI32
                   : cmd_i.dst_dtype == VpuDtypeF32;
    end

    bad = '0;
    if (~op_ok) bad.op = '1;
    if (cmd_i.src_space != (epilogue ? VpuSpaceAcc : VpuSpaceVmem)) bad.src_space = '1;
    if (~src_ok) bad.src_dtype = '1;
    if (~dst_ok) bad.dst_dtype = '1;
    if (cmd_i.rows == 0) bad.rows = '1;
    if (cmd_i.cols == 0 || 32'(cmd_i.cols) > N) bad.cols = '1;
    if (cmd_i.b_addr != 0
        && (cmd_i.b_mode == VpuBModeNone || cmd_i.b_mode == VpuBModeScalar)) bad.b_addr = '1;
    if (cmd_i.b_stride != 0 && cmd_i.b_mode != VpuBModeTensor) bad.b_stride = '1;
    if (cmd_i.scalar != 0 && cmd_i.b_mode != VpuBModeScalar) bad.scalar = '1;
    if (~mode_ok) bad.b_mode = '1;
    if (cmd_i.activation != VpuActivationNone
        && !(epilogue && cmd_i.activation == VpuActivationRelu)) bad.activation = '1;
    return bad;
  endfunction

  function automatic fields_t misaligned_fields();
    logic src_pair, dst_pair, a_pair;
    fields_t bad;
    src_pair = cmd_i.src_dtype != VpuDtypeBf16;
    dst_pair = cmd_i.dst_dtype != VpuDtypeBf16;
    a_pair = src_pair & (cmd_i.src_space == VpuSpaceVmem);
    bad = '0;
    if (a_pair & cmd_i.a_addr[0]) bad.a_addr = '1;
    if (a_pair & cmd_i.a_stride[0]) bad.a_stride = '1;
    if (src_pair & cmd_i.b_addr[0]) bad.b_addr = '1;
    if (src_pair & cmd_i.b_stride[0]) bad.b_stride = '1;
    if (dst_pair & cmd_i.d_addr[0]) bad.d_addr = '1;
    if (dst_pair & cmd_i.d_stride[0]) bad.d_stride = '1;
    return bad;
  endfunction

  function automatic logic [63:0] lowest_byte(input logic [CmdBits-1:0] fields);
    lowest_byte = '0;
    for (int unsigned i = CmdBits / 8; i > 0; i--)
      if (fields[8*(i-1) +: 8] != 0) lowest_byte = 64'(i) - 64'd1;
  endfunction

  // The last row's address; 48 bits hold it without wrapping.
  function automatic logic [63:0] last_row(input logic [31:0] addr, input logic [31:0] stride,
                                           input logic [15:0] rows);
    return 64'(addr) + (64'(rows) - 64'd1) * 64'(stride);
  endfunction

  function automatic verdict_t check();
    fields_t illegal, misaligned;
    logic [63:0] a_last, b_last, d_last, acc_rows;
    logic acc, src_pair, dst_pair, a_pair, outside;
    illegal = illegal_fields();
    misaligned = misaligned_fields();
    acc = cmd_i.src_space == VpuSpaceAcc;
    src_pair = cmd_i.src_dtype != VpuDtypeBf16;
    dst_pair = cmd_i.dst_dtype != VpuDtypeBf16;
    a_pair = src_pair & ~acc;
    acc_rows = 64'(2 * AccBankRows);
    a_last = last_row(cmd_i.a_addr, cmd_i.a_stride, cmd_i.rows) + 64'(a_pair);
    // with b_mode row, b_stride is 0
    b_last = last_row(cmd_i.b_addr, cmd_i.b_stride, cmd_i.rows) + 64'(src_pair);
    d_last = last_row(cmd_i.d_addr, cmd_i.d_stride, cmd_i.rows) + 64'(dst_pair);
    outside = (~acc & (a_last >= 64'(VmemWords))) | (d_last >= 64'(VmemWords))
            | ((cmd_i.b_mode == VpuBModeTensor || cmd_i.b_mode == VpuBModeRow)
               & (b_last >= 64'(VmemWords)));

    check = '{code: FaultNone, address: '0};
    if (!opcode_legal(cmd_i.opcode, QueueVpu))
      check = '{code: FaultIllegalOpcode, address: 64'(cmd_i.opcode)};
    else if (illegal != 0)
      check = '{code: FaultIllegalField, address: lowest_byte(illegal)};
    else if (misaligned != 0)
      check = '{code: FaultAlignment, address: lowest_byte(misaligned)};
    else if (acc && a_last >= acc_rows)
      check = '{code: FaultAccRange, address: 64'(cmd_i.a_addr)};
    else if (outside)
      check = '{code: FaultRange, address: VmemBytes};
  endfunction

  verdict_t verdict_q;
  logic     valid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= check_i;
    if (check_i) verdict_q <= check();
  end

  assign verdict_valid_o = valid_q;
  assign legal_o = verdict_q.code == FaultNone;
  assign fault_code_o = verdict_q.code;
  assign fault_address_o = verdict_q.address;
endmodule
`default_nettype wire
