`default_nettype none
// Commands of the MXU: takes them, checks them one cycle later, keeps up to four, retires them in
// order.
//
//   cmd ──► stage ──check──► jobs (ring of 4) ──► x walk, w walk      retire ◄── last row readable
//                  └─fault──► once all older ones have retired: reports, halts until reset
//
// Taken in cycle c, a command can have its first words requested in cycle c + 2.
module mxu_control
  import mxu_pkg::*;
(
  input  wire logic                clk_i,
  input  wire logic                rst_ni,
  // core/
  input  wire logic                cmd_valid_i,
  output logic                     cmd_ready_o,
  input  wire weft_pkg::mxu_cmd_t  cmd_i,
  output logic                     fault_valid_o,
  output logic [7:0]               fault_code_o,
  output logic [15:0]              fault_tag_o,
  output logic [63:0]              fault_address_o,
  output logic                     active_o,
  output logic                     arriving_o,      // a command is in its check
  // the oldest command met an error that ECC could not correct: reported at once and once, though
  // the error stands; then all is dropped
  input  wire logic                ecc_fault_i,
  input  wire logic [63:0]         ecc_address_i,
  output logic                     halted_o,
  // jobs for the two walks
  output logic                     x_valid_o,
  output job_t                     x_job_o,
  input  wire logic                x_done_i,
  output logic                     w_valid_o,
  output job_t                     w_job_o,
  input  wire logic                w_done_i,
  // progress
  output logic                     rows_left_o,     // of a checked command, to be issued
  input  wire logic                issued_i,        // the last row of a command is issued
  input  wire logic                retire_i         // the oldest command retires
);
  localparam int unsigned IndexBits = $clog2(Commands);

  weft_pkg::mxu_cmd_t   stage_cmd_q;
  logic                 stage_q;
  logic                 fault_q, halted_q;
  job_t                 jobs_q[Commands];
  logic [15:0]          tags_q[Commands];
  logic [IndexBits:0]   tail_q, x_q, w_q, issue_q, head_q;   // one bit more: equal means empty
  logic [7:0]           code;
  logic [63:0]          address;
  job_t                 job;
  logic                 empty, push, ecc_fault;

  mxu_check u_check (.cmd_i(stage_cmd_q), .code_o(code), .address_o(address), .job_o(job));

  assign empty = head_q == tail_q;
  assign cmd_ready_o = !stage_q & !fault_q & !halted_q
                     & (tail_q - head_q != (IndexBits + 1)'(Commands));
  assign arriving_o = stage_q;
  assign active_o = stage_q | fault_q | !empty;
  assign push = stage_q & (code == weft_pkg::FaultNone);

  assign x_valid_o = x_q != tail_q;
  assign x_job_o = jobs_q[x_q[IndexBits-1:0]];
  assign w_valid_o = w_q != tail_q;
  assign w_job_o = jobs_q[w_q[IndexBits-1:0]];

  assign rows_left_o = issue_q != tail_q;

  // stage_cmd_q keeps the faulty command: nothing is taken after it
  assign ecc_fault = ecc_fault_i & !halted_q;
  assign fault_valid_o = (fault_q & empty) | ecc_fault;
  assign fault_code_o = ecc_fault ? weft_pkg::FaultEccUncorrectable : code;
  assign fault_tag_o = ecc_fault ? tags_q[head_q[IndexBits-1:0]] : stage_cmd_q.tag;
  assign fault_address_o = ecc_fault ? ecc_address_i : address;
  assign halted_o = halted_q;

  always_ff @(posedge clk_i) begin
    if (cmd_valid_i & cmd_ready_o) stage_cmd_q <= cmd_i;
    if (push) jobs_q[tail_q[IndexBits-1:0]] <= job;
    if (push) tags_q[tail_q[IndexBits-1:0]] <= stage_cmd_q.tag;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      stage_q <= 1'b0;
      fault_q <= 1'b0;
      halted_q <= 1'b0;
      tail_q <= '0;
      x_q <= '0;
      w_q <= '0;
      issue_q <= '0;
      head_q <= '0;
    end else begin
      stage_q <= cmd_valid_i & cmd_ready_o;
      fault_q <= (fault_q | (stage_q & !push)) & !fault_valid_o;
      halted_q <= halted_q | fault_valid_o;
      tail_q <= tail_q + (IndexBits + 1)'(push);
      x_q <= x_q + (IndexBits + 1)'(x_done_i);
      w_q <= w_q + (IndexBits + 1)'(w_done_i);
      issue_q <= issue_q + (IndexBits + 1)'(issued_i);
      head_q <= head_q + (IndexBits + 1)'(retire_i);
      if (ecc_fault) begin
        stage_q <= 1'b0;
        fault_q <= 1'b0;
        tail_q <= '0;
        x_q <= '0;
        w_q <= '0;
        issue_q <= '0;
        head_q <= '0;
      end
    end
  end
endmodule
`default_nettype wire
