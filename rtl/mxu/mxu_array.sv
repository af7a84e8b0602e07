`default_nettype none
// The N x N array as a simulator sees it fastest: cycle for cycle what mxu_array_structural gives,
// without its planes.
//
// The trick: a PE's sum is seen by nobody but the PE below. So the N x N multiply-adds that row r
// meets on its way are done together, in the cycle in which its first column reaches the bottom; by
// then its last seed has arrived, and every weight it meets is known. Seeds come in and results
// leave skewed, as they do in the array. A row costs its own work and nothing else: bypassed PE
// rows, zeros of x and bubbles cost nothing.
//
// Row issued in cycle c: PE (i, j) begins with it in c + 1 + PeLatency i + j, lane j of sum_o holds
// its result in c + 1 + Depth + j.

// Memories are written and read by one always_ff in a stated order, hence blocking assignments:
// verilator lint_off BLKSEQ
module mxu_array
  import mxu_pkg::*;
(
  input  wire logic          clk_i,
  input  wire logic          rst_ni,
  input  wire logic          step_i,            // a row is issued, or rows are in flight
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
  input  wire lanes_t        seed_i,            // lane j: for the row that entered j cycles ago
  output lanes_t             sum_o,             // lane j: of the row entered Depth + j cycles ago
  output logic [N-1:0]       overflow_o         // int8: its running sum has left int32
);
  import bf16_fma_pkg::*;
  localparam int unsigned Tiles = 4;            // being loaded, or still met by rows in flight
  localparam int unsigned TileBits = $clog2(Tiles);
  localparam int unsigned TileAddr = 2 * LaneBits + TileBits;

  // Rows of the last Depth cycles by the cycle of their issue, in a ring. Sums wait in place for
  // their lane's turn, and a row's place is the one of the row Depth cycles earlier: a forwarded
  // seed is there already.
  localparam int unsigned SumAddr = $bits(place_t) + LaneBits;
  place_t              now_q;                   // place of the row issued in this cycle
  word_t               ring_x[Depth];
  logic [31:0]         ring_sum[Depth*N];
  logic                ring_left[Depth*N];      // has left int32
  logic [31:0]         ring_rows[Depth];        // PE rows that count
  logic [31:0]         ring_zero[Depth];        // lanes from here on start at 0
  logic [TileBits-1:0] ring_tile[Depth];
  logic [Depth-1:0]    ring_valid, ring_acc, ring_int8, ring_overflow;

  // Tiles of weights: bf16 significand and exponent, or the low and the high byte of int8, and the
  // word as it came.
  logic [31:0]         w_a[Tiles*N*N], w_b[Tiles*N*N];
  logic [15:0]         w_raw[Tiles*N*N];
  logic [Tiles-1:0]    w_special;               // infinities or NaN among them
  logic [TileBits-1:0] load_q, active_q;        // tile that is loaded, tile of the rows that enter

  logic [31:0] x_a[N], x_b[N];                  // of the row at work
  logic [31:0] m[N], e[N];                      // its sums, unpacked
  logic [31:0] left[N];

  // Place of the row issued `age` cycles ago, 0 to Depth.
  function automatic place_t place_of(input int unsigned age);
    if (2 ** $bits(place_t) == Depth) return now_q - place_t'(age);
    return place_t'(32'(now_q) < age ? 32'(now_q) + Depth - age : 32'(now_q) - age);
  endfunction

  // Seeds that ACC read for this cycle.
  task automatic take_seeds();
    for (int unsigned j = 0; j < N; j++) begin
      place_t place;
      place = place_of(1 + j);
      if (ring_acc[place]) ring_sum[{place, LaneBits'(j)}] = seed_i[32*j+:32];
    end
  endtask

  // bf16: the chain in unpacked form. Returns 1, with the sums untouched, if it met what that form
  // does not know.
  task automatic multiply_unpacked(output logic failed);
    logic [31:0] seen, base;
    seen = 32'd0;
    for (int unsigned i = 0; i < N; i++) begin
      logic [15:0] lane;
      lane = ring_x[now_q][16*i+:16];
      x_a[i] = significand(lane) << 13;
      x_b[i] = exponent(lane);
    end
    for (int unsigned i = 0; i < ring_rows[now_q]; i++) begin
      if (special(ring_x[now_q][16*i+:16])) seen = SignBit;
    end
    for (int unsigned j = 0; j < N; j++) begin
      logic [31:0] c;
      c = ring_sum[{now_q, LaneBits'(j)}];
      m[j] = sum_significand(c);
      e[j] = sum_exponent(c);
      seen = seen | e[j] | (e[j] + 32'd3) | (sum_special(c) ? SignBit : 32'd0);
    end
    for (int unsigned i = 0; i < ring_rows[now_q]; i++) begin
      base = {(32 - 2 * LaneBits - TileBits)'(0), ring_tile[now_q], (2 * LaneBits)'(i * N)};
      if (x_a[i] != 32'd0) begin
        logic [31:0] a, b;
        a = x_a[i];
        b = x_b[i];
        for (int unsigned j = 0; j < N; j++) begin
          logic [31:0] m_d, e_d;
          add_product(m[j], e[j], a * w_a[TileAddr'(base+j)], b + w_b[TileAddr'(base+j)], m_d, e_d);
          m[j] = m_d;
          e[j] = e_d;
          seen = seen | e_d | (e_d + 32'd3);
        end
      end
    end
    failed = (seen & ~ExpLegal) != 32'd0 || w_special[ring_tile[now_q]];
    if (!failed) begin
      for (int unsigned j = 0; j < N; j++) ring_sum[{now_q, LaneBits'(j)}] = pack(m[j], e[j]);
    end
  endtask

  // bf16: the same chain for all values.
  task automatic multiply_any();
    logic [31:0] base, place;
    place = 32'(now_q) << LaneBits;
    for (int unsigned i = 0; i < ring_rows[now_q]; i++) begin
      logic [15:0] lane;
      lane = ring_x[now_q][16*i+:16];
      base = {(32 - 2 * LaneBits - TileBits)'(0), ring_tile[now_q], (2 * LaneBits)'(i * N)};
      for (int unsigned j = 0; j < N; j++) m[j] = ring_sum[SumAddr'(place+j)];
      for (int unsigned j = 0; j < N; j++) m[j] = fma(lane, w_raw[TileAddr'(base+j)], m[j]);
      for (int unsigned j = 0; j < N; j++) ring_sum[SumAddr'(place+j)] = m[j];
    end
  endtask

  task automatic multiply_int8();
    logic [31:0] base, any_left;
    any_left = 32'd0;
    for (int unsigned j = 0; j < N; j++) m[j] = ring_sum[{now_q, LaneBits'(j)}];
    for (int unsigned j = 0; j < N; j++) left[j] = 32'd0;
    for (int unsigned i = 0; i < ring_rows[now_q]; i++) begin
      logic [15:0] lane;
      logic [31:0] a, b;
      lane = ring_x[now_q][16*i+:16];
      a = {{24{lane[7]}}, lane[7:0]};
      b = {{24{lane[15]}}, lane[15:8]};
      base = {(32 - 2 * LaneBits - TileBits)'(0), ring_tile[now_q], (2 * LaneBits)'(i * N)};
      for (int unsigned j = 0; j < N; j++) begin
        logic [31:0] p, s;
        p = a * w_a[TileAddr'(base+j)] + b * w_b[TileAddr'(base+j)];
        s = m[j] + p;
        left[j] = left[j] | ((s ^ m[j]) & (s ^ p));
        m[j] = s;
      end
    end
    for (int unsigned j = 0; j < N; j++) any_left = any_left | left[j];
    for (int unsigned j = 0; j < N; j++) ring_sum[{now_q, LaneBits'(j)}] = m[j];
    ring_overflow[now_q] = any_left[31];
    if (any_left[31]) begin
      for (int unsigned j = 0; j < N; j++) ring_left[{now_q, LaneBits'(j)}] = left[j][31];
    end
  endtask

  // The row whose first column is at the bottom in this cycle.
  task automatic work();
    logic failed;
    for (int unsigned j = ring_zero[now_q]; j < N; j++) ring_sum[{now_q, LaneBits'(j)}] = 32'd0;
    ring_overflow[now_q] = 1'b0;
    if (ring_int8[now_q]) multiply_int8();
    else begin
      multiply_unpacked(failed);
      if (failed) multiply_any();
    end
  endtask

  task automatic take_row();
    ring_valid[now_q] = row_valid_i;
    ring_acc[now_q] = row_valid_i & (seed_select_i == SeedAcc);
    ring_int8[now_q] = row_i.int8;
    if (row_valid_i) begin
      if (row_i.swap) active_q = active_q + TileBits'(1);
      ring_tile[now_q] = active_q;
      ring_rows[now_q] = 32'(row_i.rows);
      ring_zero[now_q] = seed_select_i == SeedZero ? 32'd0
                       : seed_select_i == SeedForward ? 32'(forward_cols_i) : 32'(N);
      ring_x[now_q] = x_i;
    end
  endtask

  // Results for the next cycle.
  function automatic lanes_t results();
    for (int unsigned j = 0; j < N; j++) begin
      place_t place;
      place = place_of(j);
      results[32*j+:32] = ring_sum[{place, LaneBits'(j)}];
    end
  endfunction

  function automatic logic [N-1:0] overflows();
    for (int unsigned j = 0; j < N; j++) begin
      place_t place;
      place = place_of(j);
      overflows[j] = ring_overflow[place] & ring_left[{place, LaneBits'(j)}];
    end
  endfunction

  task automatic take_weights();
    logic [31:0] base;
    logic any_special;
    if (weight_i.first) begin
      load_q = load_q + TileBits'(1);
      w_special[load_q] = 1'b0;
    end
    base = {(32 - 2 * LaneBits - TileBits)'(0), load_q, LaneBits'(weight_i.row), LaneBits'(0)};
    any_special = 1'b0;
    for (int unsigned j = 0; j < N; j++) begin
      logic [15:0] lane;
      lane = w_i[16*j+:16];
      lane = j < 32'(weight_i.cols) ? lane : 16'd0;
      w_raw[TileAddr'(base+j)] = lane;
      w_a[TileAddr'(base+j)] = weight_i.int8 ? {{24{lane[7]}}, lane[7:0]}
                                                : significand(lane);
      w_b[TileAddr'(base+j)] = weight_i.int8 ? {{24{lane[15]}}, lane[15:8]}
                                                : exponent(lane);
      any_special = any_special | special(lane);
    end
    if (any_special) w_special[load_q] = 1'b1;
  endtask

  always_ff @(posedge clk_i) begin
    if (step_i && rst_ni) begin  // before a reset the ring's counts can be anything
      if (ring_acc != '0) take_seeds();
      if (ring_valid[now_q]) work();
      take_row();
      sum_o <= results();
      overflow_o <= ring_overflow != '0 ? overflows() : '0;
      now_q <= 32'(now_q) == Depth - 1 ? '0 : now_q + place_t'(1);
    end
    if (weight_valid_i) take_weights();
    if (!rst_ni) begin
      now_q <= '0;
      ring_valid = '0;
      ring_acc = '0;
      ring_overflow = '0;
      overflow_o <= '0;
      load_q = '0;
      active_q = '0;
    end
  end

  logic unused_ctl;
  assign unused_ctl = &{1'b0, row_i.tile_last, row_i.command_last, row_i.from_acc, row_i.acc_row,
                        row_i.odd, row_i.cols, weight_i.last, weight_i.index};
endmodule
// verilator lint_on BLKSEQ
`default_nettype wire
