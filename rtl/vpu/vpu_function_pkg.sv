`default_nettype none
// exp2, log2, rcp, rsqrt, tanh and erf of one lane, without their polynomial: what becomes of the
// argument before it and of the polynomial's value after it. The recipe: docs/vpu_functions.md.
//
// Branch-free like vpu_lane_pkg. x is canonical; `entry` indexes the tables.
package vpu_function_pkg;
  import vpu_lane_pkg::*;

  typedef struct packed {
    logic [31:0] entry;
    logic [31:0] t;      // distance from the entry's origin
  } argument_t;

  localparam logic [31:0] Sixteenths = 32'h4940_0000;  // 1.5 * 2^19: its unit is 1/16
  localparam logic [31:0] TwoTo128 = 32'h4300_0000;    // 128, whose exp2 is infinite
  localparam logic [31:0] Normal126 = 32'h42fc_0000;   // 126, the most negative normal result
  localparam logic [31:0] Small = 32'h3d00_0000;       // 2^-5
  localparam logic [31:0] TanhOne = 32'h4110_2cb4;     // 1 from here on
  localparam logic [31:0] ErfOne = 32'h407a_d445;

  // One of 33 segments of [1, 2], by rounding; from 14 on log2 halves the significand.
  function automatic logic [31:0] segment(input logic [31:0] x);
    return ((x & FracMask) + 32'h2_0000) >> 18;
  endfunction
  function automatic logic [31:0] log2_halved(input logic [31:0] x);
    return segment(x) >= 32'd14 ? 32'd1 : 32'd0;
  endfunction
  function automatic logic [31:0] odd_exponent(input logic [31:0] x);
    return ((x >> 23) & 32'd1) ^ 32'd1;
  endfunction
  // The significand minus its segment's origin, both scaled by 2^scale.
  function automatic logic [31:0] offset(input logic [31:0] x, input logic [31:0] scale);
    return f32_add(((x & FracMask) | One) + (scale << 23),
                   (One + (segment(x) << 18) + (scale << 23)) ^ SignMask);
  endfunction

  function automatic argument_t exp2_argument(input logic [31:0] x);
    logic [31:0] shifted;
    shifted = f32_add(x, Sixteenths);
    exp2_argument.entry = vpu_table_pkg::FirstExp2 + ((shifted - Sixteenths) & 32'd15);
    exp2_argument.t = f32_add(x, f32_add(shifted, Sixteenths ^ SignMask) ^ SignMask);
  endfunction
  function automatic argument_t log2_argument(input logic [31:0] x);
    log2_argument.entry = vpu_table_pkg::FirstLog2 + segment(x);
    log2_argument.t = offset(x, 32'd0 - log2_halved(x));
  endfunction
  function automatic argument_t rcp_argument(input logic [31:0] x);
    rcp_argument.entry = vpu_table_pkg::FirstReciprocal + segment(x);
    rcp_argument.t = offset(x, 32'd0);
  endfunction
  function automatic argument_t rsqrt_argument(input logic [31:0] x);
    rsqrt_argument.entry = vpu_table_pkg::FirstRsqrt + segment(x)
                         + (odd_exponent(x) != 32'd0 ? 32'd33 : 32'd0);
    rsqrt_argument.t = offset(x, odd_exponent(x));
  endfunction
  // tanh and erf: the first entry around 0, sixteen a binade from 2^-5 on.
  function automatic argument_t odd_argument(input logic [31:0] x, input logic [31:0] first,
                                             input logic [31:0] one);
    logic [31:0] mag;
    logic near_zero;
    mag = x & MagMask;
    mag = mag >= one ? one : mag;
    near_zero = mag < Small;
    odd_argument.entry = first + (near_zero ? 32'd0 : (mag >> 19) - (Small >> 19) + 32'd1);
    odd_argument.t = f32_add(mag, (near_zero ? 32'd0 : mag & 32'hfff8_0000) ^ SignMask);
  endfunction

  function automatic logic [31:0] exp2_result(input logic [31:0] x, input logic [31:0] p);
    logic [31:0] mag, y;
    logic negative;
    mag = x & MagMask;
    negative = (x & SignMask) != 32'd0;
    y = p + (((f32_add(x, Sixteenths) - Sixteenths) >> 4) << 23);
    y = negative & (mag > Normal126) ? 32'd0 : y;
    y = ~negative & (mag >= TwoTo128) ? Inf : y;
    return mag > Inf ? QuietNan : y;
  endfunction
  function automatic logic [31:0] log2_result(input logic [31:0] x, input logic [31:0] p,
                                              input logic [31:0] base);
    logic [31:0] y;
    y = f32_add(p, f32_add(i32_to_f32((x >> 23) - 32'd127 + log2_halved(x)), base));
    y = x == Inf ? Inf : y;
    y = (x & MagMask) == 32'd0 ? Inf | SignMask : y;
    return (x > Inf) & (x != SignMask) ? QuietNan : y;
  endfunction
  function automatic logic [31:0] rcp_result(input logic [31:0] x, input logic [31:0] p);
    logic [31:0] mag, y;
    mag = x & MagMask;
    y = p + One - (mag & Inf);
    y = (y ^ SignMask) < (MinNormal ^ SignMask) ? 32'd0 : y;
    y = mag == 32'd0 ? Inf : y;
    y = mag == Inf ? 32'd0 : y;
    return mag > Inf ? QuietNan : y | (x & SignMask);
  endfunction
  function automatic logic [31:0] rsqrt_result(input logic [31:0] x, input logic [31:0] p);
    logic [31:0] half, y;
    half = ((x >> 23) - odd_exponent(x) + 32'd1) >> 1;
    y = p + ((32'd64 - half) << 23);
    y = x == Inf ? 32'd0 : y;
    y = (x & MagMask) == 32'd0 ? Inf | x : y;
    return (x > Inf) & (x != SignMask) ? QuietNan : y;
  endfunction
  function automatic logic [31:0] odd_result(input logic [31:0] x, input logic [31:0] p,
                                             input logic [31:0] one);
    logic [31:0] mag, y;
    mag = x & MagMask;
    y = (mag >= one) | (p > One) ? One : p;
    return mag > Inf ? QuietNan : y | (x & SignMask);
  endfunction
endpackage
`default_nettype wire
