`default_nettype none
// One row of two words of VMEM, read once and kept for all rows of a command: the bias beside a
// residual, or the scales of the lanes.
//
//   start ─► req ─► [memory] ─rvalid─┬──────────►┐
//                                    └─► [row] ──┴─► row_o, valid_o
//
// Latency: start_i to the request 1 cycle, grant to valid_o 1 cycle; then it stays until start_i.
module vpu_kept_row
  import chip_pkg::*;
(
  input  logic            clk_i,
  input  logic            rst_ni,
  // a command starts; start_i drops the row of the one before
  input  logic            start_i,
  input  logic            wanted_i,    // it has such a row,
  input  logic [31:0]     addr_i,      // here
  input  logic [15:0]     lanes_i,     // lanes that count, of the command that executes
  // memory
  output logic            req_o,
  output logic [31:0]     addr_o,
  input  logic            gnt_i,       // answers req_o if that is set
  input  logic            rvalid_i,    // the cycle after the grant
  input  logic [32*N-1:0] rdata_i,
  input  logic [N/2-1:0]  poison_i,
  // lanes
  output logic            valid_o,
  output logic [32*N-1:0] row_o,
  output logic            bad_o,       // ECC could not correct what counts
  output logic [7:0]      granule_o,   // here
  output logic            left_o       // the row is still to be requested
);
  logic            pending_q, arriving_q, there_q, arrives, arrives_bad, bad_q;
  logic [31:0]     addr_q;
  logic [7:0]      arrives_granule, granule_q;
  logic [32*N-1:0] row_q;

  assign arrives = arriving_q & rvalid_i;

  vpu_poison u_poison (
    .acc_i(1'b0), .shift_i(2'd2), .upper_i(1'b0), .lanes_i,
    .vmem_poison_i(arrives ? poison_i : '0), .acc_poison_i('0), .bad_o(arrives_bad),
    .granule_o(arrives_granule)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      pending_q <= 1'b0;
      arriving_q <= 1'b0;
      there_q <= 1'b0;
    end else begin
      pending_q <= start_i ? wanted_i : pending_q & ~gnt_i;
      arriving_q <= pending_q & gnt_i & ~start_i;
      there_q <= ~start_i & (there_q | arrives);
    end
    if (start_i) addr_q <= addr_i;
    if (arrives) begin
      row_q <= rdata_i;
      bad_q <= arrives_bad;
      granule_q <= arrives_granule;
    end
  end

  assign req_o = pending_q;
  assign left_o = pending_q;
  assign addr_o = addr_q;
  assign valid_o = arrives | there_q;
  assign row_o = arrives ? rdata_i : row_q;
  assign bad_o = arrives ? arrives_bad : bad_q;
  assign granule_o = arrives ? arrives_granule : granule_q;
endmodule
`default_nettype wire
