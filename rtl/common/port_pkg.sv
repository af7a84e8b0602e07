// verilator lint_off UNUSEDPARAM
`default_nettype none
// What the ports of the core's memories carry. Beside each stand its plain bits: valid and ready,
// or req and gnt of one cycle and rvalid of the next, because a grant depends on requests and a
// struct is one signal to a simulator that looks for loops. Data stand lowest, where their words
// begin at a multiple of 32 bits.
package port_pkg;
  import chip_pkg::*;
  localparam int unsigned BeatBits = 8 * DmaWords * WordBytes;
  localparam int unsigned BeatGranules = BeatBits / 64;
  localparam int unsigned BeatChunks = BeatBits / 8 / weft_pkg::DmaGranuleBytes;
  localparam int unsigned CountBits = $clog2(DmaWords + 1);
  localparam int unsigned WordBits = 8 * WordBytes;
  localparam int unsigned WordGranules = WordBits / 64;
  localparam int unsigned AddrBits = $clog2(VmemWords);

  // ACC, to the VPU: the rows of a group.
  typedef struct packed {
    logic [VpuSublanes-1:0][N-1:0]    poison;   // of each lane: ECC could not correct it
    logic [VpuSublanes-1:0][32*N-1:0] data;
  } acc_answer_t;

  // VMEM, to an MXU: a word.
  typedef struct packed {
    logic [WordGranules-1:0] poison;   // of each 64 bits: ECC could not correct them
    logic [WordBits-1:0]     data;
  } word_answer_t;
  // ... to each of them
  typedef struct packed {
    logic [NumMxu-1:0][WordGranules-1:0] poison;
    logic [NumMxu-1:0][WordBits-1:0]     data;
  } words_answer_t;

  // VMEM, to and from the VPU: one word for each row of a group, or the pair from an even address.
  // upper: of one word the upper half only.
  typedef struct packed {
    logic                                 pair;
    logic [VpuSublanes-1:0][AddrBits-1:0] addr;
  } rows_read_t;
  typedef struct packed {
    logic [VpuSublanes-1:0][2*WordGranules-1:0] poison;
    logic [VpuSublanes-1:0][2*WordBits-1:0]     data;
  } rows_answer_t;
  typedef struct packed {
    logic                                   upper;
    logic                                   pair;
    logic [VpuSublanes-1:0][AddrBits-1:0]   addr;
    logic [VpuSublanes-1:0][2*WordBits-1:0] data;
  } rows_write_t;

  // VMEM, to and from DMA: 1 to DmaWords consecutive words.
  typedef struct packed {
    logic [CountBits-1:0] words;
    logic [AddrBits-1:0]  addr;
  } beat_read_t;
  typedef struct packed {
    logic [BeatGranules-1:0] poison;   // of each 64 bits: ECC could not correct them
    logic [BeatBits-1:0]     data;
  } beat_answer_t;
  typedef struct packed {
    logic [CountBits-1:0]  words;
    logic [AddrBits-1:0]   addr;
    logic [BeatChunks-1:0] strb;   // a bit each 16 bytes
    logic [BeatBits-1:0]   data;
  } beat_write_t;

  // Memory outside of the core: HBM and host.
  typedef struct packed {
    logic [1:0]  space;               // spec: address_space
    logic [63:0] addr;
    logic [15:0] bytes;
    logic [1:0]  channel;
  } memory_read_t;
  typedef struct packed {
    logic [1:0]          channel;
    logic                error;
    logic [BeatBits-1:0] data;
  } memory_answer_t;
  typedef struct packed {            // of a command's read
    logic                         error;
    logic [weft_pkg::CmdBits-1:0] data;
  } command_answer_t;
  typedef struct packed {
    logic [1:0]          space;
    logic [63:0]         addr;
    logic [15:0]         bytes;
    logic [1:0]          channel;
    logic [BeatBits-1:0] data;
  } memory_write_t;
  typedef struct packed {
    logic [1:0] channel;
    logic       error;
  } memory_ack_t;
endpackage
`default_nettype wire
// verilator lint_on UNUSEDPARAM
