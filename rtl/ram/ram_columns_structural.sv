`default_nettype none
// ram_columns with an instance of ram_1r1w for each of Rows RAMs of a column and bank.
module ram_columns_structural
  import ram_pkg::access_t;
#(
  parameter int unsigned Count = 8,
  parameter int unsigned Words = 64,         // of a column and bank
  parameter int unsigned CheckBits = 7,      // beside 32 bits of data, in a lane of 32
  parameter int unsigned Rows = 1,           // a power of two; word a lies in RAM a % Rows
  localparam int unsigned WordBits = $clog2(Words),
  localparam int unsigned AddrBits = WordBits + 1,
  localparam int unsigned RowBits = $clog2(Rows),
  localparam int unsigned IndexBits = $clog2(Count)
) (
  input  wire logic                 clk_i,
  // read of each column; data of a column that is not enabled mean nothing
  input  wire access_t [Count-1:0]  read_i,
  output logic [32*Count-1:0]       rdata_o,
  output logic [32*Count-1:0]       rcheck_o,
  // reads of rows, of a bank each from another RAM
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
  localparam int unsigned Rams = 2 * Rows;   // of a column; bank b, row r modulo Rows: b Rows + r
  typedef logic [$clog2(Rams)-1:0] ram_t;

  // The RAM of an address.
  function automatic ram_t ram_of(input logic [30:0] address);
    ram_of = ram_t'(32'(address[WordBits]) * Rows
                    + 32'(address[WordBits-1:0]) % Rows);
  endfunction

  ram_t row_ram_q[Rows];                     // of the last rows that were read

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Rows; i++)
      if (row_read_i[i].enable) row_ram_q[i] <= ram_of(row_read_i[i].address);
  end

  for (genvar j = 0; j < Count; j++) begin : gen_column
    logic [Rams-1:0][31:0]          data;
    logic [Rams-1:0][CheckBits-1:0] check;
    ram_t                           ram_q;   // of the column's last read

    always_ff @(posedge clk_i) begin
      if (read_i[j].enable) ram_q <= ram_of(read_i[j].address);
    end

    for (genvar b = 0; b < Rams; b++) begin : gen_bank
      logic                       read;
      logic [WordBits-1:RowBits]  address;   // in the RAM

      always_comb begin
        read = read_i[j].enable && ram_of(read_i[j].address) == ram_t'(b);
        address = read_i[j].address[WordBits-1:RowBits];
        for (int unsigned i = 0; i < Rows; i++)
          if (row_read_i[i].enable && ram_of(row_read_i[i].address) == ram_t'(b)) begin
            read = 1'b1;
            address = row_read_i[i].address[WordBits-1:RowBits];
          end
      end

      ram_1r1w #(
        .Words(Words / Rows), .Granules(1), .DataBits(32), .CheckBits(CheckBits)
      ) u_ram (
        .clk_i, .read_i(read), .raddr_i(address),
        .rdata_o(data[b]), .rcheck_o(check[b]),
        .write_i(write_i[j].enable && ram_of(write_i[j].address) == ram_t'(b)),
        .waddr_i(write_i[j].address[WordBits-1:RowBits]), .wdata_i(wdata_i[32*j+:32]),
        .wcheck_i(wcheck_i[32*j+:CheckBits]),
        .flip_i(flip_i && ram_of(31'(flip_addr_i)) == ram_t'(b) && flip_column_i == IndexBits'(j)),
        .flip_addr_i(flip_addr_i[WordBits-1:RowBits]), .flip_data_i, .flip_check_i);
    end

    assign rdata_o[32*j+:32] = data[ram_q];
    assign rcheck_o[32*j+:32] = 32'(check[ram_q]);
    for (genvar i = 0; i < Rows; i++) begin : gen_row
      assign row_rdata_o[i][32*j+:32] = data[row_ram_q[i]];
      assign row_rcheck_o[i][32*j+:32] = 32'(check[row_ram_q[i]]);
    end
  end

  logic unused_bits;                         // of each lane, those above an address or check bits
  assign unused_bits = &{1'b0, read_i, row_read_i, write_i, wcheck_i};
endmodule
`default_nettype wire
