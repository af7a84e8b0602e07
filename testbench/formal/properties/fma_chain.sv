// One link of the chain of multiply-adds, in the unpacked form of mxu_array's loops, is one fma() of a PE: for all operands and
// sums, with the true product. These are the facts that
// fma_symbol.sv takes for granted; README.md, "The two arrays".
module fma_chain
  import bf16_fma_pkg::*;
(
  input logic [15:0] a_i,
  input logic [15:0] b_i,
  input logic [31:0] c_i,    // a sum as fp32
  input logic [31:0] m_i,    // a sum unpacked
  input logic [31:0] e_i,
  input logic        p_sign_i,
  input logic [15:0] p_i,    // a product of significands, any
  input logic [13:0] pe_i,
  input logic [7:0]  by_i
);
  localparam logic [31:0] Carried = 32'h10000000;      // rounded up to the next binade
  localparam logic [31:0] Highest = ExpOne + 32'd252;  // legal exponent
  function automatic logic zero(input logic [15:0] a);
    zero = a[14:7] == 8'd0;
  endfunction
  function automatic logic [31:0] flushed(input logic [31:0] c);
    flushed = c[30:23] == 8'd0 ? {c[31], 31'd0} : c;
  endfunction
  // what the loops go on with: `seen` has met no exponent that is not legal
  function automatic logic legal(input logic [31:0] e);
    legal = ((e | (e + 32'd3)) & ~ExpLegal) == 32'd0;
  endfunction
  function automatic logic [31:0] magnitude(input logic [31:0] m);
    magnitude = m[31] ? -m : m;
  endfunction
  // the same value, not as a carry
  function automatic logic [63:0] normal(input logic [31:0] m, input logic [31:0] e);
    normal = magnitude(m) == Carried ? {m[31], m[31:1], e + 32'd1} : {m, e};
  endfunction
  function automatic logic valid(input logic [31:0] m, input logic [31:0] e);
    valid = (m == 32'd0 && e == 32'd0)
          || (magnitude(m) >= 32'h08000000 && magnitude(m) <= Carried && m[3:0] == 4'd0 && e >= ExpOne && e <= ExpOne + 32'd252);
  endfunction

  wire [31:0] low_a = {{24{a_i[7]}}, a_i[7:0]}, high_a = {{24{a_i[15]}}, a_i[15:8]};
  wire [31:0] low_b = {{24{b_i[7]}}, b_i[7:0]}, high_b = {{24{b_i[15]}}, b_i[15:8]};
  wire [31:0] p = (significand(a_i) << 13) * significand(b_i);
  wire finite = !special(a_i) && !special(b_i);
  // every sum that is valid is one of these: what comes from fp32, and a carry (EverySum_A)
`ifdef CARRIED
  wire [31:0] m = c_i[31] ? -Carried : Carried, e = ExpOne + (c_i[30:23] > 8'd252 ? 32'd252 : {24'd0, c_i[30:23]});
  wire [31:0] half = c_i[31] ? -(Carried >> 1) : Carried >> 1;
  wire [31:0] any_p = p_sign_i ? -{3'd0, p_i, 13'd0} : {3'd0, p_i, 13'd0};
  logic [31:0] half_m, half_e, any_half_m, any_half_e, any_m, any_e, low_m, low_e, high_m, high_e, normal_m, normal_e;
  always_comb begin
    add_product(half, e + 32'd1, p, exponent(a_i) + exponent(b_i), half_m, half_e);
    if (finite) HalfIsFma_A: assert (pack_any(half_m, half_e, 1'b0) == fma(a_i, b_i, sum));
    // the loops' link from a carry and fma()'s link from what that packs to: the same, at the highest exponent and at all others
    add_product(half, Highest + 32'd1, any_p, {18'd0, pe_i}, any_half_m, any_half_e);
    add_product(c_i[31] ? -Carried : Carried, Highest, any_p, {18'd0, pe_i}, any_m, any_e);
    CarriedIsHalf_A: assert (normal(any_half_m, any_half_e) == normal(any_m, any_e));
    {normal_m, normal_e} = normal(m_i, {18'd0, e_i[13:0]});
    NormalIsSame_A: assert (pack_any(normal_m, normal_e, 1'b0) == pack_any(m_i, {18'd0, e_i[13:0]}, 1'b0));
    add_product(m_i, {18'd0, e_i[13:0]}, any_p, {18'd0, pe_i}, low_m, low_e);
    add_product(m_i, {18'd0, e_i[13:0]} + {24'd0, by_i}, any_p, {18'd0, pe_i} + {24'd0, by_i}, high_m, high_e);
    OnlyDifference_A: assert (low_m == high_m && (high_m == 32'd0 || high_e == low_e + {24'd0, by_i}));
    if (valid(m_i, e_i)) AnyIsPacked_A: assert (pack_any(m_i, e_i, 1'b0) == pack(m_i, e_i));
  end
`else
  wire [31:0] m = sum_significand(c_i), e = sum_exponent(c_i);
`endif
  wire [31:0] sum = pack(m, e);
  wire [31:0] any = pack(m_i, e_i);
  logic [31:0] next_m, next_e;
  always_comb begin
    add_product(m, e, p, exponent(a_i) + exponent(b_i), next_m, next_e);
    if (valid(m, e) && !sum_special(sum) && finite && !zero(a_i) && legal(next_e)) begin
`ifndef CARRIED
      LinkIsFma_A: assert (pack(next_m, next_e) == fma(a_i, b_i, sum));
`endif
      LinkIsValid_A: assert (valid(next_m, next_e));
    end
    Link_C: cover (valid(m, e) && finite && !zero(a_i) && legal(next_e) && next_m == 32'h0a000000);
    Leaves_C: cover (valid(m, e) && finite && !legal(next_e));
`ifndef CARRIED
    if (valid(m_i, e_i)) begin
      EverySum_A: assert (magnitude(m_i) == Carried || (sum_significand(any) == m_i && sum_exponent(any) == e_i));
      AnyIsKnown_A: assert (!sum_special(any) && flushed(any) == any && legal(e_i));
    end
    if (!sum_special(c_i) && legal(e)) begin
      StartIsValid_A: assert (valid(m, e));
      StartIsSum_A: assert (sum == flushed(c_i));
    end
    if (finite && (zero(a_i) || zero(b_i)) && !sum_special(c_i)) ZeroLeavesSum_A: assert (fma(a_i, b_i, c_i) == flushed(c_i));
    SubnormalIsZero_A: assert (fma(a_i, b_i, c_i) == fma(a_i, b_i, flushed(c_i)));
    ProductIsShort_A: assert (magnitude(p) < 32'h20000000 && p[12:0] == 13'd0);
    // the pair of int8 products, as the loops write it and as the PE does
    PairIsPair_A: assert (low_a * low_b + high_a * high_b == 32'($signed(a_i[7:0])) * 32'($signed(b_i[7:0]))
                                                              + 32'($signed(a_i[15:8])) * 32'($signed(b_i[15:8])));
    ZeroIsZero_A: assert (zero(a_i) == ((significand(a_i) << 13) == 32'd0));
    Start_C: cover (!sum_special(c_i) && legal(e) && m[31]);
    Subnormal_C: cover (c_i[30:23] == 8'd0 && c_i[22:0] != 23'd0 && !sum_special(c_i));
`endif
  end
endmodule
