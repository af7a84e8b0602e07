`default_nettype none
// The post fields of one unit's commands, from the cycle the unit takes a command until it has
// posted.
//
//   start ─► [ in flight ... | done, not posted ... ] ─► retire.sv, one command a cycle
//
// A unit retires in order, so a count of done commands is all that distinguishes the two parts.
// Latency: done in cycle t, offered for retirement in t + 1.
module retire_lane #(
  parameter int unsigned Depth = 4   // a power of two
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               start_i,
  input  control_pkg::post_t post_i,
  input  logic               not_done_i,   // fault injection: no done comes from it on
  input  logic               lost_done_i,  // fault injection: its done is lost
  output logic               full_o,       // no room: the unit is offered no command
  input  logic               done_i,
  output logic               pending_o,    // post_o waits for its retirement
  output control_pkg::post_t post_o,       // the oldest command held
  output logic               held_o,       // some command is held
  input  logic               retire_i
);
  localparam int unsigned PtrBits = $clog2(Depth);
  if (Depth != (32'd1 << PtrBits)) $error("retire_lane: Depth %0d is not a power of two", Depth);

  logic [Depth-1:0] not_done_q, lost_done_q;
  logic stuck_q, done, stuck, lost;
  logic [PtrBits-1:0] ending;                   // the oldest command that is not done
  control_pkg::post_t mem_q [Depth];
  logic [PtrBits-1:0] rd_q, wr_q;
  logic [PtrBits:0] level_q, done_q;

  assign ending = rd_q + done_q[PtrBits-1:0];
  assign stuck = stuck_q || (done_i && not_done_q[ending]);
  assign lost = done_i && lost_done_q[ending];
  assign done = done_i && !stuck && !lost;

  assign full_o = level_q == (PtrBits + 1)'(Depth);
  assign held_o = level_q != 0;
  assign pending_o = done_q != 0;
  assign post_o = mem_q[rd_q];

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      mem_q[wr_q] <= post_i;
      not_done_q[wr_q] <= not_done_i;
      lost_done_q[wr_q] <= lost_done_i;
      wr_q <= wr_q + 1'b1;
    end
    if (retire_i) rd_q <= rd_q + 1'b1;
    if (start_i != retire_i) level_q <= start_i ? level_q + 1'b1 : level_q - 1'b1;
    if (lost) lost_done_q[ending] <= 1'b0;
    stuck_q <= stuck;
    if (done != retire_i) done_q <= done ? done_q + 1'b1 : done_q - 1'b1;
    if (!rst_ni) begin
      rd_q <= '0;
      wr_q <= '0;
      level_q <= '0;
      done_q <= '0;
      stuck_q <= 1'b0;
    end
  end

  NoStartWhenFull_A: assert property (@(posedge clk_i) !rst_ni || !start_i || !full_o);
  DoneOnlyWhenHeld_A: assert property (@(posedge clk_i) !rst_ni || !done_i || done_q < level_q);
endmodule
`default_nettype wire
