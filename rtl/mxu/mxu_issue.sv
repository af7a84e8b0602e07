`default_nettype none
// Decides in each cycle whether a row of x and a word of weights go to the array, and says why not.
//
// A row issued in cycle c enters the array in c + 1; its last result is written in c + Flight.
// - The first word of a tile may go SwapLead cycles after the first row of the tile before it, no
//   earlier: the shadow plane is free behind the swap. That goes down a PE row in PeLatency cycles,
//   the words' shift one in each.
// - The first row of a tile goes one cycle after the tile's last word, or later.
// - A row that seeds from ACC goes Depth cycles after the last that wrote its ACC row.
// - A row of the other type waits until the array is empty.
// - What is poisoned, and all behind it, waits for ever (mxu_poison).
module mxu_issue
  import mxu_pkg::*;
(
  input  wire logic         clk_i,
  input  wire logic         rst_ni,
  // commands
  input  wire logic         arriving_i,
  input  wire logic         active_i,
  input  wire logic         rows_left_i,      // rows of taken commands are still to be issued
  output logic              retire_o,
  // oldest row of x, oldest word of weights
  input  wire logic         row_valid_i,
  input  wire row_ctl_t     row_i,
  input  wire logic         hazard_i,
  input  wire logic         weight_valid_i,
  input  wire weight_ctl_t  weight_i,
  input  wire logic         row_stop_i,
  input  wire logic         weight_stop_i,
  input  wire logic [Flight-1:0] kill_i,      // rows issued k + 1 cycles ago that are dropped
  output logic              no_weights_o,
  output logic              row_issue_o,
  output logic              weight_issue_o,
  output logic              flight_o,         // rows in the array, results not all written
  // counters
  output logic              cnt_busy_o,
  output logic              cnt_weight_wait_o,
  output logic              cnt_acc_wait_o,
  output logic              cnt_vmem_wait_o,
  output logic              cnt_drain_o,
  output logic              cnt_idle_o,
  output logic [31:0]       cnt_macs_o
);
  localparam int unsigned SwapLead = (PeLatency - 1) * (N - 1);

  logic             shadow_busy_q, shadow_ready_q;   // a tile is being loaded or ready; it is ready
  logic             tile_start_q;                    // the next row is the first of its tile
  logic             int8_q;                          // type of the rows in flight
  logic [Flight-1:0] flight_q;                       // bit k: a row was issued k + 1 cycles ago
  logic [Flight-1:0] last_q;                         // the same, a command's last row
  logic             other_type, no_weights, swap, shadow_free;
  logic [LaneBits+1:0] k_elements;

  assign flight_o = |flight_q;
  assign other_type = row_valid_i & (row_i.int8 != int8_q) & flight_o;
  assign no_weights = tile_start_q & !shadow_ready_q;
  assign no_weights_o = no_weights;
  assign row_issue_o = row_valid_i & !other_type & !hazard_i & !no_weights & !row_stop_i;
  assign swap = row_issue_o & row_i.swap;
  assign weight_issue_o = weight_valid_i & !weight_stop_i
                        & (!weight_i.first | shadow_free);
  assign retire_o = last_q[Flight-1];

  if (SwapLead == 0) begin : gen_free_with_swap
    assign shadow_free = !shadow_busy_q | swap;
  end else begin : gen_free_behind_swap
    logic [$clog2(SwapLead+1)-1:0] lead_q;           // cycles until the swap is far enough down
    assign shadow_free = !shadow_busy_q & (lead_q == '0);
    always_ff @(posedge clk_i) begin
      if (!rst_ni) lead_q <= '0;
      else if (swap) lead_q <= $bits(lead_q)'(SwapLead - 1);
      else if (lead_q != '0) lead_q <= lead_q - 1'b1;
    end
  end

  always_comb begin
    cnt_busy_o = 1'b0;
    cnt_weight_wait_o = 1'b0;
    cnt_acc_wait_o = 1'b0;
    cnt_vmem_wait_o = 1'b0;
    cnt_drain_o = 1'b0;
    cnt_idle_o = 1'b0;
    if (row_issue_o) cnt_busy_o = 1'b1;
    else if (!rows_left_i & !arriving_i) begin
      cnt_drain_o = active_i;
      cnt_idle_o = !active_i;
    end else if (other_type) cnt_drain_o = 1'b1;
    else if (row_valid_i & hazard_i) cnt_acc_wait_o = 1'b1;
    else if (no_weights) cnt_weight_wait_o = 1'b1;
    else cnt_vmem_wait_o = 1'b1;
    k_elements = row_i.int8 ? {row_i.rows, 1'b0} - (LaneBits + 2)'(row_i.odd) : {1'b0, row_i.rows};
    cnt_macs_o = row_issue_o ? 32'(k_elements) * 32'(row_i.cols) : 32'd0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      shadow_busy_q <= 1'b0;
      shadow_ready_q <= 1'b0;
      tile_start_q <= 1'b1;
      int8_q <= 1'b0;
      flight_q <= '0;
      last_q <= '0;
    end else begin
      shadow_busy_q <= (shadow_busy_q & !swap) | weight_issue_o;
      shadow_ready_q <= (shadow_ready_q & !swap) | (weight_issue_o & weight_i.last);
      if (row_issue_o) begin
        tile_start_q <= row_i.tile_last;
        int8_q <= row_i.int8;
      end
      flight_q <= {flight_q[Flight-2:0] & ~kill_i[Flight-2:0], row_issue_o};
      last_q <= {last_q[Flight-2:0] & ~kill_i[Flight-2:0], row_issue_o & row_i.command_last};
    end
  end

  logic unused_ctl;
  assign unused_ctl = &{1'b0, row_i.from_acc, row_i.acc_row, weight_i.index, weight_i.row,
                        weight_i.cols, weight_i.int8, kill_i[Flight-1]};
endmodule
`default_nettype wire
