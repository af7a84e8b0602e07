// verilator lint_off UNUSEDPARAM
`default_nettype none
// Types that the blocks of the tensor core share and that follow from no file of spec/.
package core_pkg;
  // One entry of the segment table: relocation, limit and permission in one look-up.
  typedef struct packed {
    logic        writable;
    logic        readable;
    logic [1:0]  space;    // spec: address_space; 0: not mapped
    logic [63:0] limit;    // bytes; the first byte outside is base + limit
    logic [63:0] base;     // address in that space
  } segment_t;

  // A segment's number, and above it the version of its base.
  localparam int unsigned SegmentBits = $clog2(weft_pkg::NumSegments) + 1;

  // Where the core stands: straps. A core alone (chips 0 or 1) refuses all that is about others.
  typedef struct packed {
    logic [15:0] chips;    // of the slice
    logic [15:0] chip;     // this one's number
  } place_t;

  // spec: address_space
  localparam logic [1:0] SpaceNone = 2'd0;
  localparam logic [1:0] SpaceVmem = 2'd1;
  localparam logic [1:0] SpaceHbm = 2'd2;
  localparam logic [1:0] SpaceHost = 2'd3;

  // Fault injection in a memory with SECDED: bits to flip in one of its granules.
  typedef struct packed {
    logic        now;      // in this cycle
    logic        watch;    // writes of the granule are counted
    logic        next;     // the next write of the granule is the one
    logic [31:0] granule;
    logic [63:0] data;
    logic [7:0]  check;
  } flip_t;
endpackage
`default_nettype wire
// verilator lint_on UNUSEDPARAM
