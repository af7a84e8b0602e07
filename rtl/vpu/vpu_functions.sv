`default_nettype none
// exp2, log2, rcp, rsqrt, tanh and erf on a row: six stages, one row a step.
//
// The trick: all six are one polynomial of degree 4 with coefficients from a table, so there is
// one chain of four fused multiply-adds a lane; each stage reads its own column of the table.
//
//   x ─► argument ─► fma c4 c3 ─► fma c2 ─► fma c1 ─► fma c0 ─► result ─► y_o
// Latency 6 steps, throughput one row a step. op_i holds while rows are inside.
module vpu_functions
  import weft_pkg::*;
  import chip_pkg::*;
(
  input  logic            clk_i,
  input  logic            step_i,
  input  logic [7:0]      op_i,
  input  logic [32*N-1:0] x_i,     // canonical f32
  output logic [32*N-1:0] y_o
);
  import vpu_lane_pkg::*;
  import vpu_function_pkg::*;
  import vpu_table_pkg::*;

  // Private to the process below, hence blocking assignment is no race. x, entry and t go along.
  // verilator lint_off BLKSEQ
  logic [31:0] x0[N], x1[N], x2[N], x3[N], x4[N];
  logic [31:0] e0[N], e1[N], e2[N], e3[N], e4[N];
  logic [31:0] t0[N], t1[N], t2[N], t3[N];
  logic [31:0] p1[N], p2[N], p3[N], p4[N];
  logic [31:0] y[N];
  argument_t   z[N];
  logic [32*N-1:0] y_d, y_q;

  task automatic result();
    unique case (op_i)
      VpuOpExp2:  for (int unsigned i = 0; i < N; i++) y[i] = exp2_result(x4[i], p4[i]);
      VpuOpLog2:  for (int unsigned i = 0; i < N; i++)
        y[i] = log2_result(x4[i], p4[i], Base[e4[i][8:0]]);
      VpuOpRcp:   for (int unsigned i = 0; i < N; i++) y[i] = rcp_result(x4[i], p4[i]);
      VpuOpRsqrt: for (int unsigned i = 0; i < N; i++) y[i] = rsqrt_result(x4[i], p4[i]);
      VpuOpTanh:  for (int unsigned i = 0; i < N; i++) y[i] = odd_result(x4[i], p4[i], TanhOne);
      default:    for (int unsigned i = 0; i < N; i++) y[i] = odd_result(x4[i], p4[i], ErfOne);
    endcase
    for (int unsigned i = 0; i < N; i++) y_d[32*i +: 32] = y[i];
  endtask

  // The last addend: c0, or t itself in the first entry of tanh and erf.
  function automatic logic [31:0] last_addend(input logic [31:0] entry, input logic [31:0] t);
    return (entry == FirstTanh) | (entry == FirstErf) ? t : C0[entry[8:0]];
  endfunction

  task automatic multiply_add();
    for (int unsigned i = 0; i < N; i++) p4[i] = f32_fma(p3[i], t3[i], last_addend(e3[i], t3[i]));
    for (int unsigned i = 0; i < N; i++) x4[i] = x3[i];
    for (int unsigned i = 0; i < N; i++) e4[i] = e3[i];
    for (int unsigned i = 0; i < N; i++) p3[i] = f32_fma(p2[i], t2[i], C1[e2[i][8:0]]);
    for (int unsigned i = 0; i < N; i++) x3[i] = x2[i];
    for (int unsigned i = 0; i < N; i++) e3[i] = e2[i];
    for (int unsigned i = 0; i < N; i++) t3[i] = t2[i];
    for (int unsigned i = 0; i < N; i++) p2[i] = f32_fma(p1[i], t1[i], C2[e1[i][8:0]]);
    for (int unsigned i = 0; i < N; i++) x2[i] = x1[i];
    for (int unsigned i = 0; i < N; i++) e2[i] = e1[i];
    for (int unsigned i = 0; i < N; i++) t2[i] = t1[i];
    for (int unsigned i = 0; i < N; i++)
      p1[i] = f32_fma(C4[e0[i][8:0]], t0[i], C3[e0[i][8:0]]);
    for (int unsigned i = 0; i < N; i++) x1[i] = x0[i];
    for (int unsigned i = 0; i < N; i++) e1[i] = e0[i];
    for (int unsigned i = 0; i < N; i++) t1[i] = t0[i];
  endtask

  task automatic argument();
    for (int unsigned i = 0; i < N; i++) x0[i] = x_i[32*i +: 32];
    unique case (op_i)
      VpuOpExp2:  for (int unsigned i = 0; i < N; i++) z[i] = exp2_argument(x0[i]);
      VpuOpLog2:  for (int unsigned i = 0; i < N; i++) z[i] = log2_argument(x0[i]);
      VpuOpRcp:   for (int unsigned i = 0; i < N; i++) z[i] = rcp_argument(x0[i]);
      VpuOpRsqrt: for (int unsigned i = 0; i < N; i++) z[i] = rsqrt_argument(x0[i]);
      VpuOpTanh:  for (int unsigned i = 0; i < N; i++)
        z[i] = odd_argument(x0[i], FirstTanh, TanhOne);
      default:    for (int unsigned i = 0; i < N; i++)
        z[i] = odd_argument(x0[i], FirstErf, ErfOne);
    endcase
    for (int unsigned i = 0; i < N; i++) e0[i] = z[i].entry;
    for (int unsigned i = 0; i < N; i++) t0[i] = z[i].t;
  endtask
  // verilator lint_on BLKSEQ

  always_ff @(posedge clk_i)
    if (step_i) begin
      result();
      y_q <= y_d;
      multiply_add();
      argument();
    end

  assign y_o = y_q;
endmodule
`default_nettype wire
