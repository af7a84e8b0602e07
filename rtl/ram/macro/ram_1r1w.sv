`default_nettype none
// ram_1r1w for synthesis: the technology's macro, whose codewords lie granule after granule, check
// bits above the data. Nothing flips.
module ram_1r1w #(
  parameter int unsigned Words = 64,
  parameter int unsigned Granules = 2,       // of a word
  parameter int unsigned DataBits = 64,      // of a granule
  parameter int unsigned CheckBits = 8,
  localparam int unsigned AddrBits = $clog2(Words),
  localparam int unsigned WordBits = Granules * DataBits,
  localparam int unsigned WordChecks = Granules * CheckBits,
  localparam int unsigned CodeBits = DataBits + CheckBits
) (
  input  wire logic                  clk_i,
  // read
  input  wire logic                  read_i,
  input  wire logic [AddrBits-1:0]   raddr_i,
  output logic [WordBits-1:0]        rdata_o,
  output logic [WordChecks-1:0]      rcheck_o,
  // write
  input  wire logic [Granules-1:0]   write_i,
  input  wire logic [AddrBits-1:0]   waddr_i,
  input  wire logic [WordBits-1:0]   wdata_i,
  input  wire logic [WordChecks-1:0] wcheck_i,
  // upset: not built
  input  wire logic [Granules-1:0]   flip_i,
  input  wire logic [AddrBits-1:0]   flip_addr_i,
  input  wire logic [DataBits-1:0]   flip_data_i,
  input  wire logic [CheckBits-1:0]  flip_check_i
);
  logic [Granules*CodeBits-1:0] rcode, wcode;

  for (genvar g = 0; g < Granules; g++) begin : gen_granule
    assign wcode[g*CodeBits+:CodeBits] = {wcheck_i[g*CheckBits+:CheckBits],
                                          wdata_i[g*DataBits+:DataBits]};
    assign {rcheck_o[g*CheckBits+:CheckBits],
            rdata_o[g*DataBits+:DataBits]} = rcode[g*CodeBits+:CodeBits];
  end

  ram_macro #(.Words(Words), .Granules(Granules), .CodeBits(CodeBits)) u_macro (
    .clk_i, .read_i, .raddr_i, .rdata_o(rcode), .write_i, .waddr_i, .wdata_i(wcode));

  logic unused_flip;
  assign unused_flip = &{1'b0, flip_i, flip_addr_i, flip_data_i, flip_check_i};
endmodule
`default_nettype wire
