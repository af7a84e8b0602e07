`default_nettype none
// Checks a granule of 64 or 32 bits and corrects one wrong bit (secded_pkg). Combinational.
//
//   no error        data_o = data_i
//   one bit         data_o is what was encoded, corrected_o
//   two bits        poison_o; data_o means nothing (so are more bits whose syndrome no bit has)
module secded_decode #(
  parameter int unsigned DataBits = 64,    // 64 or 32
  localparam int unsigned CheckBits = DataBits == 64 ? 8 : 7
) (
  input  logic [DataBits-1:0]  data_i,
  input  logic [CheckBits-1:0] check_i,
  output logic [DataBits-1:0]  data_o,
  output logic                 corrected_o,
  output logic                 poison_o
);
  logic [CheckBits-1:0] check, syndrome;
  logic [DataBits-1:0] flip;
  logic [7:0] wide;

  secded_encode #(.DataBits(DataBits)) u_encode (.data_i(data_i), .check_o(check));
  assign syndrome = check ^ check_i;

  if (DataBits == 64) begin : gen_64
    assign wide = syndrome;
    assign flip = secded_pkg::error64(syndrome);
  end else begin : gen_32
    assign wide = {1'b0, syndrome};
    assign flip = secded_pkg::error32(syndrome);
  end

  assign data_o = data_i ^ flip;
  assign corrected_o = flip != 0 || secded_pkg::check_error(wide);
  assign poison_o = syndrome != 0 && !corrected_o;
endmodule
`default_nettype wire
