`default_nettype none
// Semaphores never fall below 0 and never rise above 65535; a post that would is refused whole.
module semaphore_invariants #(
  parameter int unsigned Queues = weft_pkg::NumQueues
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic [Queues-1:0] wait_valid_i,
  input logic [Queues-1:0] wait_grant_i,
  // what the wait that is granted takes, and from how much; sem NoSemaphore: nothing
  input logic [7:0]        take_sem0_i,
  input logic [7:0]        take_sem1_i,
  input logic [15:0]       take_count0_i,
  input logic [15:0]       take_count1_i,
  input logic [15:0]       value0_i,
  input logic [15:0]       value1_i,
  // post
  input logic              post_valid_i,
  input logic [16:0]       sum0_i,
  input logic [16:0]       sum1_i,
  input logic              overflow_i
);
  localparam logic [7:0] None = weft_pkg::NoSemaphore;

  NoUnderflow_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (take_sem0_i == None || take_count0_i <= value0_i) &&
      (take_sem1_i == None || take_count1_i <= value1_i));
  TakenByGrantOnly_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      wait_grant_i == '0 |-> take_sem0_i == None && take_sem1_i == None);
  GrantOneHot_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      $onehot0(wait_grant_i) && (wait_grant_i & ~wait_valid_i) == '0);
  OverflowIsRefused_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      post_valid_i && (sum0_i > 17'd65535 || sum1_i > 17'd65535) |-> overflow_i);

  TakeToZero_C: cover property (@(posedge clk_i)
      rst_ni && take_sem0_i != None && take_count0_i == value0_i);
  Overflow_C: cover property (@(posedge clk_i) rst_ni && overflow_i);
  PostTo65535_C: cover property (@(posedge clk_i) rst_ni && post_valid_i && sum0_i == 17'd65535);
endmodule
`default_nettype wire
