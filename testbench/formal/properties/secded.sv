// SECDED of one granule: a codeword with up to two wrong bits, any of all its bits, any data.
module secded_property #(
  parameter int unsigned DataBits = 64,
  localparam int unsigned CheckBits = DataBits == 64 ? 8 : 7,
  localparam int unsigned Bits = DataBits + CheckBits
) (
  input logic [DataBits-1:0] data_i,
  input logic [Bits-1:0]     flip_i
);
  wire [CheckBits-1:0] check;
  wire [DataBits-1:0] decoded;
  wire corrected, poison;
  wire [Bits-1:0] read = {check, data_i} ^ flip_i;

  secded_encode #(.DataBits(DataBits)) u_encode (.data_i(data_i), .check_o(check));
  secded_decode #(.DataBits(DataBits)) u_decode (
      .data_i(read[DataBits-1:0]), .check_i(read[Bits-1:DataBits]), .data_o(decoded), .corrected_o(corrected), .poison_o(poison));

  wire [Bits-1:0] rest = flip_i & (flip_i - 1'b1);
  wire none = flip_i == 0;
  wire one = !none && rest == 0;
  wire two = rest != 0 && (rest & (rest - 1'b1)) == 0;
  always_comb begin
    if (none) CleanPasses_A: assert (decoded == data_i && !corrected && !poison);
    if (one) SingleCorrected_A: assert (decoded == data_i && corrected && !poison);
    if (two) DoubleDetected_A: assert (poison && !corrected);
    DataBit_C: cover (one && corrected && flip_i[DataBits-1] && data_i[3:0] == 4'b1010);
    CheckBit_C: cover (one && corrected && flip_i[Bits-1]);
    Both_C: cover (two && poison && flip_i[Bits-1] && flip_i[0]);
  end
endmodule
