`default_nettype none
// One row of a group: N lanes, and between their two stages the tree of neighbours, the functions
// and the rotation.
//
//   a, b ─► lanes: execute ─► [result] ─┬─────────────────────► finish ─► out_o
//                                       ├─► reduce ──── root ──►┤
//                                       ├─► functions ─────────►┤
//                                       └─► rotate ────────────►┘
//
// Latency and throughput: vpu_lanes, vpu_reduce, vpu_functions. All sublanes have one command.
module vpu_sublane
  import weft_pkg::*;
  import chip_pkg::*;
(
  input  logic            clk_i,
  input  vpu_cmd_t        cmd_i,        // the one that executes
  // REDUCE along lanes starts: which lanes are there
  input  logic            load_i,
  input  logic [15:0]     cols_i,
  // execute
  input  logic            execute_i,
  input  logic            first_i,
  input  logic [32*N-1:0] a_i,
  input  logic [32*N-1:0] b_i,
  input  logic [31:0]     b_lane_i,
  input  logic [32*N-1:0] kept_i,
  input  logic [31:0]     iota_i,
  output logic [32*N-1:0] result_o,
  // between the stages
  input  logic            step_i,
  // finish
  input  logic            finish_i,
  input  logic [32*N-1:0] column_i,     // TRANSPOSE
  output logic [32*N-1:0] out_o,
  output logic [15:0]     nan_o,
  output logic [15:0]     inf_o
);
  logic            is_function, rotates;
  logic [31:0]     root;
  logic [32*N-1:0] function_row, rotated_row;

  assign is_function = cmd_i.op >= VpuOpExp2 && cmd_i.op <= VpuOpErf;
  assign rotates = cmd_i.opcode == OpcodeElementwise && cmd_i.op == VpuOpRotate;

  vpu_lanes u_lanes (
    .clk_i, .cmd_i, .execute_i, .first_i, .a_i, .b_i, .b_lane_i, .kept_i, .iota_i, .result_o,
    .finish_i, .root_i(root), .function_i(function_row), .rotated_i(rotated_row), .column_i, .out_o,
    .nan_o, .inf_o
  );

  vpu_functions u_functions (
    .clk_i, .step_i(step_i & is_function), .op_i(cmd_i.op), .x_i(result_o), .y_o(function_row)
  );

  vpu_rotate u_rotate (
    .enable_i(finish_i & rotates), .by_i(cmd_i.scalar[$clog2(N)-1:0]), .row_i(result_o),
    .row_o(rotated_row)
  );

  vpu_reduce u_reduce (
    .clk_i, .load_i, .cols_i, .step_i(step_i & ~is_function),
    .i32_i(cmd_i.src_dtype == VpuDtypeI32), .largest_i(cmd_i.op == VpuOpRmax),
    .smallest_i(cmd_i.op == VpuOpRmin), .row_i(result_o), .root_o(root)
  );
endmodule
`default_nettype wire
