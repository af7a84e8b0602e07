`default_nettype none
// The RAMs of ACC: two banks of Count columns, each of Rows RAMs of one granule of 32 bits: word a
// in RAM a % Rows. A column has addresses of its own. This is the form that is simulated fast;
// ram_columns_structural has an instance of ram_1r1w for each RAM.
//
//   read_i       column j reads its address            write_i   column j writes its address
//   row_read_i   all columns read one address, of a bank that no column reads in that cycle; up to
//                Rows such reads, of a bank each from another RAM
//
// One loop reads all columns and one writes them. The arrays are private to one process, which
// reads before it writes; blocking, because Verilator takes no other assignment to an array in a
// loop. What is read where it is written is noise. An address is {bank, word}.
module ram_columns
  import ram_pkg::access_t;
#(
  parameter int unsigned Count = 8,
  parameter int unsigned Words = 64,         // of a column and bank
  parameter int unsigned CheckBits = 7,      // beside 32 bits of data, in a lane of 32
  parameter int unsigned Rows = 1,           // a power of two
  localparam int unsigned AddrBits = $clog2(Words) + 1,
  localparam int unsigned IndexBits = $clog2(Count)
) (
  input  wire logic                 clk_i,
  // read of each column; data of a column that is not enabled mean nothing
  input  wire access_t [Count-1:0]  read_i,
  output logic [32*Count-1:0]       rdata_o,
  output logic [32*Count-1:0]       rcheck_o,
  // reads of rows
  input  wire access_t [Rows-1:0]           row_read_i,
  output logic [Rows-1:0][32*Count-1:0]     row_rdata_o,
  output logic [Rows-1:0][32*Count-1:0]     row_rcheck_o,
  // write
  input  wire access_t [Count-1:0]  write_i,
  input  wire logic [32*Count-1:0]  wdata_i,
  input  wire logic [32*Count-1:0]  wcheck_i,
  // upset: bits of one column flip; no part of the macro
  input  wire logic                 flip_i,
  input  wire logic [IndexBits-1:0] flip_column_i,
  input  wire logic [AddrBits-1:0]  flip_addr_i,
  input  wire logic [31:0]          flip_data_i,
  input  wire logic [CheckBits-1:0] flip_check_i
);
  /* verilator inline_module */
  typedef logic [32*Count-1:0] lanes_t;
  // word a of column j at a Count + j
  logic [31:0] words[2*Words*Count] /* verilator public_flat_rd */;
  logic [7:0]  checks[2*Words*Count] /* verilator public_flat_rd */;
  logic [31:0] noise_q;

  // verilator lint_off BLKSEQ
  // What is read. No functions: Verilator clears their results, and copies their arguments, at the
  // start of every cycle.
  lanes_t data, check;
  logic [31:0] word[Count], stored[Count];
  task automatic read_columns();
    logic [31:0] met;
    met = 32'd0;
    for (int unsigned j = 0; j < Count; j++) begin
      word[j] = words[{read_i[j].address[AddrBits-1:0], IndexBits'(j)}];
      stored[j] = 32'(checks[{read_i[j].address[AddrBits-1:0], IndexBits'(j)}]);
    end
    for (int unsigned j = 0; j < Count; j++) data[32*j+:32] = word[j];
    for (int unsigned j = 0; j < Count; j++) check[32*j+:32] = stored[j];
    for (int unsigned j = 0; j < Count; j++)
      met = met | (read_i[j] == write_i[j] ? write_i[j] : 32'd0);
    if (met[31]) begin
      for (int unsigned j = 0; j < Count; j++)
        if (read_i[j] == write_i[j] && write_i[j].enable) begin
          data[32*j+:32] = data[32*j+:32] ^ noise_q;
          check[32*j+:32] = check[32*j+:32] ^ 32'(noise_q[31-:CheckBits]);
        end
      noise_q <= ram_pkg::next_noise(noise_q);
    end
  endtask

  task automatic read_row(input int unsigned i);
    access_t read;
    logic [31:0] met;
    read = row_read_i[i];
    met = 32'd0;
    for (int unsigned j = 0; j < Count; j++)
      data[32*j+:32] = words[{read.address[AddrBits-1:0], IndexBits'(j)}];
    for (int unsigned j = 0; j < Count; j++)
      check[32*j+:32] = 32'(checks[{read.address[AddrBits-1:0], IndexBits'(j)}]);
    for (int unsigned j = 0; j < Count; j++)
      met = met | (read == write_i[j] ? write_i[j] : 32'd0);
    if (met[31]) begin
      for (int unsigned j = 0; j < Count; j++)
        if (read == write_i[j]) begin
          data[32*j+:32] = data[32*j+:32] ^ noise_q;
          check[32*j+:32] = check[32*j+:32] ^ 32'(noise_q[31-:CheckBits]);
        end
      noise_q <= ram_pkg::next_noise(noise_q);
    end
  endtask

  task automatic write_columns();
    for (int unsigned j = 0; j < Count; j++)
      if (write_i[j].enable) begin
        words[{write_i[j].address[AddrBits-1:0], IndexBits'(j)}] = wdata_i[32*j+:32];
        checks[{write_i[j].address[AddrBits-1:0], IndexBits'(j)}] = 8'(wcheck_i[32*j+:CheckBits]);
      end
  endtask

  always_ff @(posedge clk_i) begin
    logic [31:0] any_read, any_written;
    any_read = 32'd0;
    any_written = 32'd0;
    for (int unsigned j = 0; j < Count; j++) any_read = any_read | read_i[j];
    for (int unsigned j = 0; j < Count; j++) any_written = any_written | write_i[j];
    if (any_read[31]) begin
      read_columns();
      rdata_o <= data;
      rcheck_o <= check;
    end
    for (int unsigned i = 0; i < Rows; i++)
      if (row_read_i[i].enable) begin
        read_row(i);
        row_rdata_o[i] <= data;
        row_rcheck_o[i] <= check;
      end
    if (any_written[31]) write_columns();
    if (flip_i) begin
      words[{flip_addr_i, flip_column_i}] = words[{flip_addr_i, flip_column_i}] ^ flip_data_i;
      checks[{flip_addr_i, flip_column_i}] = checks[{flip_addr_i, flip_column_i}]
                                           ^ 8'(flip_check_i);
    end
  end
  // verilator lint_on BLKSEQ

  logic unused_bits;                         // of each lane, those above an address or check bits
  assign unused_bits = &{1'b0, read_i, row_read_i, write_i, wcheck_i};
endmodule
`default_nettype wire
