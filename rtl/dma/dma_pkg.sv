// verilator lint_off UNUSEDPARAM
`default_nettype none
// Types of the DMA engine: a command that has passed its checks, and what one of its beats is.
package dma_pkg;
  // Commands that a channel holds, from taken to retired. Sixteen (two channels) commands of 32 KiB
  // cover 600 cycles of memory latency at 540 bytes a cycle.
  localparam int unsigned HeldCommands = 8;

  // A checked command: the memory side is a bus address, the VMEM side a byte offset.
  typedef struct packed {
    logic        fill;
    logic        remote;        // the memory side is another chip's: addresses are offsets there
    logic        indexed;       // a run is a row of a table, whose place comes from dma_rows
    logic [15:0] tag;
    logic [1:0]  space;         // of the memory side (spec: address_space)
    logic [31:0] pattern;       // FILL
    logic [63:0] mem_address;   // first byte of run (0, 0, 0), of the table if indexed
    logic [63:0] vmem_address;
    logic [31:0] size0;         // bytes of a run
    logic [15:0] size1;         // runs along each dimension
    logic [15:0] size2;
    logic [15:0] size3;
    logic [31:0] mem_stride1;   // bytes, two's complement
    logic [31:0] mem_stride2;
    logic [31:0] mem_stride3;
    logic [31:0] vmem_stride1;
    logic [31:0] vmem_stride2;
    logic [31:0] vmem_stride3;
  } job_t;

  // What an indexed command says of its indices and its table.
  typedef struct packed {
    logic [31:0] index_address; // byte offset of the first index in VMEM
    logic [15:0] count;         // indices
    logic [31:0] rows;          // of the table, below 2^31
    logic [31:0] stride;        // bytes from row to row, two's complement
  } table_t;

  // What an index asks for.
  typedef enum logic [1:0] {
    RowMoved    = 2'd0,         // value: bytes from the table's row 0 to the row
    RowSkipped  = 2'd1,         // index -1
    RowRefused  = 2'd2,         // no row of the table; value: address of the fault
    RowPoisoned = 2'd3          // ECC could not correct the index; value: address of the fault
  } row_e;
  typedef struct packed {
    row_e        kind;
    logic [63:0] value;
  } row_t;

  typedef struct packed {
    logic [7:0]  code;          // weft_pkg::fault_e
    logic [15:0] tag;
    logic [63:0] address;
  } fault_t;
endpackage
`default_nettype wire
// verilator lint_on UNUSEDPARAM
