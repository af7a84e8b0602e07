`default_nettype none
// The matrix unit: commands in, rows of x and weights from VMEM, results in ACC, which the VPU
// reads.
//
//   cmd ─► control ─┬─► x walk ─► fetch ─┐            ┌──── VMEM x port
//                   └─► w walk ─► fetch ─┤  issue     ├──── VMEM w port
//                                        ▼            │
//                                  N x N array ◄─seed─┤
//                                        └────sum────►ACC ─► VPU
//
// A word granted in cycle c is at the array's door in c + 2, and enters in c + 3. See README.md for
// the latencies.
module mxu
  import mxu_pkg::*;
#(
  parameter bit Structural = 1'b0       // 1: instances of a PE and of a RAM; the same cycles
) (
  input  wire logic                clk_i,
  input  wire logic                rst_ni,
  // commands
  input  wire logic                cmd_valid_i,
  output logic                     cmd_ready_o,
  input  wire weft_pkg::mxu_cmd_t  cmd_i,
  output logic                     done_o,
  output logic                     fault_valid_o,
  output logic [7:0]               fault_code_o,
  output logic [15:0]              fault_tag_o,
  output logic [63:0]              fault_address_o,
  output logic                     active_o,
  // VMEM, rows of x
  output logic                     x_req_o,
  output addr_t                    x_addr_o,
  input  wire logic                x_gnt_i,
  input  wire logic                x_rvalid_i,
  input  wire port_pkg::word_answer_t x_i,
  // VMEM, weights
  output logic                     w_req_o,
  output addr_t                    w_addr_o,
  input  wire logic                w_gnt_i,
  input  wire logic                w_rvalid_i,
  input  wire port_pkg::word_answer_t w_i,
  // ACC, read by the VPU
  input  wire logic [ReadRows-1:0] acc_req_i,
  input  wire logic [ReadRows-1:0][15:0] acc_row_i,
  output logic [ReadRows-1:0]      acc_gnt_o,
  output logic [ReadRows-1:0]      acc_rvalid_o,
  output port_pkg::acc_answer_t    acc_o,
  // counters
  output logic                     cnt_busy_o,
  output logic                     cnt_weight_wait_o,
  output logic                     cnt_acc_wait_o,
  output logic                     cnt_vmem_wait_o,
  output logic                     cnt_drain_o,
  output logic                     cnt_idle_o,
  output logic [31:0]              cnt_macs_o,
  output logic                     int_overflow_o,
  // elements of ACC with an error that were read in the last cycle
  output logic [15:0]              cnt_corrected_o,
  output logic [15:0]              cnt_poison_o,
  // fault injection in ACC
  input  wire core_pkg::flip_t     flip_i,
  output logic                     flip_write_o
);
  /* verilator inline_module */   // so that its registers have names in the C++ model of a core
  job_t         x_job, w_job;
  logic         x_job_valid, x_job_done, w_job_valid, w_job_done;
  logic         x_want, x_taken, w_want, w_taken;
  addr_t        x_addr, w_addr;
  row_ctl_t     x_ctl, row;
  weight_ctl_t  w_ctl, weight;
  word_t        row_data, row_masked, weight_data;
  logic         row_valid, row_issue, weight_valid, weight_issue;
  logic         arriving, rows_left, hazard, flight, step;
  seed_e        seed_select;
  count_t       forward_cols;
  lanes_t       seed, sum;
  logic [N-1:0] overflow;
  poison_t      row_poison, weight_poison;
  addr_t        row_addr, weight_addr;
  logic         row_stop, weight_stop, no_weights, acc_poison, ecc_fault, halted, feed_rst_n;
  acc_row_t     acc_poison_row;
  logic [Flight-1:0] kill;
  logic [63:0]  ecc_address;

  initial begin
    if (2 ** LaneBits != N || N < 8 || N > 256)
      $fatal(1, "mxu: N = %0d is not a power of two from 8 to 256", N);
  end

  mxu_control u_control (
      .clk_i, .rst_ni, .cmd_valid_i, .cmd_ready_o, .cmd_i, .fault_valid_o, .fault_code_o,
      .fault_tag_o, .fault_address_o, .active_o, .arriving_o(arriving), .x_valid_o(x_job_valid),
      .x_job_o(x_job), .x_done_i(x_job_done), .w_valid_o(w_job_valid), .w_job_o(w_job),
      .w_done_i(w_job_done), .rows_left_o(rows_left), .issued_i(row_issue & row.command_last),
      .retire_i(done_o),
      .ecc_fault_i(ecc_fault), .ecc_address_i(ecc_address), .halted_o(halted));
  assign feed_rst_n = rst_ni & !halted;     // nothing is left to feed

  mxu_x_walk u_x_walk (
      .clk_i, .rst_ni(feed_rst_n),
      .job_valid_i(x_job_valid), .job_i(x_job), .job_done_o(x_job_done),
      .want_o(x_want), .addr_o(x_addr), .ctl_o(x_ctl), .taken_i(x_taken));
  mxu_fetch #(.ctl_t(row_ctl_t)) u_x_fetch (
      .clk_i, .rst_ni(feed_rst_n),
      .want_i(x_want), .addr_i(x_addr), .ctl_i(x_ctl), .taken_o(x_taken),
      .req_o(x_req_o), .addr_o(x_addr_o), .gnt_i(x_gnt_i), .rvalid_i(x_rvalid_i),
      .answer_i(x_i), .valid_o(row_valid), .ctl_o(row), .data_o(row_data), .pop_i(row_issue),
      .poison_o(row_poison), .word_addr_o(row_addr));

  mxu_w_walk u_w_walk (
      .clk_i, .rst_ni(feed_rst_n),
      .job_valid_i(w_job_valid), .job_i(w_job), .job_done_o(w_job_done),
      .want_o(w_want), .addr_o(w_addr), .ctl_o(w_ctl), .taken_i(w_taken));
  mxu_fetch #(.ctl_t(weight_ctl_t)) u_w_fetch (
      .clk_i, .rst_ni(feed_rst_n),
      .want_i(w_want), .addr_i(w_addr), .ctl_i(w_ctl), .taken_o(w_taken),
      .req_o(w_req_o), .addr_o(w_addr_o), .gnt_i(w_gnt_i), .rvalid_i(w_rvalid_i),
      .answer_i(w_i), .valid_o(weight_valid), .ctl_o(weight), .data_o(weight_data),
      .pop_i(weight_issue), .poison_o(weight_poison), .word_addr_o(weight_addr));

  mxu_poison u_poison (
      .row_valid_i(row_valid), .row_i(row), .row_addr_i(row_addr), .row_poison_i(row_poison),
      .weight_valid_i(weight_valid), .weight_i(weight), .weight_addr_i(weight_addr),
      .weight_poison_i(weight_poison), .acc_poison_i(acc_poison), .acc_row_i(acc_poison_row),
      .no_weights_i(no_weights), .flight_i(flight), .row_stop_o(row_stop),
      .weight_stop_o(weight_stop), .fault_o(ecc_fault), .address_o(ecc_address));

  mxu_issue u_issue (
      .clk_i, .rst_ni(feed_rst_n),
      .arriving_i(arriving), .active_i(active_o), .rows_left_i(rows_left),
      .retire_o(done_o), .row_valid_i(row_valid), .row_i(row), .hazard_i(hazard),
      .weight_valid_i(weight_valid), .weight_i(weight), .row_stop_i(row_stop),
      .weight_stop_i(weight_stop), .kill_i(kill), .no_weights_o(no_weights),
      .row_issue_o(row_issue),
      .weight_issue_o(weight_issue), .flight_o(flight), .cnt_busy_o, .cnt_weight_wait_o,
      .cnt_acc_wait_o, .cnt_vmem_wait_o, .cnt_drain_o, .cnt_idle_o, .cnt_macs_o);

  assign step = row_issue | flight;

  // odd K: the packer leaves the high byte 0, the hardware does not rely on it
  always_comb begin
    row_masked = row_data;
    if (row.odd) row_masked[16*(32'(row.rows)-32'd1)+8+:8] = 8'd0;
  end

  if (Structural) begin : gen_structural
    mxu_array_structural u_array (
        .clk_i, .rst_ni, .step_i(step), .row_valid_i(row_issue), .row_i(row),
        .seed_select_i(seed_select), .forward_cols_i(forward_cols), .x_i(row_masked),
        .weight_valid_i(weight_issue), .weight_i(weight), .w_i(weight_data), .seed_i(seed),
        .sum_o(sum), .overflow_o(overflow));
  end else begin : gen_loops
    mxu_array u_array (
        .clk_i, .rst_ni, .step_i(step), .row_valid_i(row_issue), .row_i(row),
        .seed_select_i(seed_select), .forward_cols_i(forward_cols), .x_i(row_masked),
        .weight_valid_i(weight_issue), .weight_i(weight), .w_i(weight_data), .seed_i(seed),
        .sum_o(sum), .overflow_o(overflow));
  end

  mxu_acc #(.Structural(Structural)) u_acc (
      .clk_i, .rst_ni, .step_i(step), .row_i(row), .hazard_o(hazard), .seed_select_o(seed_select),
      .forward_cols_o(forward_cols), .row_issue_i(row_issue), .seed_o(seed), .sum_i(sum),
      .overflow_i(overflow), .int_overflow_o, .acc_req_i, .acc_row_i, .acc_gnt_o, .acc_rvalid_o,
      .acc_o, .poison_o(acc_poison), .poison_row_o(acc_poison_row),
      .kill_o(kill), .cnt_corrected_o, .cnt_poison_o, .flip_i, .flip_write_o);
endmodule
`default_nettype wire
