`default_nettype none
// Retires commands: one a cycle in the whole core posts its semaphores and is counted.
//
// Each unit has a lane that keeps what its commands post; a round robin chooses among the units
// that have finished one. MXUs retire in the order of their queue (mxu_order.sv). A post that would
// overflow is a fault: neither semaphore is posted and the command does not count as retired.
// Latency: done in cycle t, posted in t + 1 (later if other units retire), visible in t + 2.
module retire (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  // units
  input  logic [control_pkg::Units-1:0]       start_i,
  input  control_pkg::post_t                  post_i [control_pkg::Units],
  input  logic [control_pkg::Units-1:0]       not_done_i,   // with start: fault injection
  input  logic [control_pkg::Units-1:0]       lost_done_i,
  input  logic [control_pkg::Units-1:0]       done_i,
  output logic [control_pkg::Units-1:0]       full_o,
  output logic [control_pkg::Units-1:0]       held_o,
  output logic [control_pkg::Units-1:0]       finished_o,   // done, waits for its retirement
  output logic [control_pkg::Units-1:0]       behind_o,     // an MXU: another's retires first
  output logic [15:0]                         oldest_tag_o [control_pkg::Units],
  // semaphores
  output logic                                post_valid_o,
  output control_pkg::post_t                  post_o,
  input  logic                                post_overflow_i,
  input  logic [7:0]                          post_overflow_sem_i,
  // results
  output logic [control_pkg::Units-1:0]       retire_o,
  output control_pkg::fault_t                 fault_o
);
  // A DMA channel holds more commands than the other units (rtl/dma/README.md).
  localparam int unsigned DmaDepth = 8;
  localparam int unsigned UnitDepth = 4;

  logic [control_pkg::Units-1:0] done_held, pending, grant, out_of_turn;
  control_pkg::post_t lane_post [control_pkg::Units];

  for (genvar i = 0; i < control_pkg::Units; i++) begin : gen_lane
    retire_lane #(.Depth(i < weft_pkg::DmaChannels ? DmaDepth : UnitDepth)) u_lane (
      .clk_i, .rst_ni, .start_i(start_i[i]), .post_i(post_i[i]),
      .not_done_i(not_done_i[i]), .lost_done_i(lost_done_i[i]), .full_o(full_o[i]),
      .done_i(done_i[i]),
      .pending_o(done_held[i]), .post_o(lane_post[i]), .held_o(held_o[i]), .retire_i(grant[i]));
    assign oldest_tag_o[i] = lane_post[i].tag;
  end
  assign pending = done_held & ~out_of_turn;

  if (control_pkg::NumMxu == 1) begin : gen_one_mxu
    assign out_of_turn = '0;
  end else begin : gen_mxu_order
    mxu_order u_mxu_order (
      .clk_i, .rst_ni, .start_i, .retire_i(grant), .out_of_turn_o(out_of_turn));
  end

  round_robin #(.Width(control_pkg::Units)) u_round_robin (
    .clk_i, .rst_ni, .request_i(pending), .grant_o(grant));

  assign finished_o = pending;
  assign behind_o = out_of_turn;
  assign post_valid_o = grant != 0;
  assign retire_o = post_overflow_i ? '0 : grant;

  logic [3:0] unit_id;
  always_comb begin
    post_o = '0;
    unit_id = '0;
    if (post_valid_o) begin
      for (int unsigned i = 0; i < control_pkg::Units; i++) begin
        if (grant[i]) begin
          post_o = lane_post[i];
          unit_id = 4'(i);
        end
      end
    end
  end

  always_comb begin
    fault_o = '0;
    if (post_overflow_i) begin
      fault_o.valid = 1'b1;
      fault_o.unit_id = unit_id;
      fault_o.code = weft_pkg::FaultSemaphoreOverflow;
      fault_o.queue_id = control_pkg::queue_of_unit(unit_id);
      fault_o.tag = post_o.tag;
      fault_o.address = 64'(post_overflow_sem_i);
    end
  end
endmodule
`default_nettype wire
