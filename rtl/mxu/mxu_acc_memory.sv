`default_nettype none
// The memories of ACC: RAMs of rtl/ram, whose reads see what is written in the same cycle. A row
// that seeds from the one issued Depth + 1 cycles before it reads each column in the very cycle in
// which that is written.
//
//   write ─┬─► RAMs ──┐
//          └─► late_q ┴─► of each lane late_q if it was written where it was read, else the RAM's
//
// Data follow the read in the next cycle; check bits are the low 7 of their lanes. An address is an
// ACC row. Of rows, who has read merges the two by mxu_pkg::merge, only then: nothing wide moves
// while no row is read.
module mxu_acc_memory
  import mxu_pkg::*, ram_pkg::access_t;
#(
  parameter bit Structural = 1'b0       // 1: instances of a RAM; the same cycles, slowly
) (
  input  wire logic                clk_i,
  // read of each column; data of a column that is not enabled mean nothing
  input  wire access_t [N-1:0]     read_i,
  output lanes_t                   rdata_o,
  output lanes_t                   rcheck_o,
  // reads of rows, of a bank that no column reads in that cycle, each of other RAMs (ram_columns)
  input  wire access_t [ReadRows-1:0] row_read_i,
  output lanes_t [ReadRows-1:0]    row_rdata_o,     // of the RAMs,
  output lanes_t [ReadRows-1:0]    row_rcheck_o,
  output logic [ReadRows-1:0]      row_late_any_o,  // and some lanes of the row were just written:
  output lanes_t [ReadRows-1:0]    row_late_o,      // lanes of ones,
  output lanes_t                   row_late_data_o,     // with this
  output lanes_t                   row_late_check_o,
  // write
  input  wire access_t [N-1:0]     write_i,
  input  wire lanes_t              wdata_i,
  input  wire lanes_t              wcheck_i,
  // fault injection
  input  wire logic                flip_i,
  input  wire logic [LaneBits-1:0] flip_column_i,
  input  wire acc_row_t            flip_row_i,
  input  wire logic [31:0]         flip_data_i,
  input  wire logic [6:0]          flip_check_i
);
  /* verilator inline_module */
  lanes_t ram_data, ram_check;
  lanes_t [ReadRows-1:0] row_late_q;
  lanes_t late_q;                            // lanes of ones: written where they were read
  lanes_t late_data_q, late_check_q;
  logic   late_any_q;
  logic [ReadRows-1:0] row_late_any_q;

  if (Structural) begin : gen_structural
    ram_columns_structural #(
        .Count(N), .Words(chip_pkg::AccBankRows), .CheckBits(7), .Rows(ReadRows)) u_ram (
        .clk_i, .read_i, .rdata_o(ram_data), .rcheck_o(ram_check), .row_read_i,
        .row_rdata_o, .row_rcheck_o, .write_i, .wdata_i, .wcheck_i,
        .flip_i, .flip_column_i, .flip_addr_i(flip_row_i), .flip_data_i, .flip_check_i);
  end else begin : gen_loops
    ram_columns #(
        .Count(N), .Words(chip_pkg::AccBankRows), .CheckBits(7), .Rows(ReadRows)) u_ram (
        .clk_i, .read_i, .rdata_o(ram_data), .rcheck_o(ram_check), .row_read_i,
        .row_rdata_o, .row_rcheck_o, .write_i, .wdata_i, .wcheck_i,
        .flip_i, .flip_column_i, .flip_addr_i(flip_row_i), .flip_data_i, .flip_check_i);
  end

  // Is some column written where it is read? The quick question, most often answered with no.
  function automatic logic meets(input access_t [N-1:0] reads, input access_t [N-1:0] writes);
    /* verilator no_inline_task */
    logic [31:0] all;
    all = 32'd0;
    for (int unsigned j = 0; j < N; j++)
      all = all | (reads[j] == writes[j] ? writes[j] : 32'd0);
    meets = all[31];
  endfunction

  function automatic lanes_t meetings(input access_t [N-1:0] reads);
    for (int unsigned j = 0; j < N; j++)
      meetings[32*j+:32] = reads[j] == write_i[j] && write_i[j].enable ? 32'hffffffff : 32'd0;
  endfunction

  always_ff @(posedge clk_i) begin
    logic met;
    logic [ReadRows-1:0] row_met;
    met = meets(read_i, write_i);
    for (int unsigned i = 0; i < ReadRows; i++) begin
      row_met[i] = 1'b0;
      if (row_read_i[i].enable) row_met[i] = meets({N{row_read_i[i]}}, write_i);
      if (row_met[i]) row_late_q[i] <= meetings({N{row_read_i[i]}});
    end
    late_any_q <= met;
    row_late_any_q <= row_met;
    if (met) late_q <= meetings(read_i);
    if (met || row_met != '0) begin
      late_data_q <= wdata_i;
      late_check_q <= wcheck_i;
    end
  end

  always_comb begin
    rdata_o = ram_data;
    rcheck_o = ram_check;
    if (late_any_q) begin
      rdata_o = merge(late_q, late_data_q, ram_data);
      rcheck_o = merge(late_q, late_check_q, ram_check);
    end
  end
  assign row_late_any_o = row_late_any_q;
  assign row_late_o = row_late_q;
  assign row_late_data_o = late_data_q;
  assign row_late_check_o = late_check_q;
endmodule
`default_nettype wire
