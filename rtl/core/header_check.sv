`default_nettype none
// Section 1 of docs/command_checks.md: is the header of a command legal on its queue?
// Combinational, no state.
//
// Three steps in order: opcode, reserved bits and flags, semaphores; within a step the field with
// the lowest offset is reported. All outputs are 0 while valid_i is 0, so an idle queue costs
// nothing to simulate.
module header_check #(
  parameter logic [2:0] Queue = 3'd0
) (
  input  logic                         in_slice_i, // else what is about other chips is not built
  input  logic                         valid_i,
  input  logic [weft_pkg::CmdBits-1:0] cmd_i,
  output logic                         fault_o,
  output logic [7:0]                   code_o,     // weft_pkg::fault_e
  output logic [63:0]                  address_o   // opcode, or the byte offset of the field
);
  localparam int unsigned CmdBytes = weft_pkg::CmdBits / 8;
  // Byte offsets of the semaphore fields: spec/commands.toml, [header].
  localparam logic [5:0] Wait0Offset = 6'd4, Wait1Offset = 6'd5;
  localparam logic [5:0] Post0Offset = 6'd6, Post1Offset = 6'd7;

  // A semaphore field and its count: none with 0, or a semaphore that exists with at least 1.
  function automatic logic pair_bad(input logic [7:0] sem, input logic [15:0] count);
    pair_bad = sem == weft_pkg::NoSemaphore ? count != 0
                                            : sem >= 8'(weft_pkg::NumSemaphores) || count == 0;
  endfunction

  function automatic logic same(input logic [7:0] a, input logic [7:0] b);
    same = a == b && a != weft_pkg::NoSemaphore;
  endfunction

  // Waived: the body and the tag are not checked here.
  // verilator lint_off UNUSEDSIGNAL
  weft_pkg::none_cmd_t cmd;
  // verilator lint_on UNUSEDSIGNAL
  logic [weft_pkg::CmdBits-1:0] reserved;
  logic waits_only, remote;
  logic [7:0] flags;    // that the command may carry

  assign cmd = cmd_i;

  always_comb begin
    fault_o = 1'b0;
    code_o = weft_pkg::FaultNone;
    address_o = '0;
    reserved = '0;
    waits_only = 1'b0;
    remote = 1'b0;
    flags = weft_pkg::FlagsBuilt;
    if (valid_i) begin
      waits_only = cmd.opcode == weft_pkg::OpcodeWait;
      // A reduction goes with remote only, and one with itself only.
      remote = in_slice_i && Queue == weft_pkg::QueueDmaOut && cmd.opcode == weft_pkg::OpcodeCopy &&
               (cmd.flags & weft_pkg::FlagRemote) != 0;
      if (remote && (~cmd.flags & (weft_pkg::FlagReduceF32 | weft_pkg::FlagReduceBf16)) != 0)
        flags = weft_pkg::FlagsBuilt | weft_pkg::FlagsSlice;
      reserved = cmd_i & weft_pkg::reserved_mask(cmd.opcode);
      reserved[15:8] = cmd.flags & ~flags;
      fault_o = 1'b1;
      if (!weft_pkg::opcode_legal(cmd.opcode, Queue, in_slice_i)) begin
        code_o = weft_pkg::FaultIllegalOpcode;
        address_o = 64'(cmd.opcode);
      end else begin
        code_o = weft_pkg::FaultIllegalField;
        if (reserved != 0) begin
          for (int unsigned i = CmdBytes; i > 0; i--) begin
            if (reserved[8*(i-1)+:8] != 0) address_o = 64'(i) - 64'd1;
          end
        end else if (pair_bad(cmd.wait_sem0, cmd.wait_count0)) begin
          address_o = 64'(Wait0Offset);
        end else if (pair_bad(cmd.wait_sem1, cmd.wait_count1) ||
                     same(cmd.wait_sem0, cmd.wait_sem1)) begin
          address_o = 64'(Wait1Offset);
        end else if (pair_bad(cmd.post_sem0, cmd.post_count0) ||
                     (waits_only && cmd.post_sem0 != weft_pkg::NoSemaphore)) begin
          address_o = 64'(Post0Offset);
        end else if (pair_bad(cmd.post_sem1, cmd.post_count1) ||
                     same(cmd.post_sem0, cmd.post_sem1) ||
                     (waits_only && cmd.post_sem1 != weft_pkg::NoSemaphore) ||
                     (remote && cmd.post_sem1 < 8'(weft_pkg::RemoteSemaphoreFirst))) begin
          address_o = 64'(Post1Offset);
        end else begin
          fault_o = 1'b0;
          code_o = weft_pkg::FaultNone;
        end
      end
    end
  end
endmodule
`default_nettype wire
