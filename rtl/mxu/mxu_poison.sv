`default_nettype none
// Stops the MXU before it computes with what ECC could not correct, and says when that is a fault.
//
// Order of a tile: its weights, then row after row, each with its seeds. A poisoned word is used if
// a poisoned granule lies in a PE row below K (x) or a lane below cols (weights). It stands at the
// head of its FIFO and holds all that follow; rows before it finish. When none is in flight any
// more, and nothing older is missing, the fault is raised. Combinational.
module mxu_poison
  import mxu_pkg::*;
(
  // oldest row of x, oldest word of weights
  input  wire logic         row_valid_i,
  input  wire row_ctl_t     row_i,
  input  wire addr_t        row_addr_i,
  input  wire poison_t      row_poison_i,
  input  wire logic         weight_valid_i,
  input  wire weight_ctl_t  weight_i,
  input  wire addr_t        weight_addr_i,
  input  wire poison_t      weight_poison_i,
  // a seed of ACC row acc_row_i was poisoned; its row and those after it are dropped
  input  wire logic         acc_poison_i,
  input  wire acc_row_t     acc_row_i,
  // issue
  input  wire logic         no_weights_i,     // the next row begins a tile that is not loaded
  input  wire logic         flight_i,
  output logic              row_stop_o,
  output logic              weight_stop_o,
  output logic              fault_o,
  output logic [63:0]       address_o
);
  // The first poisoned granule among those that hold the first `lanes` lanes.
  function automatic logic used(input poison_t poison, input count_t lanes);
    logic [31:0] hit;
    hit = 32'd0;
    if (poison != '0)
      for (int unsigned g = 0; g < Granules; g++)
        hit = hit | (poison[g] && 4 * g < 32'(lanes) ? 32'd1 : 32'd0);
    used = hit[0];
  endfunction

  function automatic logic [63:0] address(input addr_t word, input poison_t poison);
    address = 64'd0;
    for (int unsigned g = Granules; g > 0; g--)
      if (poison[g-1]) address = 64'(word) * 64'(chip_pkg::WordBytes) + 64'(g) * 64'd8 - 64'd8;
  endfunction

  logic row_bad, row_fault, weight_fault;

  assign row_bad = row_valid_i & used(row_poison_i, row_i.rows);
  assign row_stop_o = row_bad | acc_poison_i;
  assign weight_stop_o = weight_valid_i & used(weight_poison_i, weight_i.cols);
  assign row_fault = row_bad & !no_weights_i;
  assign weight_fault = weight_stop_o & no_weights_i;
  assign fault_o = (acc_poison_i | row_fault | weight_fault) & !flight_i;

  always_comb begin
    address_o = 64'd0;
    if (fault_o) begin
      if (acc_poison_i) address_o = {1'b1, 63'(acc_row_i)};
      else if (row_fault) address_o = address(row_addr_i, row_poison_i);
      else address_o = address(weight_addr_i, weight_poison_i);
    end
  end

  logic unused_ctl;
  assign unused_ctl = &{1'b0, row_i, weight_i};
endmodule
`default_nettype wire
