
  // Properties of the arbiter.
  (* anyconst *) logic [$clog2(Width)-1:0] watched;
  logic reset_done = 1'b0;
  logic [Width-1:0] waited_q;             // bit i: watched waited without a grant i + 1 cycles ago

  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    waited_q <= {waited_q[Width-2:0], rst_ni && request_i[watched] && !grant_o[watched]};
    if (!rst_ni) waited_q <= '0;
  end

  always_comb begin
    assume (watched < Width);
    if (!reset_done) assume (!rst_ni);
    AtMostOne_A: assert ((grant_o & (grant_o - 1'b1)) == 0);
    OnlyRequests_A: assert ((grant_o & ~request_i) == 0);
    SomeoneServed_A: assert ((grant_o != 0) == (request_i != 0));
    if (reset_done) begin
      // a request that holds is served within Width cycles: Width - 1 others go first at most
      BoundedWait_A: assert (!(&waited_q[Width-2:0]) || !request_i[watched] || grant_o[watched]);
      MaskIsAllAbove_A: assert ((after_q | (after_q - 1'b1)) == {Width{1'b1}});
    end
    LongestWait_C: cover (reset_done && &waited_q[Width-2:0] && grant_o[watched]);
    TwoCompete_C: cover (reset_done && request_i == {Width{1'b1}} && grant_o[Width-1]);
  end
