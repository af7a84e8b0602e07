// The PE's multiply-add over a reduced format, exhaustively: operands of 3 significant bits and 3 bits of exponent, a sum
// whose significand has free bits at both ends and 5 bits of exponent. Gaps of 28 binades, ties, cancellation and carries
// are among them. The reference is an integer of 64 bits with an unit of 2^-40: exact, then rounded once.
module fma_reduced (
  input logic       a_sign_i, b_sign_i, c_sign_i,
  input logic [2:0] a_exponent_i, b_exponent_i,     // 2^-7 to 2^0
  input logic [4:0] c_exponent_i,                   // 2^-17 to 2^14
  input logic [1:0] a_fraction_i, b_fraction_i, c_high_i, c_low_i
);
  wire [15:0] a = {a_sign_i, 8'd120 + {5'd0, a_exponent_i}, a_fraction_i, 5'd0};
  wire [15:0] b = {b_sign_i, 8'd120 + {5'd0, b_exponent_i}, b_fraction_i, 5'd0};
  wire [31:0] c = {c_sign_i, 8'd110 + {3'd0, c_exponent_i}, c_high_i, 19'd0, c_low_i};
  wire [31:0] result = bf16_fma_pkg::fma(a, b, c);

  logic [63:0] product, addend, sum, magnitude, quotient, rest, half;
  logic [5:0] top;
  logic [7:0] exponent;
  logic sign;
  logic [31:0] expected;
  always_comb begin
    product = (64'({1'b1, a_fraction_i}) * 64'({1'b1, b_fraction_i})) << (6'd22 + 6'(a_exponent_i) + 6'(b_exponent_i));
    addend = 64'({1'b1, c_high_i, 19'd0, c_low_i}) << c_exponent_i;
    sum = (a_sign_i != b_sign_i ? -product : product) + (c_sign_i ? -addend : addend);
    sign = sum[63];
    magnitude = sign ? -sum : sum;
    top = 6'd0;
    for (int unsigned i = 0; i < 64; i++) if (magnitude[i]) top = 6'(i);
    half = 64'd0;
    rest = 64'd0;
    if (top <= 6'd23) quotient = magnitude << (6'd23 - top);
    else begin
      quotient = magnitude >> (top - 6'd23);
      rest = magnitude - (quotient << (top - 6'd23));
      half = 64'd1 << (top - 6'd24);
      if (rest > half || (rest == half && quotient[0])) quotient = quotient + 64'd1;
    end
    exponent = 8'(top) + 8'd87 + 8'(quotient[24]);  // quotient 2^24: one binade up, fraction 0
    expected = magnitude == 64'd0 ? 32'd0 : {sign, exponent, quotient[22:0]};
    RoundedOnce_A: assert (result == expected);
    Tie_C: cover (rest == half && half != 64'd0 && quotient[0] == 1'b0);
    AboveTie_C: cover (rest > half && half != 64'd0);
    Cancels_C: cover (magnitude == 64'd0);
    CancelsAlmost_C: cover (top <= 6'd19 && magnitude != 64'd0 && c_exponent_i > 5'd4);
    Carries_C: cover (quotient[24]);
  end
endmodule
