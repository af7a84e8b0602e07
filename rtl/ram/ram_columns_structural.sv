`default_nettype none
// ram_columns with an instance of ram_1r1w for each column and bank.
module ram_columns_structural
  import ram_pkg::access_t;
#(
  parameter int unsigned Count = 8,
  parameter int unsigned Words = 64,         // of a RAM
  parameter int unsigned CheckBits = 7,      // beside 32 bits of data, in a lane of 32
  localparam int unsigned WordBits = $clog2(Words),
  localparam int unsigned AddrBits = WordBits + 1,
  localparam int unsigned IndexBits = $clog2(Count)
) (
  input  wire logic                 clk_i,
  // read of each column; data of a column that is not enabled mean nothing
  input  wire access_t [Count-1:0]  read_i,
  output logic [32*Count-1:0]       rdata_o,
  output logic [32*Count-1:0]       rcheck_o,
  // read of a row
  input  wire access_t              row_read_i,
  output logic [32*Count-1:0]       row_rdata_o,
  output logic [32*Count-1:0]       row_rcheck_o,
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
  logic row_bank_q;                          // the bank of the last row that was read

  always_ff @(posedge clk_i) begin
    if (row_read_i.enable) row_bank_q <= row_read_i.address[WordBits];
  end

  for (genvar j = 0; j < Count; j++) begin : gen_column
    logic [1:0][31:0]          data;
    logic [1:0][CheckBits-1:0] check;
    logic                      bank_q;       // the bank of the column's last read

    always_ff @(posedge clk_i) begin
      if (read_i[j].enable) bank_q <= read_i[j].address[WordBits];
    end

    for (genvar b = 0; b < 2; b++) begin : gen_bank
      wire row = row_read_i.enable & (row_read_i.address[WordBits] == b[0]);
      wire column = read_i[j].enable & (read_i[j].address[WordBits] == b[0]);
      ram_1r1w #(.Words(Words), .Granules(1), .DataBits(32), .CheckBits(CheckBits)) u_ram (
        .clk_i, .read_i(row | column),
        .raddr_i(row ? row_read_i.address[WordBits-1:0] : read_i[j].address[WordBits-1:0]),
        .rdata_o(data[b]), .rcheck_o(check[b]),
        .write_i(write_i[j].enable & (write_i[j].address[WordBits] == b[0])),
        .waddr_i(write_i[j].address[WordBits-1:0]), .wdata_i(wdata_i[32*j+:32]),
        .wcheck_i(wcheck_i[32*j+:CheckBits]),
        .flip_i(flip_i & (flip_addr_i[WordBits] == b[0]) & (flip_column_i == IndexBits'(j))),
        .flip_addr_i(flip_addr_i[WordBits-1:0]), .flip_data_i, .flip_check_i);
    end

    assign rdata_o[32*j+:32] = data[bank_q];
    assign rcheck_o[32*j+:32] = 32'(check[bank_q]);
    assign row_rdata_o[32*j+:32] = data[row_bank_q];
    assign row_rcheck_o[32*j+:32] = 32'(check[row_bank_q]);
  end

  logic unused_bits;                         // of each lane, those above an address or check bits
  assign unused_bits = &{1'b0, read_i, row_read_i, write_i, wcheck_i};
endmodule
`default_nettype wire
