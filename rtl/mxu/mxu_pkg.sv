`default_nettype none
// Types and sizes that the parts of the MXU share.
package mxu_pkg;
  localparam int unsigned N = chip_pkg::N;
  localparam int unsigned Commands = 4;                            // taken and not yet retired
  localparam int unsigned AccRows = 2 * chip_pkg::AccBankRows;
  localparam int unsigned LaneBits = $clog2(N);
  // A multiply-add takes PeLatency cycles. A result reaches the bottom of its column Depth cycles
  // after the row's column began, and ACC has all of a row Flight cycles after its issue.
  localparam int unsigned PeLatency = chip_pkg::PeLatency;
  localparam int unsigned Depth = PeLatency * N;
  localparam int unsigned Flight = Depth + N;
  typedef logic [$clog2(Depth)-1:0] place_t;                       // of the last Depth rows

  typedef logic [$clog2(chip_pkg::VmemWords)-1:0] addr_t;
  typedef logic [$clog2(AccRows)-1:0] acc_row_t;
  typedef logic [LaneBits:0] count_t;                              // 0 to N
  typedef logic [16*N-1:0] word_t;                                 // a VMEM word: N x 16 bits
  localparam int unsigned Granules = N / 4;                        // of 64 bits, of a VMEM word
  typedef logic [Granules-1:0] poison_t;                           // ECC could not correct it
  typedef logic [32*N-1:0] lanes_t;                                // an ACC row: N lanes of 32 bits
  localparam int unsigned ReadRows = chip_pkg::VpuSublanes;        // of ACC, by the VPU, in a cycle

  // A checked MATMUL. A "PE row" holds one k (bf16) or two (int8).
  typedef struct packed {
    addr_t       x_addr;
    addr_t       x_row_stride;
    addr_t       x_tile_stride;
    addr_t       w_addr;
    addr_t       w_tile_stride;
    logic [31:0] tiles;
    count_t      last_rows;      // PE rows of the last tile, 1 to N; all others have N
    logic        odd;            // int8, K odd: the high byte of the last PE row does not count
    logic [15:0] m;
    acc_row_t    acc_row;
    count_t      cols;
    logic        keep;
    logic        int8;
  } job_t;

  // Where a row of sums starts.
  typedef enum logic [1:0] {
    SeedZero = 2'd0,
    SeedAcc = 2'd1,              // ACC's read port
    SeedForward = 2'd2           // the column's own result, of the row Depth cycles earlier
  } seed_e;

  // What travels with a row of x.
  typedef struct packed {
    logic     swap;              // first row of its tile: the shadow weights become active
    logic     tile_last;
    logic     command_last;
    logic     from_acc;
    acc_row_t acc_row;
    count_t   rows;              // PE rows that count; those below are bypassed
    logic     odd;               // int8: the high byte of PE row rows - 1 does not count
    count_t   cols;
    logic     int8;
  } row_ctl_t;

  // What travels with a word of weights. The bottom row of a tile comes first.
  typedef struct packed {
    logic   first;
    logic   last;
    count_t index;               // 0 for the first word: PE rows 0 to index shift
    count_t row;                 // the PE row in which the word ends
    count_t cols;
    logic   int8;
  } weight_ctl_t;

  // Of each lane `written` where `late` is ones, `read` where it is zeros.
  function automatic lanes_t merge(input lanes_t late, input lanes_t written, input lanes_t read);
    for (int unsigned j = 0; j < N; j++)
      merge[32*j+:32] = (late[32*j+:32] & written[32*j+:32])
                      | (~late[32*j+:32] & read[32*j+:32]);
  endfunction
endpackage
`default_nettype wire
