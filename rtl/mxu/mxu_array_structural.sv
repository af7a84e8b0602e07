`default_nettype none
// The N x N array as hardware: N x N instances of mxu_pe and the registers that skew what enters.
//
//            w, column j delayed by j          seed, column j delayed by j
//                    │ shadow                          │ sum
//   x, element i ─► PE(0,0) ─► PE(0,1) ─► ...
//   delayed by     ─► PE(1,0) ─► PE(1,1) ─► ...
//   PeLatency i      │                                 └─► sum_o, column j
//
// Row issued in cycle c: PE (i, j) begins with it in c + 1 + PeLatency i + j, lane j of sum_o holds
// its result in c + 1 + Depth + j. Same ports as mxu_array, which the bench proves equal to it.
module mxu_array_structural
  import mxu_pkg::*;
(
  input  wire logic          clk_i,
  input  wire logic          rst_ni,
  input  wire logic          step_i,
  // row of x, enters in the next cycle
  input  wire logic          row_valid_i,
  input  wire row_ctl_t      row_i,
  input  wire seed_e         seed_select_i,
  input  wire count_t        forward_cols_i,    // SeedForward: lanes from here on start at 0
  input  wire word_t         x_i,
  // word of weights, enters in the next cycle
  input  wire logic          weight_valid_i,
  input  wire weight_ctl_t   weight_i,
  input  wire word_t         w_i,
  // ACC
  input  wire lanes_t        seed_i,
  output lanes_t             sum_o,
  output logic [N-1:0]       overflow_o
);
  // x and its control, skewed: stage PeLatency i of element i feeds PE (i, 0)
  localparam int unsigned Stages = PeLatency * (N - 1) + 1;
  logic [15:0] x_skew[N][Stages];
  logic        swap_skew[Stages], int8_skew[Stages];
  logic        bypass_skew[N][Stages], shift_skew[N];
  logic [15:0] w_skew[N][N];                    // [column][stage]
  seed_e       seed_skew[N];                    // by column
  count_t      forward_skew[N];

  // [row][column] of a PE's inputs; the last column or row beyond the array leaves it
  logic [15:0] x_in[N][N+1];
  logic        swap_in[N][N+1], bypass_in[N][N+1], int8_in[N][N+1], shift_in[N][N+1];
  logic [15:0] shadow_in[N+1][N];
  logic [31:0] sum_in[N+1][N] /* verilator split_var */;   // one PE row feeds the next: no loop
  logic        left_in[N+1][N];

  always_ff @(posedge clk_i) begin
    swap_skew[0] <= rst_ni & row_valid_i & row_i.swap;
    int8_skew[0] <= row_i.int8;
    seed_skew[0] <= seed_select_i;
    forward_skew[0] <= forward_cols_i;
  end
  for (genvar s = 1; s < Stages; s++) begin : gen_control_skew
    always_ff @(posedge clk_i) begin
      swap_skew[s] <= swap_skew[s-1];
      int8_skew[s] <= int8_skew[s-1];
    end
  end
  for (genvar i = 1; i < N; i++) begin : gen_seed_skew
    always_ff @(posedge clk_i) begin
      seed_skew[i] <= seed_skew[i-1];
      forward_skew[i] <= forward_skew[i-1];
    end
  end

  for (genvar i = 0; i < N; i++) begin : gen_skew
    always_ff @(posedge clk_i) begin
      x_skew[i][0] <= x_i[16*i+:16];
      bypass_skew[i][0] <= count_t'(i) >= row_i.rows;
      w_skew[i][0] <= w_i[16*i+:16];
      // a word shifts the PE rows that its predecessors of the same tile have reached, and one more
      shift_skew[i] <= rst_ni & weight_valid_i & (weight_i.index + count_t'(1) > count_t'(i));
    end
    for (genvar s = 1; s < Stages; s++) begin : gen_stage
      if (s <= PeLatency * i) begin : gen_used
        always_ff @(posedge clk_i) begin
          x_skew[i][s] <= x_skew[i][s-1];
          bypass_skew[i][s] <= bypass_skew[i][s-1];
        end
      end else begin : gen_unused
        assign x_skew[i][s] = '0;
        assign bypass_skew[i][s] = 1'b0;
      end
    end
    for (genvar s = 1; s < N; s++) begin : gen_weight_stage
      if (s <= i) begin : gen_used
        always_ff @(posedge clk_i) w_skew[i][s] <= w_skew[i][s-1];
      end else begin : gen_unused
        assign w_skew[i][s] = '0;
      end
    end
    assign x_in[i][0] = x_skew[i][PeLatency*i];
    assign swap_in[i][0] = swap_skew[PeLatency*i];
    assign bypass_in[i][0] = bypass_skew[i][PeLatency*i];
    assign int8_in[i][0] = int8_skew[PeLatency*i];
    assign shift_in[i][0] = shift_skew[i];
    assign shadow_in[0][i] = w_skew[i][i];
    assign sum_in[0][i] = seed_skew[i] == SeedAcc ? seed_i[32*i+:32]
        : seed_skew[i] == SeedForward && count_t'(i) < forward_skew[i] ? sum_o[32*i+:32] : 32'd0;
    assign left_in[0][i] = 1'b0;
    assign sum_o[32*i+:32] = sum_in[N][i];
    assign overflow_o[i] = left_in[N][i];

    for (genvar j = 0; j < N; j++) begin : gen_pe
      mxu_pe #(.Latency(PeLatency)) u_pe (
          .clk_i, .swap_i(swap_in[i][j]), .bypass_i(bypass_in[i][j]), .int8_i(int8_in[i][j]),
          .shift_i(shift_in[i][j]), .swap_o(swap_in[i][j+1]), .bypass_o(bypass_in[i][j+1]),
          .int8_o(int8_in[i][j+1]), .shift_o(shift_in[i][j+1]), .x_i(x_in[i][j]),
          .x_o(x_in[i][j+1]), .shadow_i(shadow_in[i][j]), .shadow_o(shadow_in[i+1][j]),
          .sum_i(sum_in[i][j]), .sum_o(sum_in[i+1][j]), .left_i(left_in[i][j]),
          .left_o(left_in[i+1][j]));
    end
  end

  logic unused_ctl;
  assign unused_ctl = &{1'b0, step_i, row_i.tile_last, row_i.command_last, row_i.from_acc,
                        row_i.acc_row, row_i.odd, row_i.cols, weight_i.first, weight_i.last,
                        weight_i.row, weight_i.cols, weight_i.int8};
endmodule
`default_nettype wire
