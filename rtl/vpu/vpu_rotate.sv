`default_nettype none
// Rotates a row of N lanes: lane i becomes lane (i + by_i) mod N.
//
// The trick: a stage of two-input multiplexers for each bit of by_i, the k-th by 2^k lanes or not.
//
//   row_i ─► [by 1] ─► [by 2] ─► [by 4] ─► ... ─► row_o
// Combinational, log2 N multiplexers deep. Zeros without enable_i, so nothing moves then.
module vpu_rotate
  import chip_pkg::*;
#(
  localparam int unsigned Levels = $clog2(N)
) (
  input  logic              enable_i,
  input  logic [Levels-1:0] by_i,
  input  logic [32*N-1:0]   row_i,
  output logic [32*N-1:0]   row_o
);
  if (N != 2 ** Levels) $error("vpu_rotate: N = %0d is no power of two", N);

  always_comb begin
    row_o = (32 * N)'(1'b0);
    if (enable_i) begin
      row_o = row_i;
      for (int unsigned k = 0; k < Levels; k++)
        if (by_i[k]) row_o = (row_o >> (32 << k)) | (row_o << (32 * N - (32 << k)));
    end
  end
endmodule
`default_nettype wire
