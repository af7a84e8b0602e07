// Stands in for bf16_fma_pkg where the proof is about which operands meet: each operand changes the result, and so
// does the order of a chain.
package bf16_fma_pkg;
  function automatic logic [31:0] fma(input logic [15:0] a, input logic [15:0] b, input logic [31:0] c);
    fma = ({c[30:0], c[31]} ^ {a, b}) + 32'd1;
  endfunction
  function automatic logic [31:0] fma_called(input logic [15:0] a, input logic [15:0] b, input logic [31:0] c);
    fma_called = fma(a, b, c);
  endfunction
endpackage
