`default_nettype none
// The accumulators' ports: a seed never comes from a row whose result is still to be written, and
// the VPU never reads a bank in a cycle in which a seed does.
module acc_invariants (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       row_issue_i,
  input logic       seed_read_i,      // this row's seeds come from the read port
  input logic       pending_write_i,  // a row in the array has yet to write the row asked for
  input logic       seed_bank_i,
  input logic [1:0] bank_reads_i,     // banks that seeds of earlier rows still read
  input logic       acc_req_i,
  input logic       acc_gnt_i,
  input logic       acc_bank_i
);
  SeedNotPending_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      seed_read_i |-> row_issue_i && !pending_write_i);
  BankReadOnce_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      acc_gnt_i |-> !bank_reads_i[acc_bank_i] && !(seed_read_i && seed_bank_i == acc_bank_i));
  GrantIfFree_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      acc_req_i && bank_reads_i == '0 && !seed_read_i |-> acc_gnt_i);

  SeedBesideVpu_C: cover property (@(posedge clk_i) rst_ni && seed_read_i && acc_gnt_i);
  VpuRefused_C: cover property (@(posedge clk_i) rst_ni && acc_req_i && !acc_gnt_i);
endmodule
`default_nettype wire
