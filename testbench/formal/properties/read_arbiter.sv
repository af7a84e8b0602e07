
  // Properties of the read port: who waits, and for how many of the other side.
  logic reset_done = 1'b0;
  logic [3:0] dma_first_q, fetch_first_q; // reads of the other side since this one waits
  logic refused_q, refused_fetch_q;       // memory saw a request and did not take it

  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    if (!fetch_valid_i || fetch_ready_o) dma_first_q <= 0;
    else if (dma_valid_i && dma_ready_o) dma_first_q <= dma_first_q + 1'b1;
    if (!dma_valid_i || dma_ready_o) fetch_first_q <= 0;
    else if (fetch_valid_i && fetch_ready_o) fetch_first_q <= fetch_first_q + 1'b1;
    refused_q <= mrd_valid_o && !mrd_ready_i;
    refused_fetch_q <= mrd_fetch_o;
    if (!rst_ni) begin
      dma_first_q <= 0;
      fetch_first_q <= 0;
      refused_q <= 0;
    end
  end

  always_comb begin
    if (!reset_done) assume (!rst_ni);
    // what is offered stands until it is taken
    if (refused_q && !refused_fetch_q) assume (dma_valid_i);
    if (refused_q && refused_fetch_q) assume (fetch_valid_i);
    if (reset_done) begin
      OneGoes_A: assert (!(dma_ready_o && fetch_ready_o));
      SomeoneGoes_A: assert (!(mrd_ready_i && mrd_valid_o) || (dma_valid_i && dma_ready_o) || (fetch_valid_i && fetch_ready_o));
      GoesIsOffered_A: assert (!mrd_valid_o || (mrd_fetch_o ? fetch_valid_i : dma_valid_i));
      if (refused_q) RefusedStands_A: assert (mrd_valid_o && mrd_fetch_o == refused_fetch_q);
      FetchWaitsForShare_A: assert (dma_first_q < Share);
      DmaWaitsForOne_A: assert (fetch_first_q <= 1);
      // invariants that make the induction close
      PassedCounts_A: assert (passed_q == dma_first_q);
      HeldAgrees_A: assert (held_q == refused_q && (!held_q || held_fetch_q == refused_fetch_q));
      OneAhead_A: assert (fetch_first_q == 0 || passed_q == 0);
      if (held_q && held_fetch_q) FetchIsFirst_A: assert (fetch_first_q == 0);
      if (held_q && !held_fetch_q) DmaHasShare_A: assert (passed_q < Share - 1);
    end
    FetchGoesFirst_C: cover (reset_done && dma_valid_i && fetch_valid_i && fetch_ready_o);
    DmaGoesFirst_C: cover (reset_done && dma_valid_i && fetch_valid_i && dma_ready_o && dma_first_q == 2);
    FetchStands_C: cover (reset_done && refused_q && refused_fetch_q && dma_valid_i);
  end
