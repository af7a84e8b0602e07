`default_nettype none
// The accumulators' ports: a seed never comes from a row whose result is still to be written, and
// the VPU never reads a bank in a cycle in which a seed does.
module acc_invariants #(
  parameter int unsigned Rows = 1,     // that the VPU reads in a cycle
  parameter int unsigned RowBits = 8   // of an address: the highest is the bank
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       row_issue_i,
  input logic       seed_read_i,      // this row's seeds come from the read port
  input logic       pending_write_i,  // a row in the array has yet to write the row asked for
  input logic       seed_bank_i,
  input logic [1:0] bank_reads_i,     // banks that seeds of earlier rows still read
  input logic [Rows-1:0] acc_req_i,
  input logic [Rows-1:0] acc_gnt_i,
  input logic [Rows-1:0][15:0] acc_row_i
);
  // Of a bank and of the rows that are equal modulo Rows, one is read in a cycle.
  logic seeded, twice;
  always_comb begin
    seeded = 1'b0;
    twice = 1'b0;
    for (int unsigned i = 0; i < Rows; i++) begin
      if (acc_gnt_i[i]) begin
        seeded = seeded | bank_reads_i[acc_row_i[i][RowBits-1]]
               | (seed_read_i && seed_bank_i == acc_row_i[i][RowBits-1]);
        for (int unsigned k = 0; k < i; k++)
          twice = twice | (acc_gnt_i[k] && acc_row_i[k][RowBits-1] == acc_row_i[i][RowBits-1]
                           && (32'(acc_row_i[k]) ^ 32'(acc_row_i[i])) % Rows == 32'd0);
      end
    end
  end

  SeedNotPending_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      seed_read_i |-> row_issue_i && !pending_write_i);
  BankReadOnce_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      !seeded && !twice);
  GrantIfFree_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      acc_req_i != '0 && bank_reads_i == '0 && !seed_read_i |-> acc_gnt_i != '0);

  SeedBesideVpu_C: cover property (@(posedge clk_i) rst_ni && seed_read_i && acc_gnt_i != '0);
  VpuRefused_C: cover property (@(posedge clk_i) rst_ni && (acc_req_i & ~acc_gnt_i) != '0);
endmodule
`default_nettype wire
