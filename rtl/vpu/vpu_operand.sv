`default_nettype none
// One operand stream: walks the rows of a tensor in groups of up to Sublanes rows, requests them,
// and hands each group to the lanes.
//
// A row is granted by itself, the rows of a group in one cycle or in several. It arrives the cycle
// after its grant and may be used in that same cycle, if it is its group's last. While the lanes
// stand still, up to two groups wait here, so a request never depends on a grant of the same
// cycle, and a group a cycle flows when nothing is refused. With keep_i the first group stays for
// all pops. Rows may come in windows: row i of a group is then row i of as many windows, each of
// `window` rows `inner` apart, the windows `stride` apart; a group for each row of the window.
//
//   req ──► [memory] ──rvalid, rdata──┬──────────────────►┐
//                                     └─► two groups ────►┴─ rows_o, valid_o ──► pop_i
//
// Latency: start_i to the first request 1 cycle, grant of a group's last row to valid_o 1 cycle.
module vpu_operand
  import chip_pkg::*;
#(
  parameter int unsigned Sublanes = VpuSublanes
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  // the tensor; start_i drops whatever is left of the one before
  input  logic                          start_i,
  input  logic [15:0]                   rows_i,    // windows; 0: nothing is read
  input  logic                          single_i,  // a group is one row
  input  logic [31:0]                   addr_i,
  input  logic [31:0]                   stride_i,
  input  logic [15:0]                   window_i,  // rows of a window, >= 1
  input  logic [31:0]                   inner_i,
  input  logic                          keep_i,
  // memory, a port for each row of a group
  output logic [Sublanes-1:0]           req_o,
  output logic [Sublanes-1:0][31:0]     addr_o,
  input  logic [Sublanes-1:0]           gnt_i,
  input  logic [Sublanes-1:0]           rvalid_i,
  input  logic [Sublanes-1:0][32*N-1:0] rdata_i,
  input  logic [Sublanes-1:0]           bad_i,          // with rdata_i: ECC could not correct it
  input  logic [Sublanes-1:0][7:0]      bad_granule_i,  // here
  // lanes
  output logic                          valid_o,
  output logic [Sublanes-1:0][32*N-1:0] rows_o,         // with use_i; single_i: all are that row
  output logic [Sublanes-1:0]           bad_o,          // of rows_o, and their addresses
  output logic [Sublanes-1:0][31:0]     bad_addr_o,
  output logic [Sublanes-1:0][7:0]      bad_granule_o,
  input  logic                          use_i,          // the lanes take the rows,
  input  logic                          pop_i,          // for the last time
  // rows are still to be requested
  output logic                          left_o
);
  typedef logic [Sublanes-1:0] mask_t;

  logic [15:0] rows_q, rows_d;                          // windows with rows to request
  logic [31:0] addr_q, inner_q, first_q;                // row 0 of the group; first_q: its window's
  logic [31:0] offset_q[Sublanes], step_q;              // of row i from row 0; of two groups
  logic [15:0] window_q, inside_q;                      // inside_q: rows left in the window
  logic        keep_q, single_q;
  mask_t       pending_q, granted, arriving_q;          // pending: rows of the group to grant
  logic [1:0]  groups_q;                                // granted whole and not dropped
  logic        drop, group_done, window_end, window_done;
  logic        arriving_slot_q, write_slot_q, read_slot_q;
  typedef struct packed {
    logic        bad;
    logic [7:0]  granule;
    logic [31:0] addr;
  } mark_t;

  // Row i of a group is there if as many are left.
  function automatic mask_t group_of(input logic [15:0] rows, input logic single);
    for (int unsigned i = 0; i < Sublanes; i++)
      group_of[i] = 16'(i) < rows && (i == 0 || !single);
  endfunction

  assign left_o = rows_q != 0;
  assign req_o = groups_q < 2'd2 ? pending_q : '0;
  assign granted = req_o & gnt_i;
  assign group_done = granted != '0 && granted == pending_q;
  assign window_end = inside_q == 16'd1;
  assign window_done = group_done & window_end;
  assign drop = pop_i & ~keep_q;
  assign valid_o = groups_q != 0;
  always_comb begin
    rows_d = rows_q - (single_q ? 16'd1 : 16'(Sublanes));
    if (!single_q && rows_q < 16'(Sublanes)) rows_d = '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rows_q <= '0;
      pending_q <= '0;
      groups_q <= '0;
      arriving_q <= '0;
    end else if (start_i) begin
      rows_q <= rows_i;
      pending_q <= group_of(rows_i, single_i);
      groups_q <= '0;
      arriving_q <= '0;
    end else begin
      pending_q <= pending_q & ~granted;
      if (group_done) pending_q <= group_of(window_end ? rows_d : rows_q, single_q);
      if (window_done) rows_q <= rows_d;
      groups_q <= groups_q + 2'(group_done) - 2'(drop);
      arriving_q <= granted;
    end
    if (start_i) begin
      addr_q <= addr_i;
      first_q <= addr_i;
      for (int unsigned i = 0; i < Sublanes; i++) offset_q[i] <= i * stride_i;
      step_q <= single_i ? stride_i : Sublanes * stride_i;
      single_q <= single_i;
      inner_q <= inner_i;
      window_q <= window_i;
      inside_q <= window_i;
      keep_q <= keep_i;
      write_slot_q <= 1'b0;
      read_slot_q <= 1'b0;
    end else begin
      if (group_done) begin
        addr_q <= window_end ? first_q + step_q : addr_q + inner_q;
        first_q <= window_end ? first_q + step_q : first_q;
        inside_q <= window_end ? window_q : inside_q - 16'd1;
        write_slot_q <= ~write_slot_q;
      end
      if (drop) read_slot_q <= ~read_slot_q;
    end
    arriving_slot_q <= write_slot_q;
  end

  // Row i: where it comes from, where it waits.
  for (genvar i = 0; i < Sublanes; i++) begin : gen_row
    logic [32*N-1:0] row_q, other_q;                    // of slots 0 and 1
    mark_t           row_mark_q, other_mark_q, mark, arriving;
    logic [31:0]     arriving_addr_q;
    logic            fresh, store;

    assign addr_o[i] = addr_q + offset_q[i];
    assign fresh = rvalid_i[i] & (arriving_slot_q == read_slot_q);
    assign store = rvalid_i[i] & ~(fresh & drop);
    assign arriving = '{bad: bad_i[i], granule: bad_granule_i[i], addr: arriving_addr_q};
    always_comb begin
      rows_o[i] = '0;
      if (use_i) begin
        if (!single_q) rows_o[i] = fresh ? rdata_i[i] : read_slot_q ? other_q : row_q;
        else rows_o[i] = gen_row[0].fresh ? rdata_i[0]
                       : read_slot_q ? gen_row[0].other_q : gen_row[0].row_q;
      end
    end
    assign mark = fresh ? arriving : read_slot_q ? other_mark_q : row_mark_q;
    assign bad_o[i] = mark.bad;
    assign bad_addr_o[i] = mark.addr;
    assign bad_granule_o[i] = mark.granule;

    always_ff @(posedge clk_i) begin
      if (granted[i]) arriving_addr_q <= addr_o[i];
      if (store && !arriving_slot_q) begin
        row_q <= rdata_i[i];
        row_mark_q <= arriving;
      end
      if (store && arriving_slot_q) begin
        other_q <= rdata_i[i];
        other_mark_q <= arriving;
      end
    end
  end

`ifndef SYNTHESIS
  // Data follow their grant by one cycle, and a group leaves when it is there.
  DataFollowGrant_A : assert property (@(posedge clk_i) !rst_ni || rvalid_i == arriving_q);
  TwoGroups_A : assert property (@(posedge clk_i) !rst_ni || groups_q <= 2'd2);
  PopHasGroup_A : assert property (@(posedge clk_i) !rst_ni || !pop_i || valid_o);
  TwoGroupsWait_C : cover property (@(posedge clk_i) groups_q == 2'd2 && !pop_i);
  ArrivesAndLeaves_C : cover property (@(posedge clk_i)
    rvalid_i != '0 && pop_i && groups_q == 2'd1);
  GrantedInPieces_C : cover property (@(posedge clk_i) granted != '0 && !group_done);
`endif
endmodule
`default_nettype wire
