`default_nettype none
// The macro that a memory compiler makes: one read and one write port, a write enable for each
// granule, data in the cycle after the read. A black box.
(* blackbox *)
module ram_macro #(
  parameter int unsigned Words = 64,
  parameter int unsigned Granules = 2,
  parameter int unsigned CodeBits = 72       // of a granule
) (
  input  wire logic                         clk_i,
  input  wire logic                         read_i,
  input  wire logic [$clog2(Words)-1:0]     raddr_i,
  output logic [Granules*CodeBits-1:0]      rdata_o,
  input  wire logic [Granules-1:0]          write_i,
  input  wire logic [$clog2(Words)-1:0]     waddr_i,
  input  wire logic [Granules*CodeBits-1:0] wdata_i
);
endmodule
`default_nettype wire
