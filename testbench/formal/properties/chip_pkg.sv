// The least chip that the MXU's types allow, for proofs: an array of ARRAY_N x ARRAY_N.
`ifndef PE_LATENCY
`define PE_LATENCY 1
`endif
package chip_pkg;
  localparam int unsigned N = `ARRAY_N;
  localparam int unsigned NumMxu = 1;
  localparam int unsigned PeLatency = `PE_LATENCY;
  localparam int unsigned VpuSublanes = 1;
  localparam int unsigned WordBytes = 2 * `ARRAY_N;
  localparam int unsigned DmaWords = 16;
  localparam int unsigned VmemWords = 64;
  localparam int unsigned AccBankRows = 2 * `ARRAY_N;
endpackage
