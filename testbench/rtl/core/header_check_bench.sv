`default_nettype none
// header_check for all queues side by side; queue_i chooses whose answer is seen.
module header_check_bench (
  input  logic                         in_slice_i,
  input  logic                         valid_i,
  input  logic [2:0]                   queue_i,
  input  logic [weft_pkg::CmdBits-1:0] cmd_i,
  output logic                         fault_o,
  output logic [7:0]                   code_o,
  output logic [63:0]                  address_o
);
  logic [weft_pkg::NumQueues-1:0] fault;
  logic [7:0] code [weft_pkg::NumQueues];
  logic [63:0] address [weft_pkg::NumQueues];

  for (genvar i = 0; i < weft_pkg::NumQueues; i++) begin : gen_queue
    header_check #(.Queue(3'(i))) u_check (
      .in_slice_i, .valid_i(valid_i && queue_i == 3'(i)), .cmd_i, .fault_o(fault[i]), .code_o(code[i]), .address_o(address[i]));
  end

  assign fault_o = fault[queue_i];
  assign code_o = code[queue_i];
  assign address_o = address[queue_i];
endmodule
`default_nettype wire
