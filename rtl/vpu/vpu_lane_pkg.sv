`default_nettype none
// Arithmetic of one VPU lane: f32 add, mul, fma, comparisons, activations, logic and shifts of
// i32, casts between f32, bf16, i32 and i8.
//
// The trick: every function is branch-free on 32-bit values (selects, signs kept in bit 31), so
// that a loop over lanes becomes vector instructions once Verilator has turned it into C++.
//
// Semantics (docs/numerics.md): subnormal inputs are read as zero of the same sign, one rounding
// to nearest even as if the exponent were unbounded, results below 2^-126 become zero of the same
// sign, every NaN that comes out is 0x7fc00000.
package vpu_lane_pkg;
  // a user of the package need not use all of them
  // verilator lint_off UNUSEDPARAM
  localparam logic [31:0] SignMask = 32'h8000_0000;
  localparam logic [31:0] MagMask = 32'h7fff_ffff;
  localparam logic [31:0] FracMask = 32'h007f_ffff;
  localparam logic [31:0] MinNormal = 32'h0080_0000;  // also the hidden one
  localparam logic [31:0] Inf = 32'h7f80_0000;
  localparam logic [31:0] QuietNan = 32'h7fc0_0000;
  localparam logic [31:0] One = 32'h3f80_0000;
  localparam logic [31:0] Bf16Inf = 32'h0000_7f80;
  localparam logic [31:0] Bf16QuietNan = 32'h0000_7fc0;
  // verilator lint_on UNUSEDPARAM

  // What a f32 input is worth: subnormals are zeros, there is one NaN.
  function automatic logic [31:0] f32_canonical(input logic [31:0] a);
    logic [31:0] mag, flushed;
    mag = a & MagMask;
    flushed = mag < MinNormal ? a & SignMask : a;
    return mag > Inf ? QuietNan : flushed;
  endfunction

  // a + b. The bigger magnitude leads; the smaller is shifted under it, with guard, round, sticky.
  function automatic logic [31:0] f32_add(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] mag_a, mag_b, hi, lo, hi_mag, lo_mag, man_hi, man_lo;
    logic [31:0] exponent, shift, aligned, sum, k, mag, sign;
    logic swap, differ, is_nan;
    mag_a = a & MagMask;
    mag_b = b & MagMask;
    swap = mag_b > mag_a;
    hi = swap ? b : a;
    lo = swap ? a : b;
    hi_mag = hi & MagMask;
    lo_mag = lo & MagMask;
    differ = ((hi ^ lo) & SignMask) != 32'd0;
    man_hi = hi_mag < MinNormal ? 32'd0 : ((hi_mag & FracMask) | MinNormal) << 3;
    man_lo = lo_mag < MinNormal ? 32'd0 : ((lo_mag & FracMask) | MinNormal) << 3;
    shift = (hi_mag >> 23) - (lo_mag >> 23);
    shift = shift > 32'd27 ? 32'd27 : shift;
    aligned = man_lo >> shift;
    aligned = aligned | ((aligned << shift) != man_lo ? 32'd1 : 32'd0);
    sum = differ ? man_hi - aligned : man_hi + aligned;
    // Leading one to bit 27; the exponent is biased by 256 more than f32's: it stays positive.
    sign = sum == 32'd0 ? a & b & SignMask : hi & SignMask;
    exponent = (hi_mag >> 23) + 32'd257;
    mag = sum;
    k = mag < 32'h000_1000 ? 32'd16 : 32'd0;  mag = mag << k;  exponent = exponent - k;
    k = mag < 32'h010_0000 ? 32'd8 : 32'd0;   mag = mag << k;  exponent = exponent - k;
    k = mag < 32'h100_0000 ? 32'd4 : 32'd0;   mag = mag << k;  exponent = exponent - k;
    k = mag < 32'h400_0000 ? 32'd2 : 32'd0;   mag = mag << k;  exponent = exponent - k;
    k = mag < 32'h800_0000 ? 32'd1 : 32'd0;   mag = mag << k;  exponent = exponent - k;
    // Round at bit 4. A sum below 2^-126 is exact, so the carry never decides about zero.
    k = (mag & 32'h17) != 32'd0 ? (mag >> 3) & 32'd1 : 32'd0;
    mag = ((mag >> 4) & FracMask) + ((exponent - 32'd256) << 23) + k;
    mag = mag > Inf ? Inf : mag;
    mag = (exponent < 32'd257) | (sum == 32'd0) ? 32'd0 : mag;
    mag = hi_mag == Inf ? Inf : mag;
    is_nan = (hi_mag > Inf) | ((lo_mag == Inf) & differ);
    return is_nan ? QuietNan : sign | mag;
  endfunction

  // a * b. The significands' 48-bit product is built from 12-bit halves: 28 bits and a sticky bit.
  function automatic logic [31:0] f32_mul(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] mag_a, mag_b, man_a, man_b, low, middle, top, exponent, k, mag, sign;
    logic zero, infinite, is_nan;
    mag_a = a & MagMask;
    mag_b = b & MagMask;
    sign = (a ^ b) & SignMask;
    zero = (mag_a < MinNormal) | (mag_b < MinNormal);
    infinite = (mag_a == Inf) | (mag_b == Inf);
    is_nan = (mag_a > Inf) | (mag_b > Inf) | (zero & infinite);
    man_a = (mag_a & FracMask) | MinNormal;
    man_b = (mag_b & FracMask) | MinNormal;
    low = (man_a & 32'hfff) * (man_b & 32'hfff);
    middle = (man_a >> 12) * (man_b & 32'hfff) + (man_a & 32'hfff) * (man_b >> 12)
           + (low >> 12);
    top = (man_a >> 12) * (man_b >> 12) + (middle >> 12);
    // Leading one to bit 27; the exponent is biased by 256 more than f32's.
    mag = (top << 4) | ((middle >> 8) & 32'hf);
    k = (mag >> 27) ^ 32'd1;
    exponent = (mag_a >> 23) + (mag_b >> 23) + 32'd130 - k;
    mag = mag << k;
    mag = mag | (((middle & 32'hff) | (low & 32'hfff)) != 32'd0 ? 32'd1 : 32'd0);
    // Round at bit 4, then look at the exponent: the carry counts (FTZ after rounding).
    k = (mag & 32'h17) != 32'd0 ? (mag >> 3) & 32'd1 : 32'd0;
    mag = ((mag >> 4) & FracMask) + k;
    exponent = exponent + (mag >> 23);
    mag = (mag & FracMask) | ((exponent - 32'd256) << 23);
    mag = exponent > 32'd510 ? Inf : mag;
    mag = (exponent < 32'd257) | zero ? 32'd0 : mag;
    mag = infinite ? Inf : mag;
    return is_nan ? QuietNan : sign | mag;
  endfunction

  // a * b + c, one rounding. The exact product (48 bits) and c meet in 64 bits: the one with the
  // smaller unit is shifted under the other, what falls off is kept in bit 0.
  function automatic logic [31:0] f32_fma(input logic [31:0] a, input logic [31:0] b,
                                          input logic [31:0] c);
    logic [31:0] mag_a, mag_b, mag_c, sign_p, sign_c, distance, shift_p, shift_c, unit, k, mag;
    logic [31:0] sign, exponent, man_a, man_b, man_c;
    logic [63:0] product, addend, p, q, sum, left;
    logic zero_p, zero_c, inf_p, inf_c, is_nan, differ, negative;
    mag_a = a & MagMask;
    mag_b = b & MagMask;
    mag_c = c & MagMask;
    sign_p = (a ^ b) & SignMask;
    sign_c = c & SignMask;
    differ = sign_p != sign_c;
    zero_p = (mag_a < MinNormal) | (mag_b < MinNormal);
    zero_c = mag_c < MinNormal;
    inf_p = (mag_a == Inf) | (mag_b == Inf);
    inf_c = mag_c == Inf;
    is_nan = (mag_a > Inf) | (mag_b > Inf) | (mag_c > Inf) | (zero_p & inf_p)
           | (inf_p & inf_c & differ);
    man_a = (mag_a & FracMask) | MinNormal;
    man_b = (mag_b & FracMask) | MinNormal;
    man_c = (mag_c & FracMask) | MinNormal;
    product = (64'(man_a) * 64'(man_b)) << 13;
    addend = 64'(man_c) << 36;
    product = zero_p ? 64'd0 : product;
    addend = zero_c ? 64'd0 : addend;
    // Units 2^(ea + eb - 313) and 2^(ec - 186): their distance, biased by 512; a zero gives way.
    distance = (mag_a >> 23) + (mag_b >> 23) + 32'd385 - (mag_c >> 23);
    distance = zero_c ? 32'd1024 : distance;
    distance = zero_p ? 32'd0 : distance;
    shift_c = distance > 32'd512 ? distance - 32'd512 : 32'd0;
    shift_p = distance < 32'd512 ? 32'd512 - distance : 32'd0;
    shift_c = shift_c > 32'd63 ? 32'd63 : shift_c;
    shift_p = shift_p > 32'd63 ? 32'd63 : shift_p;
    unit = shift_p == 32'd0 ? (mag_a >> 23) + (mag_b >> 23) + 32'd199 : (mag_c >> 23) + 32'd326;
    p = product >> shift_p;
    q = addend >> shift_c;
    p = p | ((p << shift_p) != product ? 64'd1 : 64'd0);
    q = q | ((q << shift_c) != addend ? 64'd1 : 64'd0);
    sum = differ ? p - q : p + q;
    negative = differ & (p < q);
    sum = negative ? 64'd0 - sum : sum;
    sign = negative ? sign_c : sign_p;
    sign = sum == 64'd0 ? sign_p & sign_c : sign;
    // Leading one to bit 62; the exponent is biased by 512 more than f32's, plus 62 + 127.
    left = sum;
    exponent = unit + 32'd189;
    k = left < 64'h0000_0000_8000_0000 ? 32'd32 : 32'd0;
    left = left << k;
    exponent = exponent - k;
    k = left < 64'h0000_8000_0000_0000 ? 32'd16 : 32'd0;
    left = left << k;
    exponent = exponent - k;
    k = left < 64'h0080_0000_0000_0000 ? 32'd8 : 32'd0;
    left = left << k;
    exponent = exponent - k;
    k = left < 64'h0800_0000_0000_0000 ? 32'd4 : 32'd0;
    left = left << k;
    exponent = exponent - k;
    k = left < 64'h2000_0000_0000_0000 ? 32'd2 : 32'd0;
    left = left << k;
    exponent = exponent - k;
    k = left < 64'h4000_0000_0000_0000 ? 32'd1 : 32'd0;
    left = left << k;
    exponent = exponent - k;
    // Round at bit 39, then look at the exponent: the carry counts (FTZ after rounding).
    k = (left & 64'h0000_00bf_ffff_ffff) != 64'd0 ? 32'(left >> 38) & 32'd1 : 32'd0;
    mag = 32'(left >> 39) + k;
    exponent = exponent + (mag >> 24);
    mag = (mag & FracMask) | ((exponent - 32'd512) << 23);
    mag = exponent > 32'd766 ? Inf : mag;
    mag = (exponent < 32'd513) | (sum == 64'd0) ? 32'd0 : mag;
    mag = inf_p | inf_c ? Inf : mag;
    sign = inf_p ? sign_p : sign;
    sign = inf_c ? sign_c : sign;
    return is_nan ? QuietNan : sign | mag;
  endfunction

  // Unsigned keys in the order of the numbers, -0 below +0.
  function automatic logic [31:0] f32_order(input logic [31:0] a);
    return (a & SignMask) != 32'd0 ? ~a : a | SignMask;
  endfunction

  function automatic logic [31:0] f32_min(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] x, y, least;
    x = f32_canonical(a);
    y = f32_canonical(b);
    least = f32_order(x) < f32_order(y) ? x : y;
    return (x == QuietNan) | (y == QuietNan) ? QuietNan : least;
  endfunction

  function automatic logic [31:0] f32_max(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] x, y, most;
    x = f32_canonical(a);
    y = f32_canonical(b);
    most = f32_order(x) < f32_order(y) ? y : x;
    return (x == QuietNan) | (y == QuietNan) ? QuietNan : most;
  endfunction

  function automatic logic [31:0] i32_min(input logic [31:0] a, input logic [31:0] b);
    return (a ^ SignMask) < (b ^ SignMask) ? a : b;
  endfunction

  function automatic logic [31:0] i32_max(input logic [31:0] a, input logic [31:0] b);
    return (a ^ SignMask) < (b ^ SignMask) ? b : a;
  endfunction

  // Comparisons: all ones or 0. -0 equals +0, a NaN is neither less than nor equal to anything.
  function automatic logic [31:0] f32_less(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] x, y;
    logic both_zero, is_nan;
    x = f32_canonical(a);
    y = f32_canonical(b);
    both_zero = ((x | y) & MagMask) == 32'd0;
    is_nan = (x == QuietNan) | (y == QuietNan);
    return (f32_order(x) < f32_order(y)) & ~both_zero & ~is_nan ? '1 : '0;
  endfunction

  function automatic logic [31:0] f32_equal(input logic [31:0] a, input logic [31:0] b);
    logic [31:0] x, y;
    x = f32_canonical(a);
    y = f32_canonical(b);
    return ((x == y) & (x != QuietNan)) | (((x | y) & MagMask) == 32'd0) ? '1 : '0;
  endfunction

  function automatic logic [31:0] i32_less(input logic [31:0] a, input logic [31:0] b);
    return (a ^ SignMask) < (b ^ SignMask) ? '1 : '0;
  endfunction

  function automatic logic [31:0] u32_less(input logic [31:0] a, input logic [31:0] b);
    return a < b ? '1 : '0;
  endfunction

  // Shifts by an unsigned number: by more than 31 nothing of a is left but its sign.
  function automatic logic [31:0] shift_left(input logic [31:0] a, input logic [31:0] by);
    return by > 32'd31 ? 32'd0 : a << by[4:0];
  endfunction

  function automatic logic [31:0] shift_right(input logic [31:0] a, input logic [31:0] by);
    return by > 32'd31 ? 32'd0 : a >> by[4:0];
  endfunction

  function automatic logic [31:0] shift_right_signed(input logic [31:0] a, input logic [31:0] by);
    return unsigned'(signed'(a) >>> (by > 32'd31 ? 5'd31 : by[4:0]));
  endfunction

  // x > 0 ? x : x * slope, for canonical f32.
  function automatic logic [31:0] leaky(input logic [31:0] a, input logic [31:0] slope);
    return (a & SignMask) != 32'd0 || a == 32'd0 ? f32_mul(a, slope) : a;
  endfunction

  // x > 0 ? x : +0, for i32 and for canonical f32, whose NaN counts as positive and so stays.
  function automatic logic [31:0] relu(input logic [31:0] a);
    return (a & SignMask) != 32'd0 ? 32'd0 : a;
  endfunction

  // f32 to bf16 in the low half.
  function automatic logic [31:0] f32_to_bf16(input logic [31:0] a);
    logic [31:0] x, rounded;
    x = f32_canonical(a);
    rounded = (x + 32'h7fff + ((x >> 16) & 32'd1)) >> 16;
    return x == QuietNan ? Bf16QuietNan : rounded;
  endfunction

  // bf16 in the low half to f32: exact but for subnormals and NaN.
  function automatic logic [31:0] bf16_to_f32(input logic [31:0] a);
    return f32_canonical(a << 16);
  endfunction

  function automatic logic [31:0] i32_to_f32(input logic [31:0] a);
    logic [31:0] mag, exponent, k;
    mag = (a & SignMask) != 32'd0 ? 32'd0 - a : a;
    // Leading one to bit 31, round at bit 8.
    exponent = 32'd158;
    k = mag < 32'h0001_0000 ? 32'd16 : 32'd0;  mag = mag << k;  exponent = exponent - k;
    k = mag < 32'h0100_0000 ? 32'd8 : 32'd0;   mag = mag << k;  exponent = exponent - k;
    k = mag < 32'h1000_0000 ? 32'd4 : 32'd0;   mag = mag << k;  exponent = exponent - k;
    k = mag < 32'h4000_0000 ? 32'd2 : 32'd0;   mag = mag << k;  exponent = exponent - k;
    k = mag < 32'h8000_0000 ? 32'd1 : 32'd0;   mag = mag << k;  exponent = exponent - k;
    k = (mag & 32'h17f) != 32'd0 ? (mag >> 7) & 32'd1 : 32'd0;
    mag = ((mag >> 8) & FracMask) + (exponent << 23) + k;
    return a == 32'd0 ? 32'd0 : (a & SignMask) | mag;
  endfunction

  // Nearest even, saturating; NaN gives 0.
  function automatic logic [31:0] f32_to_i32(input logic [31:0] a);
    logic [31:0] mag, exponent, man, right, left, rest, half, k, value;
    mag = a & MagMask;
    exponent = mag >> 23;
    man = mag < MinNormal ? 32'd0 : (mag & FracMask) | MinNormal;
    right = exponent < 32'd150 ? 32'd150 - exponent : 32'd0;
    right = right > 32'd25 ? 32'd25 : right;
    left = exponent < 32'd150 ? 32'd0 : (exponent - 32'd150) & 32'd7;
    value = man >> right;
    rest = man - (value << right);
    half = (32'd1 << right) >> 1;
    k = rest == half ? (half != 32'd0 ? value & 32'd1 : 32'd0) : 32'd0;
    k = rest > half ? 32'd1 : k;
    value = (value << left) + k;
    value = (a & SignMask) != 32'd0 ? 32'd0 - value : value;
    k = (a & SignMask) != 32'd0 ? SignMask : MagMask;  // what saturates
    value = exponent > 32'd157 ? k : value;
    return mag > Inf ? 32'd0 : value;
  endfunction

  // f32 to i8 in the low byte: nearest even, plus a zero point of -128 to 127, saturating; NaN
  // gives the zero point. The limits move instead of the number, so that nothing wraps.
  function automatic logic [31:0] f32_to_i8(input logic [31:0] a, input logic [31:0] zero_point);
    logic [31:0] least, most;
    least = 32'hffff_ff80 - zero_point;
    most = 32'h7f - zero_point;
    return (i32_min(i32_max(f32_to_i32(a), least), most) + zero_point) & 32'hff;
  endfunction
endpackage
`default_nettype wire
