`default_nettype none
// 64 counters of 16 bits: queues wait on pairs of them, retirements post to pairs of them.
//
// A wait tests both semaphores and subtracts both counts in one cycle, or does nothing; at most one
// queue is served a cycle, in turn, so no count is taken twice. A post adds to both or, if one
// would exceed 65535, to neither. Within a cycle the wait subtracts first, then the post adds. A
// value posted in cycle t can be waited for in t + 1. Grants and overflow are combinational.
// Readable by Yosys 0.23.
module semaphores #(
  parameter int unsigned Queues = weft_pkg::NumQueues
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // waits, one lane a queue; sem NoSemaphore: no wait
  input  logic [Queues-1:0]    wait_valid_i,
  input  logic [8*Queues-1:0]  wait_sem0_i,
  input  logic [8*Queues-1:0]  wait_sem1_i,
  input  logic [16*Queues-1:0] wait_count0_i,
  input  logic [16*Queues-1:0] wait_count1_i,
  output logic [Queues-1:0]    wait_grant_o,
  // posts of one retirement; the two semaphores differ unless none
  input  logic                 post_valid_i,
  input  logic [7:0]           post_sem0_i,
  input  logic [7:0]           post_sem1_i,
  input  logic [15:0]          post_count0_i,
  input  logic [15:0]          post_count1_i,
  output logic                 overflow_o,
  output logic [7:0]           overflow_sem_o,
  // register access; a write wins over what else happens in its cycle
  input  logic                 csr_write_i,
  input  logic [5:0]           csr_index_i,
  input  logic [15:0]          csr_wdata_i,
  output logic [15:0]          csr_rdata_o,
  output logic [weft_pkg::NumSemaphores-1:0] nonzero_o
);
  localparam logic [7:0] None = weft_pkg::NoSemaphore;

  // One bit a semaphore tells that it is not 0. Reset clears these bits instead of the memory.
  logic [15:0] count_q [0:weft_pkg::NumSemaphores-1];
  logic [weft_pkg::NumSemaphores-1:0] nonzero_q;

  function automatic [15:0] value(input [5:0] index);
    value = nonzero_q[index] ? count_q[index] : 16'd0;
  endfunction

  // Which queues could go: both counts are there.
  logic [Queues-1:0] ready;
  integer q;
  always_comb begin
    ready = 0;
    q = 0;
    if (wait_valid_i != 0) begin   // nothing waits: nothing to simulate
      for (q = 0; q < Queues; q = q + 1) begin
        ready[q] = wait_valid_i[q] &&
                   (wait_sem0_i[8*q+:8] == None ||
                       value(wait_sem0_i[8*q+:6]) >= wait_count0_i[16*q+:16]) &&
                   (wait_sem1_i[8*q+:8] == None ||
                       value(wait_sem1_i[8*q+:6]) >= wait_count1_i[16*q+:16]);
      end
    end
  end

  round_robin #(.Width(Queues)) u_round_robin (
    .clk_i(clk_i), .rst_ni(rst_ni), .request_i(ready), .grant_o(wait_grant_o));

  // The wait that is granted: what it subtracts, and where.
  logic [7:0] take_sem0, take_sem1;
  logic [15:0] take_count0, take_count1;
  integer g;
  always_comb begin
    g = 0;
    take_sem0 = None;
    take_sem1 = None;
    take_count0 = 0;
    take_count1 = 0;
    if (wait_grant_o != 0) begin
      for (g = 0; g < Queues; g = g + 1) begin
        if (wait_grant_o[g]) begin
          take_sem0 = wait_sem0_i[8*g+:8];
          take_sem1 = wait_sem1_i[8*g+:8];
          take_count0 = wait_count0_i[16*g+:16];
          take_count1 = wait_count1_i[16*g+:16];
        end
      end
    end
  end

  // The value of a semaphore after this cycle's wait.
  logic [15:0] base0, base1, left0, left1;
  logic [16:0] sum0, sum1;
  always_comb begin
    left0 = value(take_sem0[5:0]) - take_count0;
    left1 = value(take_sem1[5:0]) - take_count1;
    base0 = value(post_sem0_i[5:0]);
    base1 = value(post_sem1_i[5:0]);
    if (take_sem0 == post_sem0_i) base0 = left0;
    if (take_sem1 == post_sem0_i) base0 = left1;
    if (take_sem0 == post_sem1_i) base1 = left0;
    if (take_sem1 == post_sem1_i) base1 = left1;
    sum0 = post_sem0_i == None ? 17'd0 : {1'b0, base0} + {1'b0, post_count0_i};
    sum1 = post_sem1_i == None ? 17'd0 : {1'b0, base1} + {1'b0, post_count1_i};
    overflow_o = post_valid_i && (sum0[16] || sum1[16]);
    overflow_sem_o = sum0[16] ? post_sem0_i : post_sem1_i;
  end

  always_ff @(posedge clk_i) begin
    if (take_sem0 != None) begin
      count_q[take_sem0[5:0]] <= left0;
      nonzero_q[take_sem0[5:0]] <= left0 != 0;
    end
    if (take_sem1 != None) begin
      count_q[take_sem1[5:0]] <= left1;
      nonzero_q[take_sem1[5:0]] <= left1 != 0;
    end
    if (post_valid_i && !overflow_o) begin
      if (post_sem0_i != None) begin
        count_q[post_sem0_i[5:0]] <= sum0[15:0];
        nonzero_q[post_sem0_i[5:0]] <= sum0 != 0;
      end
      if (post_sem1_i != None) begin
        count_q[post_sem1_i[5:0]] <= sum1[15:0];
        nonzero_q[post_sem1_i[5:0]] <= sum1 != 0;
      end
    end
    if (csr_write_i) begin
      count_q[csr_index_i] <= csr_wdata_i;
      nonzero_q[csr_index_i] <= csr_wdata_i != 0;
    end
    if (!rst_ni) nonzero_q <= 0;
  end

  assign csr_rdata_o = value(csr_index_i);
  assign nonzero_o = nonzero_q;
endmodule
`default_nettype wire
