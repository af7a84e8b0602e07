`default_nettype none
// The MXUs of the core, each with its array, its feeders and its ACC, side by side; and what they
// have in common: the VPU's view of ACC, fault injection, sums of counts.
//
//   cmd ─┬─► mxu 0 ═ x w ═ VMEM          rows of ACC as the VPU counts them:
//        ├─► mxu 1 ═ x w ═ VMEM          unit u, row r is u AccRows + r
//        └─► ...    └─ ACC ─► VPU
//
// Nothing here takes a cycle.
module mxu_group
  import mxu_pkg::*, chip_pkg::NumMxu;
#(
  parameter bit Structural = 1'b0,       // see mxu
  localparam int unsigned States = 6     // busy, weight_wait, acc_wait, vmem_wait, drain, idle
) (
  input  wire logic                clk_i,
  input  wire logic                rst_ni,
  // commands: cmd_i is offered to the MXU that it names
  input  wire logic [NumMxu-1:0]   cmd_valid_i,
  output logic [NumMxu-1:0]        cmd_ready_o,
  input  wire weft_pkg::mxu_cmd_t  cmd_i,
  output logic [NumMxu-1:0]        done_o,
  output logic [NumMxu-1:0]        fault_valid_o,
  output logic [NumMxu-1:0][7:0]   fault_code_o,
  output logic [NumMxu-1:0][15:0]  fault_tag_o,
  output logic [NumMxu-1:0][63:0]  fault_address_o,
  output logic [NumMxu-1:0]        active_o,
  // VMEM, rows of x
  output logic [NumMxu-1:0]        x_req_o,
  output addr_t [NumMxu-1:0]       x_addr_o,
  input  wire logic [NumMxu-1:0]   x_gnt_i,
  input  wire logic [NumMxu-1:0]   x_rvalid_i,
  input  wire port_pkg::words_answer_t x_i,
  // VMEM, weights
  output logic [NumMxu-1:0]        w_req_o,
  output addr_t [NumMxu-1:0]       w_addr_o,
  input  wire logic [NumMxu-1:0]   w_gnt_i,
  input  wire logic [NumMxu-1:0]   w_rvalid_i,
  input  wire port_pkg::words_answer_t w_i,
  // ACC, read by the VPU
  input  wire logic [ReadRows-1:0] acc_req_i,
  input  wire logic [ReadRows-1:0][15:0] acc_row_i,
  output logic [ReadRows-1:0]      acc_gnt_o,
  output logic [ReadRows-1:0]      acc_rvalid_o,
  output port_pkg::acc_answer_t    acc_o,
  // counters: the state of each, sums of the rest
  output logic [NumMxu*States-1:0] cnt_state_o,
  output logic [31:0]              cnt_macs_o,
  output logic                     int_overflow_o,
  output logic [15:0]              cnt_corrected_o,
  output logic [15:0]              cnt_poison_o,
  // fault injection in ACC: granule = row N + column, rows as the VPU counts them
  input  wire core_pkg::flip_t     flip_i,
  output logic                     flip_write_o
);
  localparam int unsigned RowBits = $clog2(AccRows);

  logic [NumMxu-1:0]       int_overflow, flip_write;
  logic [NumMxu-1:0][ReadRows-1:0] acc_gnt, acc_rvalid;
  logic [NumMxu-1:0][31:0] macs;
  logic [NumMxu-1:0][15:0] corrected, poisoned;

  if (NumMxu * AccRows > 2 ** 16)
    $error("mxu_group: %0d MXUs of %0d ACC rows exceed 65536", NumMxu, AccRows);

  for (genvar u = 0; u < NumMxu; u++) begin : gen_unit
    core_pkg::flip_t flip;
    logic [63:0] address;
    logic [ReadRows-1:0] here;           // the VPU asks for one of its rows
    port_pkg::acc_answer_t acc;

    for (genvar i = 0; i < ReadRows; i++) begin : gen_here
      assign here[i] = acc_row_i[i] >> RowBits == 16'(u);
    end

    // Whose element it is; what ACC does with the low bits does not depend on the others.
    always_comb begin
      flip = flip_i;
      if (flip_i.granule >> (RowBits + LaneBits) != 32'(u)) begin
        flip.now = 1'b0;
        flip.watch = 1'b0;
      end
    end

    // A fault in ACC names the row as the VPU does.
    assign fault_address_o[u] = address[63] ? address + 64'(u * AccRows) : address;

    mxu #(.Structural(Structural)) u_mxu (
      .clk_i, .rst_ni, .cmd_valid_i(cmd_valid_i[u]), .cmd_ready_o(cmd_ready_o[u]), .cmd_i,
      .done_o(done_o[u]), .fault_valid_o(fault_valid_o[u]), .fault_code_o(fault_code_o[u]),
      .fault_tag_o(fault_tag_o[u]), .fault_address_o(address), .active_o(active_o[u]),
      .x_req_o(x_req_o[u]), .x_addr_o(x_addr_o[u]), .x_gnt_i(x_gnt_i[u]),
      .x_rvalid_i(x_rvalid_i[u]), .x_i('{poison: x_i.poison[u], data: x_i.data[u]}),
      .w_req_o(w_req_o[u]), .w_addr_o(w_addr_o[u]), .w_gnt_i(w_gnt_i[u]),
      .w_rvalid_i(w_rvalid_i[u]), .w_i('{poison: w_i.poison[u], data: w_i.data[u]}),
      .acc_req_i(acc_req_i & here), .acc_row_i, .acc_gnt_o(acc_gnt[u]),
      .acc_rvalid_o(acc_rvalid[u]), .acc_o(acc),
      .cnt_busy_o(cnt_state_o[u*States+0]), .cnt_weight_wait_o(cnt_state_o[u*States+1]),
      .cnt_acc_wait_o(cnt_state_o[u*States+2]), .cnt_vmem_wait_o(cnt_state_o[u*States+3]),
      .cnt_drain_o(cnt_state_o[u*States+4]), .cnt_idle_o(cnt_state_o[u*States+5]),
      .cnt_macs_o(macs[u]), .int_overflow_o(int_overflow[u]),
      .cnt_corrected_o(corrected[u]), .cnt_poison_o(poisoned[u]),
      .flip_i(flip), .flip_write_o(flip_write[u]));
  end

  assign int_overflow_o = int_overflow != '0;
  assign flip_write_o = flip_write != '0;

  // Each row of the MXU that was asked for it a cycle ago.
  always_comb begin
    acc_gnt_o = acc_gnt[0];
    acc_rvalid_o = acc_rvalid[0];
    for (int unsigned u = 1; u < NumMxu; u++) begin
      acc_gnt_o = acc_gnt_o | acc_gnt[u];
      acc_rvalid_o = acc_rvalid_o | acc_rvalid[u];
    end
  end

  // A row that an MXU was not asked for is zeros there. Of a generate block only constants choose
  // one, so each MXU has its line; there are up to four.
  localparam int unsigned Second = 1 % NumMxu, Third = 2 % NumMxu, Fourth = 3 % NumMxu;
  if (NumMxu > 4) $error("mxu_group: %0d MXUs exceed 4", NumMxu);
  always_comb begin
    acc_o = gen_unit[0].acc;
    if (NumMxu > 1 && acc_rvalid[Second] != '0) acc_o = acc_o | gen_unit[Second].acc;
    if (NumMxu > 2 && acc_rvalid[Third] != '0) acc_o = acc_o | gen_unit[Third].acc;
    if (NumMxu > 3 && acc_rvalid[Fourth] != '0) acc_o = acc_o | gen_unit[Fourth].acc;
  end

  always_comb begin
    cnt_macs_o = macs[0];
    cnt_corrected_o = corrected[0];
    cnt_poison_o = poisoned[0];
    for (int unsigned u = 1; u < NumMxu; u++) begin
      cnt_macs_o = cnt_macs_o + macs[u];
      cnt_corrected_o = cnt_corrected_o + corrected[u];
      cnt_poison_o = cnt_poison_o + poisoned[u];
    end
  end

  for (genvar i = 0; i < ReadRows; i++) begin : gen_answer
    logic [NumMxu-1:0] answers;
    for (genvar u = 0; u < NumMxu; u++) begin : gen_unit
      assign answers[u] = acc_rvalid[u][i];
    end
    OneAnswers_A: assert property (@(posedge clk_i) !rst_ni || $onehot0(answers));
  end
endmodule
`default_nettype wire
