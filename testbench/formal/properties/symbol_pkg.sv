// What proofs of the arrays take the multiply-add for: any function. All that is known of it is what it gives for the operands
// of one row in one lane, a table that array_followed.sv fills; a call with other operands gives any value, another one each time.
// And the types of what else is known of an array.
package symbol_pkg;
  import mxu_pkg::count_t, mxu_pkg::seed_e, mxu_pkg::word_t;
  localparam int unsigned N = chip_pkg::N;
  localparam int unsigned Last = mxu_pkg::Flight;
  typedef struct packed {
    logic [N-1:0]       known;           // entry k is in force
    logic [N-1:0][15:0] x;
    logic [N-1:0][15:0] w;
    logic [N:0][31:0]   sum;             // before PE row k, and after the last
    logic [N-1:0][31:0] pair;            // int8: the two products of PE row k
  } table_t;

  typedef struct packed {
    count_t rows;
    count_t cols;
    logic   int8;
  } tile_t;
  typedef struct packed {
    logic               any;             // a tile is active
    logic               full;            // the tile that was loaded waits for its first row
    count_t             words;           // of the tile that is loaded, unless full
    tile_t              loading;
    tile_t              active;
    logic [N-1:0][15:0] load_w;          // words of the lane, by PE row
    logic [N-1:0][15:0] active_w;
  } loads_t;
  typedef struct packed {                // the row that is followed
    logic [Last:0]      age;             // bit k: it was issued k + 1 cycles ago
    count_t             rows;
    logic               int8;
    count_t             forward;
    seed_e              seed;
    logic               swap;
    word_t              x;
    logic [N-1:0][15:0] w;
    logic [N:0]         left;            // int8: a sum before PE row k has left int32
  } followed_t;
endpackage
