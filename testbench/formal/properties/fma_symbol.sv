// Stands in for bf16_fma_pkg where the two arrays are compared: fma() is any function of its operands (symbol_pkg), of which
// only is known what fma_start and fma_carried prove of the real one. The chain's unpacked form holds the packed sum in its
// significand, with any exponent that is legal; with another one it holds anything, since these proofs say nothing of it. The
// product of two significands holds both operands.
package bf16_fma_pkg;
  import symbol_pkg::table_t;
  localparam logic [31:0] ExpOne = 32'd4096;
  localparam logic [31:0] ExpLegal = ExpOne | 32'hff;
  localparam logic [31:0] SignBit = 32'h80000000;

  // a value that the solver chooses, another one for each call and cycle: prove.py makes it of the operator %
  function automatic logic [31:0] any_value(input logic [31:0] a, input logic [31:0] b);
    any_value = a % b;
  endfunction
  // The lane that is not followed needs no table: any function does.
  function automatic table_t only(input table_t known, input int unsigned lane);
    only = known;
    if (lane != `LANE) only.known = '0;
  endfunction
  function automatic logic zero(input logic [15:0] a);
    zero = a[14:7] == 8'd0;
  endfunction
  function automatic logic special(input logic [15:0] a);
    special = a[14:7] == 8'hff;
  endfunction
  function automatic logic sum_special(input logic [31:0] c);
    sum_special = (c[30:23] == 8'hff) | (c[31] & (c[30:23] == 8'd0));
  endfunction
  function automatic logic [31:0] flushed(input logic [31:0] c);
    flushed = c[30:23] == 8'd0 ? {c[31], 31'd0} : c;
  endfunction
  function automatic logic leaves_sum(input logic [15:0] a, input logic [15:0] b, input logic [31:0] c);
    leaves_sum = (zero(a) || zero(b)) && !special(a) && !special(b) && !sum_special(c);
  endfunction

  function automatic logic [31:0] fma(
      input logic [15:0] a, input logic [15:0] b, input logic [31:0] c, input table_t known);
    logic [31:0] f;
    f = any_value({a, b}, c);
    for (int k = symbol_pkg::N - 1; k >= 0; k--) begin
      if (known.known[k] && a == known.x[k] && b == known.w[k] && flushed(c) == flushed(known.sum[k])) f = known.sum[k+1];
    end
    fma = leaves_sum(a, b, c) ? flushed(c) : f;
  endfunction
  function automatic logic [31:0] pair(
      input logic [31:0] a, input logic [31:0] wa, input logic [31:0] b, input logic [31:0] wb, input table_t known);
    pair = any_value(a, wa);
    for (int k = symbol_pkg::N - 1; k >= 0; k--) begin
      if (known.known[k] && {b[7:0], a[7:0]} == known.x[k] && {wb[7:0], wa[7:0]} == known.w[k]) pair = known.pair[k];
    end
  endfunction

  function automatic logic [31:0] significand(input logic [15:0] a);
    significand = zero(a) ? 32'd0 : {16'd0, a};
  endfunction
  function automatic logic [31:0] exponent(input logic [15:0] a);
    exponent = {16'd0, a};
  endfunction
  function automatic logic [31:0] product(input logic [31:0] a, input logic [31:0] b);
    product = {a[28:13], b[15:0]};
  endfunction
  function automatic logic legal(input logic [31:0] e);
    legal = ((e | (e + 32'd3)) & ~ExpLegal) == 32'd0;
  endfunction
  function automatic logic [31:0] sum_significand(input logic [31:0] c);
    sum_significand = legal(sum_exponent(c)) && !sum_special(c) ? flushed(c) : any_value(c, c);
  endfunction
  function automatic logic [31:0] sum_exponent(input logic [31:0] c);
    sum_exponent = c[30:23] == 8'd0 ? 32'd0 : {24'd0, c[30:23]} + (ExpOne - 32'd1);
  endfunction
  function automatic logic [31:0] pack(input logic [31:0] m, input logic [31:0] e);
    pack = m;
  endfunction
  function automatic void add_product(
      input logic [31:0] m, input logic [31:0] e, input logic [31:0] pm, input logic [31:0] pe, input table_t known,
      output logic [31:0] m_o, output logic [31:0] e_o);
    logic [31:0] f;
    f = fma(pm[31:16], pm[15:0], m, known);
    e_o = sum_special(f) || flushed(f) != f ? 32'hffffffff : any_value(e, pe);
    m_o = legal(e_o) ? f : any_value(m, pm);
  endfunction
endpackage
