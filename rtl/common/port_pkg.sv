// verilator lint_off UNUSEDPARAM
`default_nettype none
// What the ports of the core's memories carry. Beside each stand its plain bits: valid and ready,
// or req and gnt of one cycle and rvalid of the next, because a grant depends on requests and a
// struct is one signal to a simulator that looks for loops. Data stand lowest, where their words
// begin at a multiple of 32 bits.
package port_pkg;
  import chip_pkg::N;
  import chip_pkg::VpuSublanes;

  // ACC, to the VPU: the rows of a group.
  typedef struct packed {
    logic [VpuSublanes-1:0][N-1:0]    poison;   // of each lane: ECC could not correct it
    logic [VpuSublanes-1:0][32*N-1:0] data;
  } acc_answer_t;
endpackage
`default_nettype wire
// verilator lint_on UNUSEDPARAM
