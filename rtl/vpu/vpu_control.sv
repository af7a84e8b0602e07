`default_nettype none
// The VPU's commands: takes them, has them checked, starts them, follows their rows through the
// pipeline to the last write, and retires them in order.
//
// Two commands are held: one executes, the next stands checked in the slot and starts in the cycle
// after the last write, so it reads what the one before wrote. A refused command faults when the
// one before has retired; then nothing is taken until reset.
//
// Rows move in groups of up to Sublanes, of which only a command's last is smaller: a group is
// read, moves and is finished as one; its rows are written as each is granted, and the next group
// leaves the pipeline when all are.
//
// Latency: command taken to start_o 2 cycles; last write granted to done_o 1 cycle.
module vpu_control
  import weft_pkg::*;
#(
  parameter int unsigned Sublanes = chip_pkg::VpuSublanes,
  parameter int unsigned FunctionStages = 6,
  localparam int unsigned CountBits = $clog2(Sublanes + 1)
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
  // a group moves through the pipeline; a bit for each row where rows differ
  input  logic                operands_valid_i,
  input  logic [Sublanes-1:0] operands_bad_i,  // with valid: ECC could not correct what counts
  output logic                bad_found_o,     // of those, one that counts:
  output logic [CountBits-1:0] bad_row_o,      // the first
  output logic                bad_earlier_o,   // the fault is that of a group before
  output logic                execute_o,       // takes the operands' heads
  output logic [Sublanes-1:0] execute_rows_o,
  output logic         first_o,         // REDUCE along rows: the first row of a window
  output logic         inner_step_o,    // the tree or the functions move
  output logic [Sublanes-1:0] inner_rows_o,
  output logic         load_o,          // TRANSPOSE: rows go in, or
  output logic         emit_o,          // columns come out,
  output logic [15:0]  index_o,         // from this one on
  output logic [Sublanes-1:0] finish_rows_o,
  // result
  output logic [Sublanes-1:0]       vw_req_o,
  output logic [Sublanes-1:0][31:0] vw_addr_o,
  input  logic [Sublanes-1:0]       vw_gnt_i
);
  localparam int unsigned Levels = $clog2(chip_pkg::N);
  localparam int unsigned Depth = Levels > FunctionStages ? Levels : FunctionStages;
  localparam logic [Depth-1:0] TreeMask = Depth'((1 << Levels) - 1);
  localparam logic [Depth-1:0] FunctionMask = Depth'((1 << FunctionStages) - 1);
  typedef logic [Sublanes-1:0] mask_t;
  typedef logic [CountBits-1:0] count_t;

  logic        slot_valid_q, check_q, checked_q, dead_q, fault_q, ecc_q, poisoned;
  vpu_cmd_t    slot_q;
  logic        run_q, done_q;
  vpu_cmd_t    run_cmd_q;
  logic [15:0] left_q;                          // rows that no group has taken
  count_t      good_q, good, group;             // rows of the group before one that is poisoned
  logic        cut_q;                           // a group was cut short: nothing is taken behind it
  logic [15:0] unwritten_q, unwritten_d;
  mask_t       out_rows_q;                      // to be written
  count_t      written, result_count_q;
  logic [31:0] write_addr_q, offset_q[Sublanes], step_q;
  logic        result_valid_q;
  logic [Depth-1:0] inner_valid_q;
  logic        emit_valid_q, first_q;
  logic [15:0] inside_q, loaded_q, emitted_q;   // rows left in the window; of TRANSPOSE
  logic        accept, checked, refuse, last_write, go, result_ready, finish, empty;
  logic        reduce, windows, func, inner, inner_enter, transpose, window_end, out_done;

  function automatic mask_t rows_below(input logic [15:0] count);
    for (int unsigned i = 0; i < Sublanes; i++) rows_below[i] = 16'(i) < count;
  endfunction
  function automatic count_t at_most_group(input logic [15:0] rows);
    at_most_group = rows < 16'(Sublanes) ? count_t'(rows) : count_t'(Sublanes);
  endfunction

  assign cmd_ready_o = ~slot_valid_q & ~dead_q;
  assign accept = cmd_valid_i & cmd_ready_o;
  assign checked = slot_valid_q & (checked_q | verdict_valid_i);
  assign written = count_t'($countones(vw_req_o & vw_gnt_i));
  assign last_write = written != 0 && unwritten_q == 16'(written) && !cut_q;
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
  assign out_done = (out_rows_q & ~vw_gnt_i) == '0;
  assign go = out_done;
  always_comb begin
    result_ready = result_valid_q;
    if (transpose) result_ready = emit_valid_q;
    if (reduce) result_ready = inner_valid_q[Levels-1];
    if (func) result_ready = inner_valid_q[FunctionStages-1];
  end

  // Of a group the rows before the first poisoned one are taken; in windows, also those that met
  // poison in an earlier row of theirs are not. If there is none, the command faults when what is
  // in the pipeline is written.
  assign group = at_most_group(left_q);
  always_comb begin
    good = good_q < group ? good_q : group;
    bad_found_o = 1'b0;
    if (operands_bad_i != '0)
      for (int unsigned i = Sublanes; i > 0; i--)
        if (operands_bad_i[i-1] && count_t'(i) <= good_q && count_t'(i) <= group) begin
          good = count_t'(i) - 1'b1;
          bad_found_o = 1'b1;
        end
  end
  assign bad_row_o = good;
  assign bad_earlier_o = cut_q;
  assign empty = ~(result_valid_q | (|inner_valid_q) | emit_valid_q | (|out_rows_q));
  assign execute_o = go & operands_valid_i & good != 0 & ~cut_q;
  assign poisoned = run_q & empty & (cut_q | (operands_valid_i & good == 0));
  assign execute_rows_o = execute_o ? rows_below(16'(good)) : '0;
  assign first_o = first_q;
  assign inner_step_o = go & inner & (result_valid_q | (|inner_valid_q));
  assign inner_rows_o = inner_step_o ? rows_below(run_cmd_q.rows) : '0;
  assign load_o = go & transpose & result_valid_q;
  assign emit_o = go & transpose & run_q & (loaded_q == run_cmd_q.rows)
                & (emitted_q < run_cmd_q.cols);
  assign index_o = load_o ? loaded_q : emitted_q;
  assign finish = go & result_ready;
  assign unwritten_d = unwritten_q - 16'(written);
  assign finish_rows_o = finish ? rows_below(unwritten_d) : '0;

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
      cut_q <= 1'b0;
      result_valid_q <= 1'b0;
      inner_valid_q <= '0;
      emit_valid_q <= 1'b0;
      out_rows_q <= '0;
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
      cut_q <= cut_q | (execute_o & window_end & good != group);
      out_rows_q <= out_rows_q & ~vw_gnt_i;
      if (go) begin
        result_valid_q <= execute_o & window_end;
        inner_valid_q <= ((inner_valid_q << 1) | Depth'(inner_enter))
                       & (reduce ? TreeMask : FunctionMask);
        emit_valid_q <= emit_o;
        out_rows_q <= finish_rows_o;
      end
    end
    if (accept) slot_q <= cmd_i;
    if (start_o) begin
      run_cmd_q <= slot_q;
      left_q <= slot_q.rows;
      good_q <= count_t'(Sublanes);
      unwritten_q <= slot_q.opcode == OpcodeTranspose ? slot_q.cols : slot_q.rows;
      write_addr_q <= slot_q.d_addr;
      for (int unsigned i = 0; i < Sublanes; i++) offset_q[i] <= i * slot_q.d_stride;
      step_q <= Sublanes * slot_q.d_stride;
    end else begin
      unwritten_q <= unwritten_d;
      if (execute_o) begin
        good_q <= window_end ? count_t'(Sublanes) : good;
        if (window_end) begin
          left_q <= left_q - 16'(group);
          // what is behind the cut is never written
          if (good != group) unwritten_q <= unwritten_d - (left_q - 16'(good));
        end
      end
      if (out_rows_q != '0 && out_done) write_addr_q <= write_addr_q + step_q;
    end
    if (go) result_count_q <= good;
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
      if (load_o) loaded_q <= loaded_q + 16'(result_count_q);
      if (emit_o) emitted_q <= emitted_q + 16'(Sublanes);
    end
  end

  for (genvar i = 0; i < Sublanes; i++) begin : gen_row
    assign vw_addr_o[i] = write_addr_q + offset_q[i];
  end
  assign done_o = done_q;
  assign fault_valid_o = fault_q;
  assign fault_ecc_o = ecc_q;
  assign active_o = slot_valid_q | run_q;
  assign check_o = check_q;
  assign slot_o = slot_q;
  assign run_o = run_q;
  assign run_cmd_o = run_cmd_q;
  assign vw_req_o = out_rows_q;

`ifndef SYNTHESIS
  WriteHasCommand_A : assert property (@(posedge clk_i)
    !rst_ni || vw_req_o == '0 || (run_q && 32'(unwritten_q) >= $countones(vw_req_o)));
  DrainedAtStart_A : assert property (@(posedge clk_i)
    !rst_ni || !start_o || !(result_valid_q || (|inner_valid_q) || emit_valid_q));
  LoadOrEmit_A : assert property (@(posedge clk_i) !rst_ni || !(load_o && emit_o));
  ColumnLeaves_C : cover property (@(posedge clk_i) emit_o);
  WindowEnds_C : cover property (@(posedge clk_i) execute_o && windows && window_end && !first_q);
  WrittenInPieces_C : cover property (@(posedge clk_i) written != 0 && !out_done);
`endif
endmodule
`default_nettype wire
