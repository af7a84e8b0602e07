`default_nettype none
// The data path of the lanes in two stages: execute (unpack, operation) and finish (activation,
// cast, mask, pack). A choice between units is made once for the row, outside of the loops over
// lanes, so that only the unit in use is evaluated and each loop becomes vector instructions.
//
//   a ─► unpack ─┐                                               ┌─► NaN, infinity count
//                ├─► operation ─► [result] ─► activation ─► cast ┴─► mask ─► pack ─► [out]
//   b ─► unpack ─┘                  │  ▲ inner row, or root to all lanes
//                                   └──┴── vpu_reduce, vpu_functions, vpu_rotate, vpu_transpose
//
// Latency one cycle a stage, throughput one row a cycle. cmd_i is the command that executes.
module vpu_lanes
  import weft_pkg::*;
  import chip_pkg::*;
(
  input  logic            clk_i,
  // addresses and the header are the control's business
  // verilator lint_off UNUSEDSIGNAL
  input  vpu_cmd_t        cmd_i,
  // verilator lint_on UNUSEDSIGNAL
  // stage 1
  input  logic            execute_i,
  input  logic            first_i,      // REDUCE along rows: the first row of a window
  input  logic [32*N-1:0] a_i,
  input  logic [32*N-1:0] b_i,
  input  logic [31:0]     b_lane_i,     // b_mode column: the element
  input  logic [32*N-1:0] kept_i,       // b_mode residual: bias, scaled: scales; for all rows
  input  logic [31:0]     iota_i,       // lane 0 of the row
  output logic [32*N-1:0] result_o,
  // stage 2
  input  logic            finish_i,
  input  logic [31:0]     root_i,       // REDUCE along lanes: the value of all lanes
  input  logic [32*N-1:0] function_i,   // exp2 to erf
  input  logic [32*N-1:0] rotated_i,    // rotate
  input  logic [32*N-1:0] column_i,     // TRANSPOSE
  output logic [32*N-1:0] out_o,
  output logic [15:0]     nan_o,        // in out_o, lanes below cols; 0 for integers
  output logic [15:0]     inf_o
);
  import vpu_lane_pkg::*;

  typedef logic [32*N-1:0] row_t;

  row_t        result_q, second_q, out_q;  // second: b where stage 2 needs it
  logic [15:0] nan_q, inf_q;

  // What the tasks below work on. It stands in the module because Verilator clears a function's own
  // arrays in every cycle. Private to the process at the end: blocking assignment is no race.
  // verilator lint_off BLKSEQ
  logic [31:0] x[N], y[N], z[N];          // stage 1; z keeps what a window's rows gave so far
  logic [31:0] v[N], bytes[N];            // stage 2
  row_t        result_d, second_d, out_d;
  logic [15:0] nan_d, inf_d;
  logic        packs;           // CAST to i8 of two rows
  logic        rotates;
  logic        residual;        // second is added to what stage 1 computed

  assign packs = cmd_i.opcode == OpcodeCast && cmd_i.b_mode == VpuBModeTensor;
  assign rotates = cmd_i.opcode == OpcodeElementwise && cmd_i.op == VpuOpRotate;
  assign residual = cmd_i.b_mode == VpuBModeResidual;

  // A scalar of the command as the lanes hold it.
  function automatic logic [31:0] widen(input logic [31:0] scalar);
    return cmd_i.src_dtype == VpuDtypeBf16 ? scalar << 16 : scalar;
  endfunction

  // What stage 1 computes: a float or an integer operation, or a itself.
  task automatic execute();
    logic [31:0] scalar, scalar2, flip, flag;
    logic        bf16, integers, windows;
    logic [7:0]  op;
    bf16 = cmd_i.src_dtype == VpuDtypeBf16;
    integers = cmd_i.src_dtype == VpuDtypeI32 || cmd_i.src_dtype == VpuDtypeI8;
    windows = cmd_i.axis == VpuAxisRows && !first_i;
    op = VpuOpNone;
    if (cmd_i.opcode == OpcodeElementwise) op = cmd_i.op;
    if (cmd_i.opcode == OpcodeEpilogue && cmd_i.b_mode != VpuBModeNone) op = VpuOpAdd;
    if (windows && cmd_i.op == VpuOpSum) op = VpuOpAdd;
    if (windows && cmd_i.op == VpuOpRmax) op = VpuOpMax;
    if (windows && cmd_i.op == VpuOpRmin) op = VpuOpMin;
    scalar2 = widen(cmd_i.scalar2);
    flip = op == VpuOpSub ? SignMask : 32'd0;
    flag = integers ? 32'd1 : One;

    if (bf16)
      for (int unsigned i = 0; i < N / 2; i++) begin
        x[2*i] = a_i[32*i +: 32] << 16;
        x[2*i+1] = a_i[32*i +: 32] & 32'hffff_0000;
      end
    else for (int unsigned i = 0; i < N; i++) x[i] = a_i[32*i +: 32];
    if (cmd_i.src_dtype == VpuDtypeI8) begin
      if (cmd_i.op == VpuOpUpper)
        for (int unsigned i = 0; i < N; i++) x[i] = 32'(signed'(a_i[8*(N+i) +: 8]));
      else
        for (int unsigned i = 0; i < N; i++) x[i] = 32'(signed'(a_i[8*i +: 8]));
    end
    if (cmd_i.b_mode == VpuBModeScalar || cmd_i.b_mode == VpuBModeColumn) begin
      scalar = widen(cmd_i.scalar);
      if (cmd_i.b_mode == VpuBModeColumn)
        scalar = bf16 ? {b_i[16*b_lane_i +: 16], 16'd0} : b_i[32*b_lane_i +: 32];
      for (int unsigned i = 0; i < N; i++) y[i] = scalar;
    end else if (windows) begin
      for (int unsigned i = 0; i < N; i++) y[i] = z[i];
    end else if (residual) begin
      for (int unsigned i = 0; i < N; i++) y[i] = kept_i[32*i +: 32];
    end else if (op != VpuOpNone) begin
      if (bf16)
        for (int unsigned i = 0; i < N / 2; i++) begin
          y[2*i] = b_i[32*i +: 32] << 16;
          y[2*i+1] = b_i[32*i +: 32] & 32'hffff_0000;
        end
      else for (int unsigned i = 0; i < N; i++) y[i] = b_i[32*i +: 32];
    end

    if (integers) begin
      unique case (op)
        VpuOpAdd: for (int unsigned i = 0; i < N; i++) z[i] = x[i] + y[i];
        VpuOpSub: for (int unsigned i = 0; i < N; i++) z[i] = x[i] - y[i];
        VpuOpMul: for (int unsigned i = 0; i < N; i++) z[i] = x[i] * y[i];
        VpuOpMin: for (int unsigned i = 0; i < N; i++) z[i] = i32_min(x[i], y[i]);
        VpuOpMax: for (int unsigned i = 0; i < N; i++) z[i] = i32_max(x[i], y[i]);
        VpuOpFma: for (int unsigned i = 0; i < N; i++) z[i] = x[i] * y[i] + scalar2;
        VpuOpAxpy: for (int unsigned i = 0; i < N; i++) z[i] = x[i] * scalar2 + y[i];
        VpuOpSelect: for (int unsigned i = 0; i < N; i++) z[i] = x[i] != 32'd0 ? y[i] : scalar2;
        VpuOpEq: for (int unsigned i = 0; i < N; i++) z[i] = x[i] == y[i] ? flag : 32'd0;
        VpuOpNe: for (int unsigned i = 0; i < N; i++) z[i] = x[i] == y[i] ? 32'd0 : flag;
        VpuOpLt: for (int unsigned i = 0; i < N; i++) z[i] = flag & i32_less(x[i], y[i]);
        VpuOpLe: for (int unsigned i = 0; i < N; i++) z[i] = flag & ~i32_less(y[i], x[i]);
        VpuOpGt: for (int unsigned i = 0; i < N; i++) z[i] = flag & i32_less(y[i], x[i]);
        VpuOpGe: for (int unsigned i = 0; i < N; i++) z[i] = flag & ~i32_less(x[i], y[i]);
        VpuOpIota: for (int unsigned i = 0; i < N; i++) z[i] = iota_i + i;
        VpuOpAnd: for (int unsigned i = 0; i < N; i++) z[i] = x[i] & y[i];
        VpuOpOr: for (int unsigned i = 0; i < N; i++) z[i] = x[i] | y[i];
        VpuOpXor: for (int unsigned i = 0; i < N; i++) z[i] = x[i] ^ y[i];
        VpuOpSll: for (int unsigned i = 0; i < N; i++) z[i] = shift_left(x[i], y[i]);
        VpuOpSrl: for (int unsigned i = 0; i < N; i++) z[i] = shift_right(x[i], y[i]);
        VpuOpSra: for (int unsigned i = 0; i < N; i++) z[i] = shift_right_signed(x[i], y[i]);
        VpuOpLtu: for (int unsigned i = 0; i < N; i++) z[i] = flag & u32_less(x[i], y[i]);
        VpuOpLeu: for (int unsigned i = 0; i < N; i++) z[i] = flag & ~u32_less(y[i], x[i]);
        VpuOpGtu: for (int unsigned i = 0; i < N; i++) z[i] = flag & u32_less(y[i], x[i]);
        VpuOpGeu: for (int unsigned i = 0; i < N; i++) z[i] = flag & ~u32_less(x[i], y[i]);
        default:  for (int unsigned i = 0; i < N; i++) z[i] = x[i];
      endcase
    end else begin
      unique case (op)
        VpuOpAdd, VpuOpSub:
          for (int unsigned i = 0; i < N; i++) z[i] = f32_add(x[i], y[i] ^ flip);
        VpuOpMul: for (int unsigned i = 0; i < N; i++) z[i] = f32_mul(x[i], y[i]);
        VpuOpMin: for (int unsigned i = 0; i < N; i++) z[i] = f32_min(x[i], y[i]);
        VpuOpMax: for (int unsigned i = 0; i < N; i++) z[i] = f32_max(x[i], y[i]);
        VpuOpFma: for (int unsigned i = 0; i < N; i++) z[i] = f32_fma(x[i], y[i], scalar2);
        VpuOpAxpy: for (int unsigned i = 0; i < N; i++) z[i] = f32_fma(x[i], scalar2, y[i]);
        VpuOpSelect: for (int unsigned i = 0; i < N; i++)
          z[i] = f32_canonical((x[i] & MagMask) < MinNormal ? scalar2 : y[i]);
        VpuOpEq: for (int unsigned i = 0; i < N; i++) z[i] = flag & f32_equal(x[i], y[i]);
        VpuOpNe: for (int unsigned i = 0; i < N; i++) z[i] = flag & ~f32_equal(x[i], y[i]);
        VpuOpLt: for (int unsigned i = 0; i < N; i++) z[i] = flag & f32_less(x[i], y[i]);
        VpuOpLe: for (int unsigned i = 0; i < N; i++)
          z[i] = flag & (f32_less(x[i], y[i]) | f32_equal(x[i], y[i]));
        VpuOpGt: for (int unsigned i = 0; i < N; i++) z[i] = flag & f32_less(y[i], x[i]);
        VpuOpGe: for (int unsigned i = 0; i < N; i++)
          z[i] = flag & (f32_less(y[i], x[i]) | f32_equal(x[i], y[i]));
        default:  for (int unsigned i = 0; i < N; i++) z[i] = f32_canonical(x[i]);
      endcase
    end
    for (int unsigned i = 0; i < N; i++) result_d[32*i +: 32] = z[i];
  endtask

  // Behind execute(): b as stage 2 takes it: lanes of a rotation, bytes of a CAST, a residual.
  task automatic keep_second();
    second_d = b_i;
    if (rotates) begin
      if (cmd_i.b_mode == VpuBModeNone)
        second_d = '0;
      else if (cmd_i.src_dtype == VpuDtypeI32)
        for (int unsigned i = 0; i < N; i++) second_d[32*i +: 32] = y[i];
      else
        for (int unsigned i = 0; i < N; i++) second_d[32*i +: 32] = f32_canonical(y[i]);
    end
  endtask

  // Makes v the row that stage 2 takes, after the activation.
  task automatic activate();
    logic [31:0] first, second, begin_lane, lanes;
    first = widen(cmd_i.scalar);
    second = widen(cmd_i.scalar2);
    begin_lane = 32'(cmd_i.scalar2[15:0]);
    lanes = 32'(cmd_i.scalar2[31:16]) - begin_lane;
    if (cmd_i.opcode == OpcodeReduce && cmd_i.axis == VpuAxisLanes)
      for (int unsigned i = 0; i < N; i++) v[i] = root_i;
    else if (cmd_i.opcode == OpcodeTranspose)
      for (int unsigned i = 0; i < N; i++) v[i] = column_i[32*i +: 32];
    else if (cmd_i.op >= VpuOpExp2 && cmd_i.op <= VpuOpErf)
      for (int unsigned i = 0; i < N; i++) v[i] = function_i[32*i +: 32];
    else if (rotates)
      for (int unsigned i = 0; i < N; i++)
        v[i] = i - begin_lane < lanes ? rotated_i[32*i +: 32] : second_q[32*i +: 32];
    else for (int unsigned i = 0; i < N; i++) v[i] = result_q[32*i +: 32];
    if (residual) begin
      if (cmd_i.src_dtype == VpuDtypeI32)
        for (int unsigned i = 0; i < N; i++) v[i] = v[i] + second_q[32*i +: 32];
      else
        for (int unsigned i = 0; i < N; i++) v[i] = f32_add(v[i], second_q[32*i +: 32]);
    end
    if (cmd_i.activation == VpuActivationRelu)
      for (int unsigned i = 0; i < N; i++) v[i] = relu(v[i]);
    if (cmd_i.activation == VpuActivationLeaky)
      for (int unsigned i = 0; i < N; i++) v[i] = leaky(v[i], second);
    if (cmd_i.activation == VpuActivationClamp) begin
      if (cmd_i.src_dtype == VpuDtypeI32)
        for (int unsigned i = 0; i < N; i++) v[i] = i32_min(i32_max(v[i], first), second);
      else
        for (int unsigned i = 0; i < N; i++) v[i] = f32_min(f32_max(v[i], first), second);
    end
  endtask

  // Requantises `bytes`: a byte a lane.
  task automatic requantise();
    if (cmd_i.src_dtype == VpuDtypeI32)
      for (int unsigned i = 0; i < N; i++) bytes[i] = i32_to_f32(bytes[i]);
    if (cmd_i.b_mode == VpuBModeScaled)
      for (int unsigned i = 0; i < N; i++) bytes[i] = f32_mul(bytes[i], kept_i[32*i +: 32]);
    else
      for (int unsigned i = 0; i < N; i++) bytes[i] = f32_mul(bytes[i], cmd_i.scalar2);
    for (int unsigned i = 0; i < N; i++) bytes[i] = f32_to_i8(bytes[i], cmd_i.scalar);
    for (int unsigned i = 0; i < N; i++) bytes[i] = i < 32'(cmd_i.cols) ? bytes[i] : 32'd0;
  endtask

  // One word: this row's bytes, then the second row's or zeros; EPILOGUE, op upper: this row's in
  // the upper half.
  task automatic pack_bytes();
    out_d = '0;
    for (int unsigned i = 0; i < N; i++) bytes[i] = v[i];
    requantise();
    if (cmd_i.op == VpuOpUpper)
      for (int unsigned i = 0; i < N; i++) out_d[8*(N+i) +: 8] = bytes[i][7:0];
    else
      for (int unsigned i = 0; i < N; i++) out_d[8*i +: 8] = bytes[i][7:0];
    if (packs) begin
      for (int unsigned i = 0; i < N; i++) bytes[i] = second_q[32*i +: 32];
      requantise();
      for (int unsigned i = 0; i < N; i++) out_d[8*(N+i) +: 8] = bytes[i][7:0];
    end
  endtask

  // Stage 2. The counts come with it because they need the lanes' final values.
  task automatic finish();
    logic [31:0] inf, count_nan, count_inf, lanes;
    logic        from_integers;
    from_integers = cmd_i.src_dtype == VpuDtypeI32 || cmd_i.src_dtype == VpuDtypeI8;
    lanes = cmd_i.opcode == OpcodeTranspose ? 32'(cmd_i.rows) : 32'(cmd_i.cols);
    activate();

    if (cmd_i.dst_dtype == VpuDtypeBf16)
      for (int unsigned i = 0; i < N; i++) v[i] = f32_to_bf16(v[i]);
    else if (from_integers && cmd_i.dst_dtype == VpuDtypeF32)
      for (int unsigned i = 0; i < N; i++) v[i] = i32_to_f32(v[i]);
    else if (cmd_i.src_dtype == VpuDtypeF32 && cmd_i.dst_dtype == VpuDtypeI32)
      for (int unsigned i = 0; i < N; i++) v[i] = f32_to_i32(v[i]);
    for (int unsigned i = 0; i < N; i++) v[i] = i < lanes ? v[i] : 32'd0;

    count_nan = '0;
    count_inf = '0;
    if (cmd_i.opcode == OpcodeEpilogue && !from_integers) begin
      inf = cmd_i.dst_dtype == VpuDtypeBf16 ? Bf16Inf : Inf;
      for (int unsigned i = 0; i < N; i++) begin
        count_nan = count_nan + ((v[i] & (inf | (inf - 32'd1))) > inf ? 32'd1 : 32'd0);
        count_inf = count_inf + ((v[i] & (inf | (inf - 32'd1))) == inf ? 32'd1 : 32'd0);
      end
    end
    nan_d = count_nan[15:0];
    inf_d = count_inf[15:0];

    if (cmd_i.dst_dtype == VpuDtypeI8)
      pack_bytes();
    else if (cmd_i.dst_dtype == VpuDtypeBf16) begin
      out_d = '0;
      for (int unsigned i = 0; i < N / 2; i++) out_d[32*i +: 32] = v[2*i] | (v[2*i+1] << 16);
    end else
      for (int unsigned i = 0; i < N; i++) out_d[32*i +: 32] = v[i];
  endtask
  // verilator lint_on BLKSEQ

  always_ff @(posedge clk_i) begin
    if (execute_i) begin
      execute();
      result_q <= result_d;
      if (packs | rotates | residual) begin
        keep_second();
        second_q <= second_d;
      end
    end
    if (finish_i) begin
      finish();
      out_q <= out_d;
      nan_q <= nan_d;
      inf_q <= inf_d;
    end
  end

  assign result_o = result_q;
  assign out_o = out_q;
  assign nan_o = nan_q;
  assign inf_o = inf_q;
endmodule
`default_nettype wire
