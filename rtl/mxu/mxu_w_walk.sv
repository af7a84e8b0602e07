`default_nettype none
// Walks the weights of a job, tile by tile, the bottom row of a tile first: that word has the
// longest way down.
module mxu_w_walk
  import mxu_pkg::*;
(
  input  wire logic    clk_i,
  input  wire logic    rst_ni,
  // oldest job whose weights are not all read
  input  wire logic    job_valid_i,
  input  wire job_t    job_i,
  output logic         job_done_o,    // its last word is taken in this cycle
  // next word
  output logic         want_o,
  output addr_t        addr_o,
  output weight_ctl_t  ctl_o,
  input  wire logic    taken_i
);
  logic        first_q, first_d;      // a word of tile 0 comes next
  addr_t       tile_q, tile_d;        // of the tile's top row, unless first
  count_t      index_q, index_d;      // words of the tile already taken
  logic [31:0] tile_index_q, tile_index_d;
  addr_t       tile;
  count_t      rows, row;
  logic        word_last, tile_last;

  assign tile = first_q ? job_i.w_addr : tile_q;
  assign tile_last = tile_index_q == job_i.tiles - 32'd1;
  assign rows = tile_last ? job_i.last_rows : count_t'(N);
  assign row = rows - count_t'(1) - index_q;
  assign word_last = row == '0;
  assign want_o = job_valid_i;
  assign addr_o = tile + addr_t'(row);
  assign job_done_o = taken_i & word_last & tile_last;

  assign ctl_o = '{
      first: index_q == '0,
      last: word_last,
      index: index_q,
      row: row,
      cols: job_i.cols,
      int8: job_i.int8
  };

  always_comb begin
    first_d = first_q;
    tile_d = tile_q;
    index_d = index_q;
    tile_index_d = tile_index_q;
    if (taken_i) begin
      index_d = word_last ? '0 : index_q + count_t'(1);
      if (word_last) begin
        first_d = tile_last;
        tile_d = tile + job_i.w_tile_stride;
        tile_index_d = tile_last ? 32'd0 : tile_index_q + 32'd1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    tile_q <= tile_d;
    if (!rst_ni) begin
      first_q <= 1'b1;
      index_q <= '0;
      tile_index_q <= '0;
    end else begin
      first_q <= first_d;
      index_q <= index_d;
      tile_index_q <= tile_index_d;
    end
  end

  logic unused_job;
  assign unused_job = &{1'b0, job_i.x_addr, job_i.x_row_stride, job_i.x_tile_stride, job_i.odd,
                        job_i.m, job_i.acc_row, job_i.keep};
endmodule
`default_nettype wire
