`default_nettype none
// The sync queue's unit: SIGNAL, WAIT, FENCE and BARRIER. Waits and posts are made by core/; what
// is left is when to be done.
//
// SIGNAL and WAIT are done one cycle after they were taken. FENCE is done when no other unit
// executes a command and all that was executed has posted. BARRIER is handed to the interconnect in
// the cycle in which it is taken and done when that ends it; a bad field is a fault a cycle later.
// Whether the chips of its group exist is known where they are counted: the interconnect ends such
// a BARRIER with a fault. One command at a time, and none after a fault. Readable by Yosys 0.23.
module sync_engine (
  input  logic        clk_i,
  input  logic        rst_ni,
  // command; core/ has checked its header
  input  logic        cmd_valid_i,
  output logic        cmd_ready_o,
  // Waived: the semaphores are core/'s, the group and its signature the interconnect's.
  // verilator lint_off UNUSEDSIGNAL
  input  weft_pkg::barrier_cmd_t cmd_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic        others_active_i,   // another unit holds a command, or its posts are under way
  output logic        done_o,
  output logic        active_o,
  output logic        fault_valid_o,     // one cycle
  output logic [7:0]  fault_code_o,
  output logic [15:0] fault_tag_o,
  output logic [63:0] fault_address_o,
  // interconnect: cmd_i is a legal BARRIER and begins; it ends, or fails with this fault ICI
  output logic        barrier_begin_o,
  input  logic        barrier_end_i,
  input  logic        barrier_fault_i,
  input  logic [63:0] barrier_address_i
);
  // Byte offsets of the fields of BARRIER: spec/commands.toml.
  localparam logic [7:0] AtNone = 8'd0, AtCount0 = 8'd18, AtCount1 = 8'd20, AtCount2 = 8'd22,
                         AtStride0 = 8'd24, AtStride1 = 8'd26, AtStride2 = 8'd28;

  logic active_q, fence_q, barrier_q, refused_q, dead_q;
  logic [15:0] tag_q;
  logic [7:0] illegal_q, illegal;

  // A stride where there are several chips, and only there.
  function automatic stride_bad(input [15:0] count, input [15:0] stride);
    stride_bad = (stride != 16'd0) != (count > 16'd1);
  endfunction

  always_comb begin
    illegal = AtNone;
    if (cmd_i.count0 == 16'd0) illegal = AtCount0;
    else if (cmd_i.count1 == 16'd0) illegal = AtCount1;
    else if (cmd_i.count2 == 16'd0) illegal = AtCount2;
    else if (stride_bad(cmd_i.count0, cmd_i.stride0)) illegal = AtStride0;
    else if (stride_bad(cmd_i.count1, cmd_i.stride1)) illegal = AtStride1;
    else if (stride_bad(cmd_i.count2, cmd_i.stride2)) illegal = AtStride2;
  end

  logic take, barrier, failed;
  assign take = cmd_valid_i && cmd_ready_o;
  assign barrier = cmd_i.opcode == weft_pkg::OpcodeBarrier;
  assign barrier_begin_o = take && barrier && illegal == AtNone;
  assign failed = active_q && barrier_q && !refused_q && !dead_q &&
                  barrier_end_i && barrier_fault_i;

  assign cmd_ready_o = !active_q;
  assign active_o = active_q;
  assign done_o = active_q && !refused_q && !dead_q && !(fence_q && others_active_i) &&
                  !(barrier_q && (!barrier_end_i || barrier_fault_i));
  assign fault_valid_o = (active_q && refused_q) || failed;
  assign fault_code_o = refused_q ? weft_pkg::FaultIllegalField : weft_pkg::FaultIci;
  assign fault_tag_o = tag_q;
  assign fault_address_o = refused_q ? {56'd0, illegal_q} : barrier_address_i;

  always_ff @(posedge clk_i) begin
    refused_q <= 1'b0;
    if (take) begin
      active_q <= 1'b1;
      fence_q <= cmd_i.opcode == weft_pkg::OpcodeFence;
      barrier_q <= barrier;
      refused_q <= barrier && illegal != AtNone;
      illegal_q <= illegal;
      tag_q <= cmd_i.tag;
    end else if (done_o) begin
      active_q <= 1'b0;
    end
    if (fault_valid_o) dead_q <= 1'b1;
    if (!rst_ni) begin
      active_q <= 1'b0;
      fence_q <= 1'b0;
      barrier_q <= 1'b0;
      refused_q <= 1'b0;
      dead_q <= 1'b0;
    end
  end
endmodule
`default_nettype wire
