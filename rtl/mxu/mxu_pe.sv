`default_nettype none
// One processing element: x and its control go east, sums south, shadow weights south while they
// are shifted. One multiply-add a cycle; outputs are registers. A sum goes south Latency cycles
// after its x came, all else one cycle later.
module mxu_pe #(
  parameter int unsigned Latency = 1      // 1 to 4
) (
  input  wire logic         clk_i,
  // control, from the west
  input  wire logic         swap_i,       // the shadow weight becomes active, for this row already
  input  wire logic         bypass_i,     // k >= K: the sum passes
  input  wire logic         int8_i,
  input  wire logic         shift_i,      // take the northern shadow weight
  output logic              swap_o,
  output logic              bypass_o,
  output logic              int8_o,
  output logic              shift_o,
  // data
  input  wire logic [15:0]  x_i,
  output logic [15:0]       x_o,
  input  wire logic [15:0]  shadow_i,
  output logic [15:0]       shadow_o,
  input  wire logic [31:0]  sum_i,
  output logic [31:0]       sum_o,
  input  wire logic         left_i,       // the running int8 sum has left int32
  output logic              left_o
);
  /* verilator no_inline_module */   // one piece of C++ for all of them
  logic [15:0] active_q, weight;
  logic [31:0] pair;

  assign weight = swap_i ? shadow_o : active_q;
  assign pair = 32'($signed(x_i[7:0])) * 32'($signed(weight[7:0]))
              + 32'($signed(x_i[15:8])) * 32'($signed(weight[15:8]));

  always_ff @(posedge clk_i) begin
    swap_o <= swap_i;
    bypass_o <= bypass_i;
    int8_o <= int8_i;
    shift_o <= shift_i;
    x_o <= x_i;
    active_q <= weight;
    if (shift_i) shadow_o <= shadow_i;
  end

  if (Latency == 1) begin : gen_one_cycle
    logic [31:0] int_sum;
    assign int_sum = sum_i + pair;
    always_ff @(posedge clk_i) begin
      if (bypass_i) sum_o <= sum_i;
      else sum_o <= int8_i ? int_sum : bf16_fma_pkg::fma_called(x_i, weight, sum_i);
      left_o <= left_i | (int8_i & !bypass_i
                          & (int_sum[31] != sum_i[31]) & (int_sum[31] != pair[31]));
    end
  end else begin : gen_pipeline
    mxu_multiply_add #(.Latency(Latency)) u_multiply_add (
        .clk_i, .bypass_i, .int8_i, .x_i, .w_i(weight), .pair_i(pair), .sum_i, .sum_o, .left_i,
        .left_o);
  end
endmodule
`default_nettype wire
