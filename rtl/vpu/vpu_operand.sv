`default_nettype none
// One operand stream: walks the rows of a tensor, requests them, and hands them to the lanes.
//
// A row arrives the cycle after its grant and may be used in that same cycle. While the lanes stand
// still, up to two rows wait here, so a request never depends on a grant of the same cycle, and
// one row a cycle flows when nothing is refused. With keep_i the first row stays for all pops.
// The rows may come in windows: `window` rows `inner` apart, the windows `stride` apart.
//
//   req ──► [memory] ──rvalid, rdata──┬──────────────►┐
//                                     └─► two rows ──►┴─ row_o, valid_o ──► pop_i
//
// Latency: start_i to the first request 1 cycle, grant to valid_o 1 cycle.
module vpu_operand
  import chip_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_ni,
  // the tensor; start_i drops whatever is left of the one before
  input  logic               start_i,
  input  logic [15:0]        rows_i,    // windows; 0: nothing is read
  input  logic [31:0]        addr_i,
  input  logic [31:0]        stride_i,
  input  logic [15:0]        window_i,  // rows of a window, >= 1
  input  logic [31:0]        inner_i,
  input  logic               keep_i,
  // memory
  output logic               req_o,
  output logic [31:0]        addr_o,
  input  logic               gnt_i,
  input  logic               rvalid_i,
  input  logic [32*N-1:0]    rdata_i,
  input  logic               bad_i,         // with rdata_i: ECC could not correct it, ...
  input  logic [7:0]         bad_granule_i, // ... here
  // lanes
  output logic               valid_o,
  output logic [32*N-1:0]    row_o,
  output logic               bad_o,         // of row_o, and its address
  output logic [31:0]        bad_addr_o,
  output logic [7:0]         bad_granule_o,
  input  logic               pop_i,
  // rows are still to be requested
  output logic               left_o
);
  logic [15:0]     rows_q;
  logic [31:0]     addr_q, stride_q, inner_q, first_q;  // first_q: of the window
  logic [15:0]     window_q, inside_q;                  // inside_q: rows left in the window
  logic            keep_q;
  logic [1:0]      level_q, level_d;
  logic [32*N-1:0] head_q, next_q;
  typedef struct packed {
    logic        bad;
    logic [7:0]  granule;
    logic [31:0] addr;
  } mark_t;
  mark_t           head_mark_q, next_mark_q, mark, arriving;
  logic [31:0]     arriving_addr_q;
  logic            granted, drop, store_head, store_next, shift, window_end, window_done;

  assign left_o = rows_q != 0;
  assign req_o = left_o & (level_q + 2'(rvalid_i) < 2'd2);
  assign granted = req_o & gnt_i;
  assign window_end = inside_q == 16'd1;
  assign window_done = granted & window_end;
  assign addr_o = addr_q;
  assign valid_o = rvalid_i | (level_q != 0);
  assign row_o = level_q == 0 ? rdata_i : head_q;
  assign arriving = '{bad: bad_i, granule: bad_granule_i, addr: arriving_addr_q};
  assign mark = level_q == 0 ? arriving : head_mark_q;
  assign bad_o = mark.bad;
  assign bad_addr_o = mark.addr;
  assign bad_granule_o = mark.granule;

  // A pop takes the head, or the arriving row when nothing waits.
  always_comb begin
    drop = pop_i & ~keep_q;
    level_d = level_q + 2'(rvalid_i) - 2'(drop);
    shift = drop & (level_q == 2'd2);
    store_head = rvalid_i & (level_d == 2'd1) & ~(drop & (level_q == 0));
    store_next = rvalid_i & (level_d == 2'd2);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rows_q <= '0;
      level_q <= '0;
    end else if (start_i) begin
      rows_q <= rows_i;
      level_q <= '0;
    end else begin
      rows_q <= rows_q - 16'(window_done);
      level_q <= level_d;
    end
    if (start_i) begin
      addr_q <= addr_i;
      first_q <= addr_i;
      stride_q <= stride_i;
      inner_q <= inner_i;
      window_q <= window_i;
      inside_q <= window_i;
      keep_q <= keep_i;
    end else if (granted) begin
      addr_q <= window_end ? first_q + stride_q : addr_q + inner_q;
      first_q <= window_end ? first_q + stride_q : first_q;
      inside_q <= window_end ? window_q : inside_q - 16'd1;
    end
    if (granted) arriving_addr_q <= addr_q;
    if (store_head) head_q <= rdata_i;
    else if (shift) head_q <= next_q;
    if (store_next) next_q <= rdata_i;
    if (store_head) head_mark_q <= arriving;
    else if (shift) head_mark_q <= next_mark_q;
    if (store_next) next_mark_q <= arriving;
  end

`ifndef SYNTHESIS
  logic granted_q;
  always_ff @(posedge clk_i) granted_q <= rst_ni & granted;

  // Data follow their grant by one cycle, and what is granted always finds a place.
  DataFollowGrant_A : assert property (@(posedge clk_i) !rst_ni || rvalid_i == granted_q);
  NoOverflow_A : assert property (@(posedge clk_i) !rst_ni || level_q + 2'(rvalid_i) <= 2'd2);
  PopHasRow_A : assert property (@(posedge clk_i) !rst_ni || !pop_i || valid_o);
  TwoRowsWait_C : cover property (@(posedge clk_i) level_q == 2'd2 && !pop_i);
  TwoRowsLeave_C : cover property (@(posedge clk_i) level_q == 2'd2 && pop_i);
  ArrivesAndLeaves_C : cover property (@(posedge clk_i) rvalid_i && pop_i && level_q == 0);
`endif
endmodule
`default_nettype wire
