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
    logic [15:0] tag;
    logic [1:0]  space;         // of the memory side (spec: address_space)
    logic [31:0] pattern;       // FILL
    logic [63:0] mem_address;   // first byte of run (0, 0, 0)
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

  typedef struct packed {
    logic [7:0]  code;          // weft_pkg::fault_e
    logic [15:0] tag;
    logic [63:0] address;
  } fault_t;
endpackage
`default_nettype wire
// verilator lint_on UNUSEDPARAM
