`default_nettype none
// The lanes' data path in two stages: execute (unpack, operation) and finish (relu, cast, mask,
// pack). A choice between units is made once for the row, outside of the loops over lanes, so
// that only the unit in use is evaluated and each loop becomes vector instructions.
//
//   a ─► unpack ─┐                                         ┌─► NaN, infinity count
//                ├─► operation ─► [result] ─► relu ─► cast ┴─► lanes < cols ─► pack ─► [out]
//   b ─► unpack ─┘                  │  ▲ root, to all lanes
//                                   └──┴── vpu_reduce
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
  input  logic [32*N-1:0] a_i,
  input  logic [32*N-1:0] b_i,
  output logic [32*N-1:0] result_o,
  // stage 2
  input  logic            finish_i,
  input  logic [31:0]     root_i,       // REDUCE: the value of all lanes
  output logic [32*N-1:0] out_o,
  output logic [15:0]     nan_o,        // in out_o, lanes below cols; 0 for i32
  output logic [15:0]     inf_o
);
  import vpu_lane_pkg::*;

  typedef logic [32*N-1:0] row_t;

  row_t        result_q, out_q;
  logic [15:0] nan_q, inf_q;

  // What stage 1 computes: a float or an integer operation, or a itself.
  function automatic row_t execute();
    logic [31:0] x[N], y[N], z[N];
    logic [31:0] scalar, flip;
    logic        bf16, i32;
    logic [7:0]  op;
    row_t        d;
    bf16 = cmd_i.src_dtype == VpuDtypeBf16;
    i32 = cmd_i.src_dtype == VpuDtypeI32;
    op = VpuOpNone;
    if (cmd_i.opcode == OpcodeElementwise) op = cmd_i.op;
    if (cmd_i.opcode == OpcodeEpilogue && cmd_i.b_mode == VpuBModeRow) op = VpuOpAdd;
    scalar = bf16 ? {cmd_i.scalar[15:0], 16'd0} : cmd_i.scalar;
    flip = op == VpuOpSub ? SignMask : 32'd0;

    if (bf16) for (int unsigned i = 0; i < N; i++) x[i] = {a_i[16*i +: 16], 16'd0};
    else      for (int unsigned i = 0; i < N; i++) x[i] = a_i[32*i +: 32];
    if (cmd_i.b_mode == VpuBModeScalar)
      for (int unsigned i = 0; i < N; i++) y[i] = scalar;
    else if (op != VpuOpNone) begin
      if (bf16) for (int unsigned i = 0; i < N; i++) y[i] = {b_i[16*i +: 16], 16'd0};
      else      for (int unsigned i = 0; i < N; i++) y[i] = b_i[32*i +: 32];
    end

    if (i32) begin
      unique case (op)
        VpuOpAdd: for (int unsigned i = 0; i < N; i++) z[i] = x[i] + y[i];
        VpuOpSub: for (int unsigned i = 0; i < N; i++) z[i] = x[i] - y[i];
        VpuOpMul: for (int unsigned i = 0; i < N; i++) z[i] = x[i] * y[i];
        VpuOpMin: for (int unsigned i = 0; i < N; i++) z[i] = i32_min(x[i], y[i]);
        VpuOpMax: for (int unsigned i = 0; i < N; i++) z[i] = i32_max(x[i], y[i]);
        default:  for (int unsigned i = 0; i < N; i++) z[i] = x[i];
      endcase
    end else begin
      unique case (op)
        VpuOpAdd, VpuOpSub:
          for (int unsigned i = 0; i < N; i++) z[i] = f32_add(x[i], y[i] ^ flip);
        VpuOpMul: for (int unsigned i = 0; i < N; i++) z[i] = f32_mul(x[i], y[i]);
        VpuOpMin: for (int unsigned i = 0; i < N; i++) z[i] = f32_min(x[i], y[i]);
        VpuOpMax: for (int unsigned i = 0; i < N; i++) z[i] = f32_max(x[i], y[i]);
        default:  for (int unsigned i = 0; i < N; i++) z[i] = f32_canonical(x[i]);
      endcase
    end
    for (int unsigned i = 0; i < N; i++) d[32*i +: 32] = z[i];
    return d;
  endfunction

  // Stage 2. The counts come with it because they need the lanes' final values.
  task automatic finish(output row_t d, output logic [15:0] nans, output logic [15:0] infs);
    logic [31:0] x[N];
    logic [31:0] inf, count_nan, count_inf;
    if (cmd_i.opcode == OpcodeReduce) for (int unsigned i = 0; i < N; i++) x[i] = root_i;
    else for (int unsigned i = 0; i < N; i++) x[i] = result_q[32*i +: 32];
    if (cmd_i.activation == VpuActivationRelu)
      for (int unsigned i = 0; i < N; i++) x[i] = relu(x[i]);

    if (cmd_i.dst_dtype == VpuDtypeBf16)
      for (int unsigned i = 0; i < N; i++) x[i] = f32_to_bf16(x[i]);
    else if (cmd_i.src_dtype == VpuDtypeI32 && cmd_i.dst_dtype == VpuDtypeF32)
      for (int unsigned i = 0; i < N; i++) x[i] = i32_to_f32(x[i]);
    else if (cmd_i.src_dtype == VpuDtypeF32 && cmd_i.dst_dtype == VpuDtypeI32)
      for (int unsigned i = 0; i < N; i++) x[i] = f32_to_i32(x[i]);
    for (int unsigned i = 0; i < N; i++) x[i] = i < 32'(cmd_i.cols) ? x[i] : 32'd0;

    count_nan = '0;
    count_inf = '0;
    if (cmd_i.opcode == OpcodeEpilogue && cmd_i.dst_dtype != VpuDtypeI32) begin
      inf = cmd_i.dst_dtype == VpuDtypeBf16 ? Bf16Inf : Inf;
      for (int unsigned i = 0; i < N; i++) begin
        count_nan = count_nan + ((x[i] & (inf | (inf - 32'd1))) > inf ? 32'd1 : 32'd0);
        count_inf = count_inf + ((x[i] & (inf | (inf - 32'd1))) == inf ? 32'd1 : 32'd0);
      end
    end
    nans = count_nan[15:0];
    infs = count_inf[15:0];

    d = '0;
    if (cmd_i.dst_dtype == VpuDtypeBf16)
      for (int unsigned i = 0; i < N; i++) d[16*i +: 16] = x[i][15:0];
    else
      for (int unsigned i = 0; i < N; i++) d[32*i +: 32] = x[i];
  endtask

  row_t        out_d;
  logic [15:0] nan_d, inf_d;

  always_ff @(posedge clk_i) begin
    if (execute_i) result_q <= execute();
    if (finish_i) begin
      finish(out_d, nan_d, inf_d);
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
