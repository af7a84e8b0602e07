`default_nettype none
// The VPU's commands: takes them, has them checked, starts them, follows their rows through the
// pipeline to the last write, and retires them in order.
//
// Two commands are held: one executes, the next stands checked in the slot and starts in the cycle
// after the last write, so it reads what the one before wrote. A refused command faults when the
// one before has retired; then nothing is taken until reset.
//
// Latency: command taken to start_o 2 cycles; last write granted to done_o 1 cycle.
module vpu_control
  import weft_pkg::*;
#(
  parameter int unsigned FunctionStages = 6
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  // unit contract
  input  logic         cmd_valid_i,
  output logic         cmd_ready_o,
  input  vpu_cmd_t     cmd_i,
  output logic         done_o,
  output logic         fault_valid_o,
  output logic         fault_ecc_o,     // of the running command, not the slot's
  output logic         active_o,
  // check of the command in the slot
  output logic         check_o,
  output vpu_cmd_t     slot_o,
  input  logic         verdict_valid_i,
  input  logic         legal_i,
  // the slot's command starts: operands and lanes load it
  output logic         start_o,
  output logic         run_o,           // a command executes
  output vpu_cmd_t     run_cmd_o,
  // a row moves through the pipeline
  input  logic         operands_valid_i,
  input  logic         operands_bad_i,  // with valid: ECC could not correct a lane that counts
  output logic         execute_o,       // takes the operands' heads
  output logic         first_o,         // REDUCE along rows: the first row of a window
  output logic         inner_step_o,    // the tree or the functions move
  output logic         load_o,          // TRANSPOSE: a row goes in, or
  output logic         emit_o,          // a column comes out,
  output logic [15:0]  index_o,         // this one
  output logic         finish_o,
  // result
  output logic         vw_req_o,
  output logic [31:0]  vw_addr_o,
  input  logic         vw_gnt_i
);
  localparam int unsigned Levels = $clog2(chip_pkg::N);
  localparam int unsigned Depth = Levels > FunctionStages ? Levels : FunctionStages;
  localparam logic [Depth-1:0] TreeMask = Depth'((1 << Levels) - 1);
  localparam logic [Depth-1:0] FunctionMask = Depth'((1 << FunctionStages) - 1);

  logic        slot_valid_q, check_q, checked_q, dead_q, fault_q, ecc_q, poisoned;
  vpu_cmd_t    slot_q;
  logic        run_q, done_q;
  vpu_cmd_t    run_cmd_q;
  logic [15:0] unwritten_q;
  logic [31:0] write_addr_q;
  logic        result_valid_q, out_valid_q;
  logic [Depth-1:0] inner_valid_q;
  logic        emit_valid_q, first_q;
  logic [15:0] inside_q, loaded_q, emitted_q;   // rows left in the window; of TRANSPOSE
  logic        accept, checked, refuse, last_write, go, result_ready;
  logic        reduce, windows, func, inner, inner_enter, transpose, window_end;

  assign cmd_ready_o = ~slot_valid_q & ~dead_q;
  assign accept = cmd_valid_i & cmd_ready_o;
  assign checked = slot_valid_q & (checked_q | verdict_valid_i);
  assign last_write = vw_req_o & vw_gnt_i & (unwritten_q == 16'd1);
  assign start_o = checked & legal_i & (~run_q | last_write);
  assign refuse = checked & ~legal_i & ~run_q & ~dead_q;

  // The pipeline moves as a whole, unless a row at its end is refused.
  assign windows = run_cmd_q.axis == VpuAxisRows;
  assign reduce = run_cmd_q.opcode == OpcodeReduce && !windows;
  assign func = run_cmd_q.op >= VpuOpExp2 && run_cmd_q.op <= VpuOpErf;
  assign inner = reduce | func;
  assign inner_enter = inner & result_valid_q;
  assign transpose = run_cmd_q.opcode == OpcodeTranspose;
  assign window_end = inside_q == 16'd1;
  assign go = ~out_valid_q | vw_gnt_i;
  always_comb begin
    result_ready = result_valid_q;
    if (transpose) result_ready = emit_valid_q;
    if (reduce) result_ready = inner_valid_q[Levels-1];
    if (func) result_ready = inner_valid_q[FunctionStages-1];
  end
  assign execute_o = go & operands_valid_i & ~operands_bad_i;
  // A poisoned row is not taken; it faults when the rows before it are written.
  assign poisoned = run_q & operands_valid_i & operands_bad_i
                  & ~(result_valid_q | (|inner_valid_q) | emit_valid_q | out_valid_q);
  assign first_o = first_q;
  assign inner_step_o = go & inner & (result_valid_q | (|inner_valid_q));
  assign load_o = go & transpose & result_valid_q;
  assign emit_o = go & transpose & run_q & (loaded_q == run_cmd_q.rows)
                & (emitted_q != run_cmd_q.cols);
  assign index_o = load_o ? loaded_q : emitted_q;
  assign finish_o = go & result_ready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      slot_valid_q <= 1'b0;
      check_q <= 1'b0;
      checked_q <= 1'b0;
      dead_q <= 1'b0;
      fault_q <= 1'b0;
      ecc_q <= 1'b0;
      run_q <= 1'b0;
      done_q <= 1'b0;
      result_valid_q <= 1'b0;
      inner_valid_q <= '0;
      emit_valid_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else begin
      slot_valid_q <= accept | (slot_valid_q & ~start_o);
      check_q <= accept;
      checked_q <= checked & ~start_o;
      dead_q <= dead_q | refuse | poisoned;
      fault_q <= refuse | poisoned;
      ecc_q <= poisoned;
      run_q <= start_o | (run_q & ~last_write & ~poisoned);
      if (poisoned) slot_valid_q <= 1'b0;
      done_q <= last_write;
      if (go) begin
        result_valid_q <= execute_o & window_end;
        inner_valid_q <= ((inner_valid_q << 1) | Depth'(inner_enter))
                       & (reduce ? TreeMask : FunctionMask);
        emit_valid_q <= emit_o;
        out_valid_q <= finish_o;
      end
    end
    if (accept) slot_q <= cmd_i;
    if (start_o) begin
      run_cmd_q <= slot_q;
      unwritten_q <= slot_q.opcode == OpcodeTranspose ? slot_q.cols : slot_q.rows;
      write_addr_q <= slot_q.d_addr;
    end else if (vw_req_o & vw_gnt_i) begin
      unwritten_q <= unwritten_q - 16'd1;
      write_addr_q <= write_addr_q + run_cmd_q.d_stride;
    end
    if (start_o) begin
      inside_q <= slot_q.axis == VpuAxisRows ? slot_q.window : 16'd1;
      first_q <= 1'b1;
      loaded_q <= '0;
      emitted_q <= '0;
    end else begin
      if (execute_o) begin
        inside_q <= window_end & windows ? run_cmd_q.window
                                         : window_end ? 16'd1 : inside_q - 16'd1;
        first_q <= window_end;
      end
      loaded_q <= loaded_q + 16'(load_o);
      emitted_q <= emitted_q + 16'(emit_o);
    end
  end

  assign done_o = done_q;
  assign fault_valid_o = fault_q;
  assign fault_ecc_o = ecc_q;
  assign active_o = slot_valid_q | run_q;
  assign check_o = check_q;
  assign slot_o = slot_q;
  assign run_o = run_q;
  assign run_cmd_o = run_cmd_q;
  assign vw_req_o = out_valid_q;
  assign vw_addr_o = write_addr_q;

`ifndef SYNTHESIS
  WriteHasCommand_A : assert property (@(posedge clk_i)
    !rst_ni || !vw_req_o || (run_q && unwritten_q != 0));
  DrainedAtStart_A : assert property (@(posedge clk_i)
    !rst_ni || !start_o || !(result_valid_q || (|inner_valid_q) || emit_valid_q));
  LoadOrEmit_A : assert property (@(posedge clk_i) !rst_ni || !(load_o && emit_o));
  ColumnLeaves_C : cover property (@(posedge clk_i) emit_o);
  WindowEnds_C : cover property (@(posedge clk_i) execute_o && windows && window_end && !first_q);
`endif
endmodule
`default_nettype wire
