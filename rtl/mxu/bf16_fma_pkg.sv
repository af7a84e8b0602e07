`default_nettype none
// bf16 x bf16 + fp32 -> fp32 with one rounding (nearest even), subnormals read and written as zero
// (docs/numerics.md).
//
// The trick: a sum is held unpacked, as a signed significand and an exponent, so that a chain of
// multiply-adds needs one addition, one normalisation and one rounding a link and packs only at its
// ends. Everything is 32 bits wide and every choice a select, so a loop over lanes becomes vector
// instructions.
//
// Unpacked sum (m, e): value = m 2^-27 2^(e - ExpOne + 1 - 127), |m| in [2^27, 2^28] with its low
// four bits 0; zero is (0, 0). A sum whose exponent leaves [ExpOne, ExpOne + 252] is still exact in
// (m, e) but needs fma() to be packed rightly.

// A function that asks for the class of a number does not look at all of its bits:
// verilator lint_off UNUSEDSIGNAL
package bf16_fma_pkg;
  localparam logic [31:0] ExpOne = 32'd4096;            // e of the smallest normal number, 2^-126
  localparam logic [31:0] ExpMax = ExpOne + 32'd253;    // e of the largest binade, 2^127
  localparam logic [31:0] ExpOperand = 32'd1984;        // (ExpOne - 128) / 2, added to an operand's
  localparam logic [31:0] ExpLegal = ExpOne | 32'hff;   // bits of e | (e + 3) of a sum in range
  localparam logic [31:0] Infinity = 32'h7f800000;
  localparam logic [31:0] Nan = 32'h7fc00000;
  localparam logic [31:0] SignBit = 32'h80000000;

  // Signed significand of an operand, +-128 to 255; 0 for zero and subnormal.
  function automatic logic [31:0] significand(input logic [15:0] a);
    logic [31:0] m;
    m = {24'd0, 1'b1, a[6:0]};
    m = a[15] ? -m : m;
    return a[14:7] == 8'd0 ? 32'd0 : m;
  endfunction

  // Exponent code of an operand; two codes add up to the code of the product. Zero has a code far
  // below all others.
  function automatic logic [31:0] exponent(input logic [15:0] a);
    return a[14:7] == 8'd0 ? 32'd0 : {24'd0, a[14:7]} + ExpOperand;
  endfunction

  // 1: infinity or NaN, which the unpacked form does not know.
  function automatic logic special(input logic [15:0] a);
    return a[14:7] == 8'hff;
  endfunction

  // fp32 -> unpacked. Infinities and NaN give a finite number: see sum_special().
  function automatic logic [31:0] sum_significand(input logic [31:0] c);
    logic [31:0] m;
    m = {4'd0, 1'b1, c[22:0], 4'd0};
    m = c[31] ? -m : m;
    return c[30:23] == 8'd0 ? 32'd0 : m;
  endfunction

  function automatic logic [31:0] sum_exponent(input logic [31:0] c);
    return c[30:23] == 8'd0 ? 32'd0 : {24'd0, c[30:23]} + (ExpOne - 32'd1);
  endfunction

  // 1: infinity, NaN or -0, which the unpacked form does not know.
  function automatic logic sum_special(input logic [31:0] c);
    return (c[30:23] == 8'hff) | (c[31] & (c[30:23] == 8'd0));
  endfunction

  // Unpacked -> fp32 for a sum in range.
  function automatic logic [31:0] pack(input logic [31:0] m, input logic [31:0] e);
    logic [31:0] mag;
    mag = m[31] ? -m : m;
    return m == 32'd0 ? 32'd0 : (m & SignBit) | (((e - ExpOne) << 23) + (mag >> 4));
  endfunction

  // The steps of one link of the chain, in their order. mxu_multiply_add puts registers between
  // them.

  // Which of two numbers is shifted right, and how far.
  function automatic void order(
      input logic [31:0] m, input logic [31:0] e, input logic [31:0] pm, input logic [31:0] pe,
      output logic [31:0] big, output logic [31:0] small_, output logic [31:0] hi,
      output logic [31:0] d);
    logic [31:0] lo;
    logic sum_first;
    sum_first = e > pe;
    big = sum_first ? m : pm;
    small_ = sum_first ? pm : m;
    hi = sum_first ? e : pe;
    lo = sum_first ? pe : e;
    d = hi - lo;
    d = d > 32'd31 ? 32'd31 : d;
  endfunction

  // The one with the lower exponent, shifted; what falls out stays as a sticky bit.
  function automatic logic [31:0] align(input logic [31:0] small_, input logic [31:0] d);
    logic [31:0] aligned;
    aligned = $unsigned($signed(small_) >>> d[4:0]);
    return aligned | ((aligned << d[4:0]) != small_ ? 32'd1 : 32'd0);
  endfunction

  // How far its leading one is from bit 29: first by 16 and 8, then to the end.
  function automatic void leading_coarse(
      input logic [31:0] sum, output logic [31:0] mag_o, output logic [31:0] n_o);
    logic [31:0] mag, k, n;
    mag = sum[31] ? -sum : sum;
    k = mag < 32'h00004000 ? 32'd16 : 32'd0;  n = k;      mag = mag << k[4:0];
    k = mag < 32'h00400000 ? 32'd8 : 32'd0;   n = n | k;  mag = mag << k[4:0];
    mag_o = mag;
    n_o = n;
  endfunction

  function automatic logic [31:0] leading_fine(input logic [31:0] coarse, input logic [31:0] by);
    logic [31:0] mag, k, n;
    mag = coarse;
    n = by;
    k = mag < 32'h04000000 ? 32'd4 : 32'd0;   n = n | k;  mag = mag << k[4:0];
    k = mag < 32'h10000000 ? 32'd2 : 32'd0;   n = n | k;  mag = mag << k[4:0];
    k = mag < 32'h20000000 ? 32'd1 : 32'd0;   n = n | k;
    return n;
  endfunction

  // Nearest even at bit 6, of a two's complement number: the same rule for both signs.
  function automatic logic [31:0] round_even(input logic [31:0] normal);
    logic [31:0] v;
    v = normal;
    v = v + 32'd31 + ((v >> 6) & 32'd1);
    v = v & ~32'h3f;
    return $unsigned($signed(v) >>> 2);
  endfunction

  // One link of the chain: (m, e) + product (pm, pe), rounded to 24 bits with an unbounded
  // exponent. pm = significand(a) * significand(b) << 13, |pm| < 2^29 and not normalised; pe =
  // exponent(a) + exponent(b).
  function automatic void add_product(
      input logic [31:0] m, input logic [31:0] e, input logic [31:0] pm, input logic [31:0] pe,
      output logic [31:0] m_o, output logic [31:0] e_o);
    logic [31:0] big, small_, hi, d, sum, mag, by, n;
    order(m, e, pm, pe, big, small_, hi, d);
    sum = big + align(small_, d);                         // |sum| < 2^30
    leading_coarse(sum, mag, by);
    n = leading_fine(mag, by);
    m_o = round_even(sum << n[4:0]);
    e_o = sum == 32'd0 ? 32'd0 : hi + 32'd2 - n;
  endfunction

  // What a sum of any exponent is as fp32. negative_zero: a sum of 0 is -0.
  function automatic logic [31:0] pack_any(
      input logic [31:0] m, input logic [31:0] e, input logic negative_zero);
    logic [31:0] mag, top, r;
    // rounding may have carried to 2^28: one binade up. Too small then: zero of the same sign
    mag = m[31] ? -m : m;
    top = e + {31'd0, mag[28]};
    r = ((e - ExpOne) << 23) + (mag >> 4);
    r = top < ExpOne ? 32'd0 : r;
    r = top > ExpMax ? Infinity : r;
    return m == 32'd0 ? {negative_zero, 31'd0} : (m & SignBit) | r;
  endfunction

  // Infinities and NaN among the operands of a multiply-add: 1, and its result.
  function automatic void exceptional(
      input logic [15:0] a, input logic [15:0] b, input logic [31:0] c,
      output logic [0:0] is_exceptional, output logic [31:0] result);
    logic [31:0] sign_p, sign_c;
    logic inf_p, inf_c, zero_p, is_nan;
    sign_p = {a[15] ^ b[15], 31'd0};
    sign_c = c & SignBit;
    zero_p = (a[14:7] == 8'd0) | (b[14:7] == 8'd0);
    inf_p = special(a) | special(b);
    inf_c = c[30:23] == 8'hff;
    is_nan = (special(a) & (a[6:0] != 7'd0)) | (special(b) & (b[6:0] != 7'd0))
           | (inf_c & (c[22:0] != 23'd0)) | (inf_p & zero_p) | (inf_p & inf_c & (sign_p != sign_c));
    is_exceptional = inf_p | inf_c;
    result = is_nan ? Nan : (inf_c ? sign_c : sign_p) | Infinity;
  endfunction

  // The multiply-add of a PE, for all operands.
  function automatic logic [31:0] fma(
      input logic [15:0] a, input logic [15:0] b, input logic [31:0] c);
    logic [31:0] m, e, result;
    logic [0:0] is_exceptional;
    add_product(sum_significand(c), sum_exponent(c), (significand(a) << 13) * significand(b),
                exponent(a) + exponent(b), m, e);
    exceptional(a, b, c, is_exceptional, result);
    return is_exceptional ? result : pack_any(m, e, (a[15] ^ b[15]) & c[31]);
  endfunction

  // The same for a module of many instances: one function of C++ that all call, where each would
  // hold a copy. The loops of mxu_array are vectorised with fma() in them.
  function automatic logic [31:0] fma_called(
      input logic [15:0] a, input logic [15:0] b, input logic [31:0] c);
    /* verilator no_inline_task */
    return fma(a, b, c);
  endfunction
endpackage
// verilator lint_on UNUSEDSIGNAL
`default_nettype wire
