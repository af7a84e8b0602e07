`default_nettype none
// Takes one queue's commands to its unit, in order: check, wait, issue.
//
//   head of queue ─► check ─► wait (until both are granted) ─► issue (until taken) ─► unit
//
// The command is copied when checked and leaves the queue when the unit takes it. A command that
// waits for nothing skips the wait. Latency: at the head in cycle t, offered to the unit in t + 1
// (no wait) or t + 2. A refused command stays at the head for ever (until reset); stop_i holds
// every step.
module issue #(
  parameter logic [2:0] Queue = 3'd0
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         stop_i,
  input  logic                         in_slice_i,
  // queue
  input  logic                         head_valid_i,
  input  logic [weft_pkg::CmdBits-1:0] head_i,
  output logic                         pop_o,
  // semaphores: both waits of cmd_o are tested and subtracted together
  output logic                         wait_valid_o,
  input  logic                         wait_grant_i,
  // fault injection: the head is refused with this fault when it is checked
  output logic                         checked_o,
  input  logic                         raise_i,
  input  logic [7:0]                   raise_code_i,
  input  logic [63:0]                  raise_address_i,
  // unit
  output logic                         cmd_valid_o,
  output logic [weft_pkg::CmdBits-1:0] cmd_o,
  input  logic                         cmd_taken_i,
  // status
  input  logic                         unit_active_i,
  output control_pkg::queue_state_e    state_o,
  output control_pkg::fault_t          fault_o
);
  typedef enum logic [1:0] {StCheck, StWait, StIssue, StRefused} state_e;
  state_e state_q, state_d;
  logic [weft_pkg::CmdBits-1:0] cmd_q;
  // Waived: only the header is read here.
  // verilator lint_off UNUSEDSIGNAL
  weft_pkg::none_cmd_t head;
  // verilator lint_on UNUSEDSIGNAL
  logic checking, illegal, bad, waits;
  logic [7:0] bad_code;
  logic [63:0] bad_address;

  assign head = head_i;
  assign checking = state_q == StCheck && head_valid_i && !stop_i;
  assign waits = head.wait_sem0 != weft_pkg::NoSemaphore || head.wait_sem1 != weft_pkg::NoSemaphore;
  assign wait_valid_o = state_q == StWait && !stop_i;
  assign cmd_valid_o = state_q == StIssue && !stop_i;
  assign cmd_o = cmd_q;
  assign pop_o = cmd_taken_i;

  header_check #(.Queue(Queue)) u_header_check (
    .in_slice_i, .valid_i(checking), .cmd_i(head_i), .fault_o(illegal), .code_o(bad_code),
    .address_o(bad_address));

  assign checked_o = checking;
  assign bad = illegal || (raise_i && checking);

  always_comb begin
    fault_o = '0;
    if (bad) begin
      fault_o.valid = 1'b1;
      fault_o.code = raise_i ? raise_code_i : bad_code;
      fault_o.unit_id = control_pkg::unit_of_queue(Queue);
      fault_o.queue_id = Queue;
      fault_o.tag = head.tag;
      fault_o.address = raise_i ? raise_address_i : bad_address;
    end
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StCheck: if (checking) state_d = bad ? StRefused : waits ? StWait : StIssue;
      StWait: if (wait_grant_i) state_d = StIssue;
      StIssue: if (cmd_taken_i) state_d = StCheck;
      default: state_d = StRefused;
    endcase
  end

  always_comb begin
    state_o = control_pkg::QueueBusy;
    unique case (state_q)
      StCheck: begin
        if (head_valid_i && stop_i) state_o = control_pkg::QueueBlocked;
        else if (!head_valid_i && !unit_active_i) state_o = control_pkg::QueueEmpty;
      end
      StWait: if (!wait_grant_i) state_o = control_pkg::QueueWaiting;
      StIssue: if (!cmd_taken_i) state_o = control_pkg::QueueBlocked;
      default: state_o = control_pkg::QueueBlocked;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (checking) cmd_q <= head_i;
    state_q <= state_d;
    if (!rst_ni) state_q <= StCheck;
  end

  GrantOnlyWhenAsked_A: assert property (@(posedge clk_i) !rst_ni || !wait_grant_i || wait_valid_o);
  TakenOnlyWhenOffered_A: assert property (@(posedge clk_i) !rst_ni || !cmd_taken_i || cmd_valid_o);
endmodule
`default_nettype wire
