`default_nettype none
// The multiply-add of a PE in Latency cycles, 2 to 4: bf16, int8 or bypass, one a cycle. It gives
// what bf16_fma_pkg::fma() gives in one. An int8 pair goes through the same adder. Two things are
// done otherwise, for fewer levels of gates: the sticky bit joins behind the adder, and from the
// leading one on a sum is sign and magnitude.
//
//   0 product, order  1 align  2 add  3 leading one, coarse  4 fine, shift  5 round  6 pack
//
// Registers stand before the steps that Cuts names, and behind the last one. Why there:
// docs/decisions/pe-latency.md.
module mxu_multiply_add #(
  parameter int unsigned Latency = 2
) (
  input  wire logic         clk_i,
  input  wire logic         bypass_i,     // the sum passes
  input  wire logic         int8_i,
  input  wire logic [15:0]  x_i,
  input  wire logic [15:0]  w_i,
  input  wire logic [31:0]  pair_i,       // int8: the two products
  input  wire logic [31:0]  sum_i,
  output logic [31:0]       sum_o,
  input  wire logic         left_i,       // the running int8 sum has left int32
  output logic              left_o
);
  import bf16_fma_pkg::*;
  localparam logic [6:1] Cuts = Latency == 2 ? 6'b000100    // bit k - 1: before step k
                              : Latency == 3 ? 6'b001001 : 6'b010101;

  // What travels with a sum.
  typedef struct packed {
    logic        fixed;                   // the result is `value`
    logic        int8;
    logic        left;
    logic        minus;                   // the sum is below 0, or it is a 0 that is -0
    logic [31:0] value;
  } with_t;
  with_t       with0, with1, with2_in, with2, with3_in, with3, with4, with5, with6;
  logic [31:0] big0, small0, hi0, d0, big1, small1, hi1, shifted1, big2, shifted2, hi2, sum2;
  logic [31:0] sum3, hi3, coarse3, by3, hi4, coarse4, by4, n4, normal4, e4;
  logic [31:0] normal5, e5, rounded5, rounded6, e6, packed6;
  logic [4:0]  d1;
  logic        sticky1, sticky2;

  initial begin
    if (Latency < 2 || Latency > 4)
      $fatal(1, "mxu_multiply_add: a latency of %0d is none of 2 to 4", Latency);
  end

  // 0
  logic [15:0] magnitude;
  logic [31:0] product, exception;
  logic        int8, zero, exceptional_sum;
  assign int8 = int8_i & !bypass_i;
  assign zero = (x_i[14:7] == 8'd0) | (w_i[14:7] == 8'd0);
  assign magnitude = {8'd0, 1'b1, x_i[6:0]} * {8'd0, 1'b1, w_i[6:0]};
  assign product = zero ? 32'd0 : x_i[15] ^ w_i[15] ? -{3'd0, magnitude, 13'd0}
                                                    : {3'd0, magnitude, 13'd0};
  always_comb begin
    order(int8 ? sum_i : sum_significand(sum_i), int8 ? 32'd0 : sum_exponent(sum_i),
          int8 ? pair_i : product, int8 ? 32'd0 : exponent(x_i) + exponent(w_i),
          big0, small0, hi0, d0);
    exceptional(x_i, w_i, sum_i, exceptional_sum, exception);
  end
  assign with0 = '{fixed: bypass_i | (exceptional_sum & !int8), int8: int8, left: left_i,
                   minus: (x_i[15] ^ w_i[15]) & sum_i[31], value: bypass_i ? sum_i : exception};

  // 1
  mxu_cut #(.Width($bits(with_t) + 101), .Registers(Cuts[1])) u_cut_1 (
      .clk_i, .data_i({with0, big0, small0, hi0, d0[4:0]}),
      .data_o({with1, big1, small1, hi1, d1}));
  assign shifted1 = $unsigned($signed(small1) >>> d1);
  assign sticky1 = (shifted1 << d1) != small1;

  // 2
  mxu_cut #(.Width($bits(with_t) + 97), .Registers(Cuts[2])) u_cut_2 (
      .clk_i, .data_i({with1, big1, shifted1, hi1, sticky1}),
      .data_o({with2_in, big2, shifted2, hi2, sticky2}));
  assign sum2 = (big2 + shifted2) | {31'd0, sticky2};   // where a bit fell out, big2[0] is 0
  always_comb begin
    with2 = with2_in;
    if (with2_in.int8)
      with2.left = with2_in.left | ((sum2[31] != big2[31]) & (sum2[31] != shifted2[31]));
  end

  // 3
  mxu_cut #(.Width($bits(with_t) + 64), .Registers(Cuts[3])) u_cut_3 (
      .clk_i, .data_i({with2, sum2, hi2}), .data_o({with3_in, sum3, hi3}));
  always_comb begin
    leading_coarse(sum3, coarse3, by3);
    with3 = with3_in;
    if (sum3 != 32'd0) with3.minus = sum3[31];
    if (with3_in.int8) begin
      with3.fixed = 1'b1;
      with3.value = sum3;
    end
  end

  // 4
  mxu_cut #(.Width($bits(with_t) + 96), .Registers(Cuts[4])) u_cut_4 (
      .clk_i, .data_i({with3, hi3, coarse3, by3}), .data_o({with4, hi4, coarse4, by4}));
  assign n4 = leading_fine(coarse4, by4);
  assign normal4 = {2'b00, coarse4[29:0] << n4[2:0]};
  assign e4 = hi4 + 32'd2 - n4;

  // 5
  mxu_cut #(.Width($bits(with_t) + 64), .Registers(Cuts[5])) u_cut_5 (
      .clk_i, .data_i({with4, normal4, e4}), .data_o({with5, normal5, e5}));
  assign rounded5 = round_even(normal5);

  // 6
  mxu_cut #(.Width($bits(with_t) + 64), .Registers(Cuts[6])) u_cut_6 (
      .clk_i, .data_i({with5, rounded5, e5}), .data_o({with6, rounded6, e6}));
  assign packed6 = pack_any(rounded6, e6, 1'b0) | {with6.minus, 31'd0};
  always_ff @(posedge clk_i) begin
    sum_o <= with6.fixed ? with6.value : packed6;
    left_o <= with6.left;
  end

  logic unused_bits;
  assign unused_bits = &{1'b0, d0[31:5], with6.int8};
endmodule
`default_nettype wire
