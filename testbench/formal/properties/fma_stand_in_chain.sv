// Stands in for bf16_fma_pkg where a chain of multiply-adds meets the same chain in unpacked form: which operands meet, in
// which order, and from which seed is what the result tells. As of the real one, an x of 0 leaves a sum as it is, and
// some operands and sums are not known to the unpacked form.
package bf16_fma_pkg;
  localparam logic [31:0] ExpOne = 32'd4096;
  localparam logic [31:0] ExpLegal = ExpOne | 32'hff;
  localparam logic [31:0] SignBit = 32'h80000000;

  function automatic logic [31:0] link(input logic [31:0] c, input logic [31:0] factors);
    link = {c[30:0], c[31]} ^ factors ^ 32'h9e3779b9;
  endfunction
  // the factors of a product, as a function of the words that the array multiplies
  function automatic logic [31:0] product(input logic [31:0] a, input logic [31:0] b);
    product = {a[28:13], b[15:0]};
  endfunction
  function automatic logic [31:0] pair(input logic [31:0] a, input logic [31:0] wa, input logic [31:0] b, input logic [31:0] wb);
    pair = {b[7:0], a[7:0], wb[7:0], wa[7:0]};
  endfunction
  function automatic logic [31:0] significand(input logic [15:0] a);
    significand = {16'd0, a};
  endfunction
  function automatic logic [31:0] exponent(input logic [15:0] a);
    exponent = {31'd0, ^a};
  endfunction
  function automatic logic special(input logic [15:0] a);
    special = a[15:14] == 2'b11;
  endfunction
  function automatic logic [31:0] sum_significand(input logic [31:0] c);
    sum_significand = c;
  endfunction
  function automatic logic [31:0] sum_exponent(input logic [31:0] c);
    sum_exponent = ExpOne + {31'd0, ^c};
  endfunction
  function automatic logic sum_special(input logic [31:0] c);
    sum_special = c[31:30] == 2'b11;
  endfunction
  function automatic logic [31:0] pack(input logic [31:0] m, input logic [31:0] e);
    pack = m;
  endfunction
  function automatic void add_product(
      input logic [31:0] m, input logic [31:0] e, input logic [31:0] pm, input logic [31:0] pe,
      output logic [31:0] m_o, output logic [31:0] e_o);
    m_o = link(m, pm);
    e_o = e;
  endfunction
  function automatic logic [31:0] fma(input logic [15:0] a, input logic [15:0] b, input logic [31:0] c);
    fma = a == 16'd0 ? c : link(c, {a, b});
  endfunction
endpackage
