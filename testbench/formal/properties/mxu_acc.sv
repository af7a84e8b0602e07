
  // Properties of the accumulators: one element, row w and column lane, chosen by the solver. `value` is what the rows
  // issued so far have left there, by the time at which each result is at the bottom of its column. No memory error is
  // assumed (rows behind one are dropped); mxu_issue issues no row while hazard_o.
  localparam int unsigned Last = Flight;                   // cycles after which every lane of a row is written
  logic [RowBits-1:0] w;
  logic [LaneBits-1:0] lane;
  any_const #(.WIDTH(RowBits)) u_w (.Y(w));
  any_const #(.WIDTH(LaneBits)) u_lane (.Y(lane));
  logic reset_done = 1'b0;
  logic [Last:0] writes_q = '0, reads_q = '0, forwards_q = '0, busy_q = '0;   // bit k: such a row was issued k + 1 cycles ago
  logic [Last:0] counts_q;                                 // ... and the lane is below its cols
  logic [Last:0] taken_q;                                  // ... and the lane is below forward_cols_o
  logic written_q = 1'b0, was_granted_q = 1'b0;
  logic [31:0] value_q;
  wire issues = row_issue_i && row_i.acc_row == w;
  wire arrives = writes_q[32'(Depth) + 32'(lane)];         // issued Depth + lane + 1 cycles ago
  wire seed_due = reads_q[lane];
  wire forward_due = forwards_q[lane];

  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    writes_q <= {writes_q[Last-1:0], issues};
    busy_q <= {busy_q[Last-1:0], row_issue_i};
    reads_q <= {reads_q[Last-1:0], issues && seed_select_o == SeedAcc};
    forwards_q <= {forwards_q[Last-1:0], issues && seed_select_o == SeedForward};
    counts_q <= {counts_q[Last-1:0], count_t'(lane) < row_i.cols};
    taken_q <= {taken_q[Last-1:0], count_t'(lane) < forward_cols_o};
    if (arrives) begin
      written_q <= 1'b1;
      value_q <= counts_q[32'(Depth) + 32'(lane)] ? sum_i[32*lane+:32] : 32'd0;
    end
    was_granted_q <= acc_gnt_o[0] && acc_row_i[0] == 16'(w);
    if (!rst_ni) {writes_q, reads_q, forwards_q, busy_q, written_q, was_granted_q} <= '0;
  end

  always_comb begin
    if (!reset_done) assume (!rst_ni && !row_issue_i && acc_req_i == 0);
    if (reset_done) assume (rst_ni);
    assume (flip_i == '0 && !poison_o && kill_o == '0);
    assume (step_i || (!row_issue_i && busy_q == '0));
    assume (!(row_issue_i && hazard_o) && row_i.cols <= count_t'(N));
    if (reset_done) begin
      // a read sees the last row issued before it, whose result has been written
      if (seed_due && written_q) SeedIsLastResult_A: assert (seed_o[32*lane+:32] == value_q);
      // a forwarded seed is that row's result, which is at the bottom in this very cycle
      if (forward_due) ForwardIsLastResult_A:
        assert (arrives && taken_q[lane] == counts_q[32'(Depth) + 32'(lane)]);
      // no pending write is passed over: a row that seeds from ACC waits for it, and only for it
      if (row_i.from_acc && row_i.acc_row == w) HazardExact_A: assert (hazard_o == (writes_q[Depth-2:0] != '0));
      if (issues && row_i.from_acc && writes_q[Depth-1]) Forwards_A: assert (seed_select_o == SeedForward);
      if (issues && !row_i.from_acc) Zero_A: assert (seed_select_o == SeedZero);
      if (was_granted_q && written_q) VpuSeesLastResult_A: assert (acc_rvalid_o[0] && acc_o.data[0][32*lane+:32] == value_q);
    end
    SeedRead_C: cover (reset_done && seed_due && written_q && value_q == 32'h12345678 && lane == LaneBits'(N - 1));
    SeedForwarded_C: cover (reset_done && forward_due && taken_q[lane] && lane == LaneBits'(N - 1));
    Waits_C: cover (reset_done && hazard_o && row_i.acc_row == w);
    VpuRead_C: cover (reset_done && was_granted_q && written_q && value_q == 32'd77);
  end
