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

  function automatic logic two_words(input logic [7:0] dtype);
    return dtype == VpuDtypeF32 || dtype == VpuDtypeI32;
  endfunction

  // scalar2 is the VMEM word of a row.
  function automatic logic keeps_row();
    return cmd_i.b_mode == VpuBModeResidual || cmd_i.b_mode == VpuBModeScaled;
  endfunction

  function automatic fields_t illegal_fields();
    logic elementwise, reduce, transpose, epilogue, cast_op;
    logic unary, binary, bits, func, iota, rotate, op_ok, src_ok, dst_ok, mode_ok, act_ok;
    logic f32, bf16, i32, i8, same, to_i8, windows, leaky, clamp, uses_scalar2;
    logic residual, upper, zero_point;
    fields_t bad;
    elementwise = cmd_i.opcode == OpcodeElementwise;
    reduce = cmd_i.opcode == OpcodeReduce;
    transpose = cmd_i.opcode == OpcodeTranspose;
    epilogue = cmd_i.opcode == OpcodeEpilogue;
    cast_op = cmd_i.opcode == OpcodeCast;
    unary = cmd_i.op == VpuOpNone;
    bits = cmd_i.op >= VpuOpAnd && cmd_i.op <= VpuOpGeu;
    binary = (cmd_i.op >= VpuOpAdd && cmd_i.op <= VpuOpMax)
           | (cmd_i.op >= VpuOpFma && cmd_i.op <= VpuOpGe) | bits;
    func = cmd_i.op >= VpuOpExp2 && cmd_i.op <= VpuOpErf;
    iota = cmd_i.op == VpuOpIota;
    rotate = elementwise & (cmd_i.op == VpuOpRotate);
    upper = cmd_i.op == VpuOpUpper;
    f32 = cmd_i.src_dtype == VpuDtypeF32;
    bf16 = cmd_i.src_dtype == VpuDtypeBf16;
    i32 = cmd_i.src_dtype == VpuDtypeI32;
    i8 = cmd_i.src_dtype == VpuDtypeI8;
    same = cmd_i.dst_dtype == cmd_i.src_dtype;
    to_i8 = cmd_i.dst_dtype == VpuDtypeI8;
    windows = cmd_i.axis == VpuAxisRows;
    leaky = cmd_i.activation == VpuActivationLeaky;
    clamp = cmd_i.activation == VpuActivationClamp;
    residual = cmd_i.b_mode == VpuBModeResidual;
    zero_point = (epilogue | cast_op) & to_i8;
    uses_scalar2 = (cmd_i.op >= VpuOpFma && cmd_i.op <= VpuOpSelect) | iota | rotate | leaky | clamp
                 | to_i8 | keeps_row();

    op_ok = unary;
    src_ok = f32 | bf16 | i32;
    dst_ok = same;
    mode_ok = cmd_i.b_mode == VpuBModeNone;
    act_ok = cmd_i.activation == VpuActivationNone;
    if (elementwise) begin
      op_ok = unary | binary | func | iota | rotate;
      dst_ok = same | (f32 & (cmd_i.dst_dtype == VpuDtypeBf16));
      if (func) src_ok = f32 | bf16;
      if (iota | bits) src_ok = i32;
      if (binary) mode_ok = cmd_i.b_mode >= VpuBModeTensor && cmd_i.b_mode <= VpuBModeColumn;
      if (rotate) mode_ok = cmd_i.b_mode <= VpuBModeRow;
      if (unary) act_ok = cmd_i.activation <= VpuActivationClamp && !(leaky && i32);
    end
    if (reduce) op_ok = cmd_i.op >= VpuOpSum && cmd_i.op <= VpuOpRmin;
    if (epilogue) begin
      op_ok = unary | upper;
      src_ok = (f32 & unary) | i32;
      dst_ok = ((same | (f32 & (cmd_i.dst_dtype == VpuDtypeBf16))) & unary) | (i32 & to_i8);
      mode_ok = cmd_i.b_mode <= VpuBModeScaled && cmd_i.b_mode != VpuBModeScalar
             && !(to_i8 ? residual : cmd_i.b_mode == VpuBModeScaled);
      act_ok = cmd_i.activation <= VpuActivationClamp && !(leaky && i32)
            && !((to_i8 || residual) && (leaky || clamp));
    end
    if (cast_op) begin
      op_ok = unary | upper;
      src_ok = i8 | (unary & (f32 | bf16 | i32));
      dst_ok = cmd_i.dst_dtype == VpuDtypeF32;
      if (f32) dst_ok = cmd_i.dst_dtype == VpuDtypeBf16 || cmd_i.dst_dtype == VpuDtypeI32 || to_i8;
      if (i32) dst_ok = cmd_i.dst_dtype == VpuDtypeF32 || to_i8;
      if (i8) dst_ok = cmd_i.dst_dtype == VpuDtypeF32 || cmd_i.dst_dtype == VpuDtypeI32;
      mode_ok = cmd_i.b_mode == VpuBModeNone || (to_i8 && cmd_i.b_mode == VpuBModeTensor);
    end

    bad = '0;
    if (~op_ok) bad.op = '1;
    if (cmd_i.src_space != (epilogue ? VpuSpaceAcc : VpuSpaceVmem)) bad.src_space = '1;
    if (~src_ok) bad.src_dtype = '1;
    if (~dst_ok) bad.dst_dtype = '1;
    if (cmd_i.rows == 0 || (transpose && 32'(cmd_i.rows) > N)) bad.rows = '1;
    if (cmd_i.cols == 0 || 32'(cmd_i.cols) > N) bad.cols = '1;
    if (iota && cmd_i.a_addr != 0) bad.a_addr = '1;
    if (iota && cmd_i.a_stride != 0) bad.a_stride = '1;
    if (cmd_i.b_addr != 0
        && (cmd_i.b_mode == VpuBModeNone || cmd_i.b_mode == VpuBModeScalar)) bad.b_addr = '1;
    if (cmd_i.b_stride != 0 && cmd_i.b_mode != VpuBModeTensor && cmd_i.b_mode != VpuBModeColumn
        && !residual && !windows) bad.b_stride = '1;
    if (rotate ? cmd_i.scalar >= N
        : zero_point ? cmd_i.scalar + 32'd128 > 32'd255
        : cmd_i.scalar != 0 && cmd_i.b_mode != VpuBModeScalar && !clamp && !iota)
      bad.scalar = '1;
    if (~mode_ok) bad.b_mode = '1;
    if (~act_ok) bad.activation = '1;
    if (cmd_i.axis != VpuAxisLanes && !(reduce && windows)) bad.axis = '1;
    if (cmd_i.scalar2 != 0 && !uses_scalar2) bad.scalar2 = '1;
    if (rotate && (cmd_i.scalar2[15:0] >= cmd_i.scalar2[31:16]
                   || 32'(cmd_i.scalar2[31:16]) > N)) bad.scalar2 = '1;
    if ((cmd_i.window != 0) != windows) bad.window = '1;
    return bad;
  endfunction

  function automatic fields_t misaligned_fields();
    logic src_pair, dst_pair, a_pair;
    fields_t bad;
    src_pair = two_words(cmd_i.src_dtype);
    dst_pair = two_words(cmd_i.dst_dtype);
    a_pair = src_pair & (cmd_i.src_space == VpuSpaceVmem);
    bad = '0;
    if (a_pair & cmd_i.a_addr[0]) bad.a_addr = '1;
    if (a_pair & cmd_i.a_stride[0]) bad.a_stride = '1;
    if (src_pair & cmd_i.b_addr[0]) bad.b_addr = '1;
    if (src_pair & cmd_i.b_stride[0]) bad.b_stride = '1;
    if (dst_pair & cmd_i.d_addr[0]) bad.d_addr = '1;
    if (dst_pair & cmd_i.d_stride[0]) bad.d_stride = '1;
    if (keeps_row() & cmd_i.scalar2[0]) bad.scalar2 = '1;
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
    logic [15:0] b_rows, d_rows;
    logic acc, a_pair, windows, outside;
    illegal = illegal_fields();
    misaligned = misaligned_fields();
    acc = cmd_i.src_space == VpuSpaceAcc;
    a_pair = two_words(cmd_i.src_dtype) & ~acc;
    windows = cmd_i.axis == VpuAxisRows;
    acc_rows = 64'(2 * AccBankRows * NumMxu);
    b_rows = 16'd1;  // row
    if (cmd_i.b_mode == VpuBModeTensor || cmd_i.b_mode == VpuBModeResidual) b_rows = cmd_i.rows;
    if (cmd_i.b_mode == VpuBModeColumn) b_rows = 16'((32'(cmd_i.rows) + N - 1) / N);
    d_rows = cmd_i.opcode == OpcodeTranspose ? cmd_i.cols : cmd_i.rows;
    a_last = last_row(cmd_i.a_addr, cmd_i.a_stride, cmd_i.rows)
           + 64'(a_pair);
    if (windows) a_last = a_last + last_row('0, cmd_i.b_stride, cmd_i.window);
    b_last = last_row(cmd_i.b_addr, cmd_i.b_stride, b_rows) + 64'(two_words(cmd_i.src_dtype));
    d_last = last_row(cmd_i.d_addr, cmd_i.d_stride, d_rows) + 64'(two_words(cmd_i.dst_dtype));
    outside = (~acc & (a_last >= 64'(VmemWords))) | (d_last >= 64'(VmemWords))
            | (cmd_i.b_mode != VpuBModeNone && cmd_i.b_mode != VpuBModeScalar
               && b_last >= 64'(VmemWords))
            | (keeps_row() && cmd_i.scalar2 >= VmemWords);  // even, as VmemWords is

    check = '{code: FaultNone, address: '0};
    if (!opcode_legal(cmd_i.opcode, QueueVpu, 1'b0))
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
