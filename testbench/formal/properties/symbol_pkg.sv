// What proofs of the arrays take the multiply-add for: any function. All that is known of it is what it gives for the operands
// of one row in one lane, a table that array_equal.sv fills; a call with other operands gives any value, another one each time.
package symbol_pkg;
  localparam int unsigned N = chip_pkg::N;
  typedef struct packed {
    logic [N-1:0]       known;           // entry k is in force
    logic [N-1:0][15:0] x;
    logic [N-1:0][15:0] w;
    logic [N:0][31:0]   sum;             // before PE row k, and after the last
    logic [N-1:0][31:0] pair;            // int8: the two products of PE row k
  } table_t;
endpackage
