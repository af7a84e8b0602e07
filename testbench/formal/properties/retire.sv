
  // Properties of several MXUs' retirement: the order names each MXU as often as its lane holds commands, so while any MXU holds
  // one, the MXU whose turn it is holds one.
  localparam int unsigned Mxus = control_pkg::NumMxu, LaneDepth = 4, OrderDepth = LaneDepth * Mxus, OrderBits = $clog2(OrderDepth);
  logic reset_done = 1'b0;
  logic [2:0] level [Mxus], done [Mxus];
  logic [control_pkg::Units-1:0] mxus;       // the MXUs among the units
  logic [Mxus-1:0] mxu_start, mxu_full, mxu_done, mxu_held, mxu_behind, mxu_finished;
  for (genvar u = 0; u < Mxus; u++) begin : gen_of_mxu
    localparam int unsigned Place = control_pkg::place_of_mxu(u);
    assign level[u] = gen_lane[Place].u_lane.level_q;
    assign done[u] = gen_lane[Place].u_lane.done_q;
    assign mxu_start[u] = start_i[Place];
    assign mxu_full[u] = full_o[Place];
    assign mxu_done[u] = done_i[Place];
    assign mxu_held[u] = held_o[Place];
    assign mxu_behind[u] = behind_o[Place];
    assign mxu_finished[u] = finished_o[Place];
  end
  wire [OrderBits-1:0] first = gen_mxu_order.u_mxu_order.rd_q, last = gen_mxu_order.u_mxu_order.wr_q;
  always_ff @(posedge clk_i) reset_done <= 1'b1;
  always_comb begin
    mxus = '0;
    for (int unsigned u = 0; u < Mxus; u++) mxus[control_pkg::place_of_mxu(u)] = 1'b1;
  end

  logic [OrderBits:0] total;
  logic [OrderDepth-1:0] used, single;
  logic in_lanes;
  always_comb begin
    total = '0;
    in_lanes = 1'b1;
    for (int u = 0; u < Mxus; u++) begin
      total = total + (OrderBits + 1)'(level[u]);
      in_lanes = in_lanes && level[u] <= 3'(LaneDepth) && done[u] <= level[u];
    end
    for (int p = 0; p < OrderDepth; p++) begin
      logic [Mxus-1:0] name;
      name = gen_mxu_order.u_mxu_order.mem_q[p];
      used[p] = {1'b0, OrderBits'(p) - first} < total;
      single[p] = !used[p] || (name != '0 && (name & (name - 1'b1)) == '0);
    end
  end
  for (genvar u = 0; u < Mxus; u++) begin : gen_named
    logic [OrderBits:0] named;               // times that the order names it
    always_comb begin
      named = '0;
      for (int p = 0; p < OrderDepth; p++) named = named + (OrderBits + 1)'(used[p] && gen_mxu_order.u_mxu_order.mem_q[p][u]);
      if (reset_done) Named_I: assert (named == (OrderBits + 1)'(level[u]));
    end
  end

  always_comb begin
    assume (rst_ni == reset_done);
    assume ((mxu_start & (mxu_start - 1'b1)) == '0 && (mxu_start & mxu_full) == '0);
    for (int u = 0; u < Mxus; u++) if (mxu_done[u]) assume (done[u] < level[u]);
    if (reset_done) begin
      TurnHolds_A: assert (mxu_held == '0 || (mxu_held & ~mxu_behind) != '0);
      OneTurn_A: assert (mxu_held == '0 || ((~mxu_behind & (~mxu_behind - 1'b1)) == '0 && mxu_behind != '1));
      OnlyMxus_A: assert ((behind_o & ~mxus) == '0);
      Levels_I: assert (total <= (OrderBits + 1)'(OrderDepth) && last == first + total[OrderBits-1:0]);
      Lanes_I: assert (in_lanes);
      Single_I: assert (single == '1);
    end
    Waits_C: cover (reset_done && (mxu_held & mxu_behind) != '0 && mxu_finished == '0 && done[1] != 0);
    Full_C: cover (reset_done && level[0] == 3'(LaneDepth) && level[1] != 0 && mxu_finished != '0);
  end
