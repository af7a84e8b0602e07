// The model of a PE's multiply-add with a sum of +0 or -0: the bf16 product. All 2^32 pairs of operands and both zeros.
// The reference normalises the exact product of two 8-bit significands; nothing is rounded, for 16 bits fit into 24.
module bf16_product (
  input logic [15:0] a_i,
  input logic [15:0] b_i,
  input logic        negative_zero_i
);
  wire [31:0] result = bf16_fma_pkg::fma(a_i, b_i, {negative_zero_i, 31'd0});

  wire sign = a_i[15] ^ b_i[15];
  wire a_zero = a_i[14:7] == 8'd0, b_zero = b_i[14:7] == 8'd0;      // subnormals too
  wire a_top = a_i[14:7] == 8'd255, b_top = b_i[14:7] == 8'd255;
  wire nan = (a_top && a_i[6:0] != 0) || (b_top && b_i[6:0] != 0) || (a_top && b_zero) || (b_top && a_zero);
  // the product of signed significands, as the model forms it (Yosys gives both one multiplier), then sign and magnitude
  function automatic logic [31:0] signed_significand(input logic [15:0] a);
    signed_significand = a[14:7] == 8'd0 ? 32'd0 : a[15] ? -{24'd0, 1'b1, a[6:0]} : {24'd0, 1'b1, a[6:0]};
  endfunction
  wire [31:0] scaled = (signed_significand(a_i) << 13) * signed_significand(b_i);
  wire [31:0] magnitude = scaled[31] ? -scaled : scaled;
  wire [15:0] exact = magnitude[28:13];
  wire [9:0] exponent = {2'd0, a_i[14:7]} + {2'd0, b_i[14:7]} + {9'd0, exact[15]};    // biased by 254
  wire [22:0] fraction = exact[15] ? {exact[14:0], 8'd0} : {exact[13:0], 9'd0};
  wire [7:0] biased = exponent - 10'd127;
  wire [31:0] expected = nan ? 32'h7fc00000
                       : a_top || b_top || (!a_zero && !b_zero && exponent >= 10'd382) ? {sign, 8'd255, 23'd0}
                       : a_zero || b_zero ? {sign && negative_zero_i, 31'd0}
                       : exponent <= 10'd127 ? {sign, 31'd0}
                       : {sign, biased, fraction};
  always_comb begin
    ProductExact_A: assert (result == expected);
    Normal_C: cover (result == 32'h40490000);
    Overflow_C: cover (!a_top && !b_top && result == 32'hff800000);
    Flushed_C: cover (!a_zero && !b_zero && result == 32'h80000000);
  end
endmodule
