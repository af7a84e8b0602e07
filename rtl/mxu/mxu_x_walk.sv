`default_nettype none
// Walks the rows of x of a job, tile by tile: an address and what travels with the row, one a
// cycle.
module mxu_x_walk
  import mxu_pkg::*;
(
  input  wire logic  clk_i,
  input  wire logic  rst_ni,
  // oldest job whose rows are not all read
  input  wire logic  job_valid_i,
  input  wire job_t  job_i,
  output logic       job_done_o,      // its last row is taken in this cycle
  // next row
  output logic       want_o,
  output addr_t      addr_o,
  output row_ctl_t   ctl_o,
  input  wire logic  taken_i
);
  logic        first_q, first_d;      // row 0 of tile 0 comes next
  addr_t       addr_q, addr_d;        // of the next row, unless first
  addr_t       tile_q, tile_d;        // of row 0 of its tile
  logic [15:0] row_q, row_d;
  logic [31:0] tile_index_q, tile_index_d;
  addr_t       tile;
  logic        row_last, tile_last;

  assign want_o = job_valid_i;
  assign addr_o = first_q ? job_i.x_addr : addr_q;
  assign tile = first_q ? job_i.x_addr : tile_q;
  assign row_last = row_q == job_i.m - 16'd1;
  assign tile_last = tile_index_q == job_i.tiles - 32'd1;
  assign job_done_o = taken_i & row_last & tile_last;

  assign ctl_o = '{
      swap: row_q == 16'd0,
      tile_last: row_last,
      command_last: row_last & tile_last,
      from_acc: job_i.keep | (tile_index_q != 32'd0),
      acc_row: job_i.acc_row + acc_row_t'(row_q),
      rows: tile_last ? job_i.last_rows : count_t'(N),
      odd: job_i.odd & tile_last,
      cols: job_i.cols,
      int8: job_i.int8
  };

  always_comb begin
    first_d = first_q;
    addr_d = addr_q;
    tile_d = tile_q;
    row_d = row_q;
    tile_index_d = tile_index_q;
    if (taken_i) begin
      first_d = row_last & tile_last;
      tile_d = row_last ? tile + job_i.x_tile_stride : tile;
      addr_d = row_last ? tile_d : addr_o + job_i.x_row_stride;
      row_d = row_last ? 16'd0 : row_q + 16'd1;
      if (row_last) tile_index_d = tile_last ? 32'd0 : tile_index_q + 32'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    addr_q <= addr_d;
    tile_q <= tile_d;
    if (!rst_ni) begin
      first_q <= 1'b1;
      row_q <= '0;
      tile_index_q <= '0;
    end else begin
      first_q <= first_d;
      row_q <= row_d;
      tile_index_q <= tile_index_d;
    end
  end

  logic unused_job;
  assign unused_job = &{1'b0, job_i.w_addr, job_i.w_tile_stride};
endmodule
`default_nettype wire
