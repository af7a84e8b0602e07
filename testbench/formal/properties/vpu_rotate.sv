
  // Each lane by its own index, for every row and every number of lanes.
  logic [N-1:0] right;
  always_comb begin
    for (int unsigned i = 0; i < N; i++)
      right[i] = row_o[32*i +: 32] == (enable_i ? row_i[32*((i + 32'(by_i)) % N) +: 32] : 32'd0);
    Lanes_A: assert (right == '1);
    ByMost_C: cover (enable_i && by_i == Levels'(N - 1) && row_o[31:0] != row_o[63:32]);
  end
