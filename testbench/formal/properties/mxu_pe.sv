
  // Properties of a PE. bf16_fma_pkg is fma_stand_in.sv here: which operands meet is proved, not their product.
  logic started = 1'b0, swapped = 1'b0;
  logic [15:0] at_swap_q;                 // what the shadow held when the last swap passed
  logic [15:0] x_was, shadow_was, shadow_in_was;
  logic [31:0] sum_was, pair_was;
  logic swap_was, bypass_was, int8_was, shift_was, left_was;
  wire [15:0] used = at_swap_q;           // a swap counts for its own row already

  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (swap_i) begin
      swapped <= 1'b1;
      at_swap_q <= shadow_o;
    end
    x_was <= x_i; shadow_was <= shadow_o; shadow_in_was <= shadow_i; sum_was <= sum_i; pair_was <= pair; left_was <= left_i;
    swap_was <= swap_i; bypass_was <= bypass_i; int8_was <= int8_i; shift_was <= shift_i;
  end

  wire [33:0] exact = {{2{sum_was[31]}}, sum_was} + {{2{pair_was[31]}}, pair_was};
  wire fits = exact[33:31] == 3'b000 || exact[33:31] == 3'b111;

  always_comb begin
    if (started && swapped) begin
      WeightInUse_A: assert (weight == (swap_i ? shadow_o : at_swap_q));
      ActiveIsShadowAtSwap_A: assert (active_q == at_swap_q);
      if (bypass_was) SumPasses_A: assert (sum_o == sum_was);
      else if (int8_was) SumInt8_A: assert (sum_o == exact[31:0]);
      else SumBf16_A: assert (sum_o == bf16_fma_pkg::fma(x_was, used, sum_was));
      LeftExact_A: assert (left_o == (left_was || (int8_was && !bypass_was && !fits)));
    end
    if (started) begin
      ShadowShiftsOrHolds_A: assert (shadow_o == (shift_was ? shadow_in_was : shadow_was));
      PassesEast_A: assert (x_o == x_was && {swap_o, bypass_o, int8_o, shift_o} == {swap_was, bypass_was, int8_was, shift_was});
    end
    SwapWhileShifting_C: cover (swapped && swap_was && shift_was && shadow_o != active_q);
    WeightOutlivesShadow_C: cover (swapped && !swap_was && shadow_o != active_q && int8_was && sum_o == 32'd1234);
    Overflows_C: cover (swapped && left_o && !left_was);
  end
