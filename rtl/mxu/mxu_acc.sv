`default_nettype none
// Accumulators: two banks of N columns of 32 bits, each column with one read and one write port,
// accessed skewed.
//
//   row issued in cycle c ──► column j reads its seed in c + j, a cycle before PE (0, j) needs it
//                             column j writes its result in c + 1 + Depth + j
//
// Depth is PeLatency N. A column writes before it reads in a cycle. A result that is written one
// cycle after the read, Depth cycles after its own row, is forwarded from the bottom of the column
// to the top (SeedForward): so M = Depth needs no bubble. The VPU reads whole rows of a bank whose
// read ports no seed uses in that cycle; data follow in the next cycle.
//
// Each element of 32 bits has 7 check bits of its own (common/secded_pkg), because each column is
// read and written in a cycle of its own. One wrong bit is corrected in what is read. A seed with
// two, in a lane below cols, drops its row and those behind it before any of them is written:
// poison_o stays 1 until reset, and nothing more may be issued.

// Memories are written and read by one always_ff in a stated order, hence blocking assignments:
// verilator lint_off BLKSEQ
module mxu_acc
  import mxu_pkg::*;
(
  input  wire logic          clk_i,
  input  wire logic          rst_ni,
  input  wire logic          step_i,           // a row is issued, or rows are in flight
  // oldest row of x
  input  wire row_ctl_t      row_i,
  output logic               hazard_o,         // a row in the array has yet to write its ACC row
  output seed_e              seed_select_o,
  output count_t             forward_cols_o,   // SeedForward: lanes from here on count as 0
  input  wire logic          row_issue_i,
  // array
  output lanes_t             seed_o,           // lane j: for the row that entered j cycles ago
  input  wire lanes_t        sum_i,            // lane j: of the row entered Depth + j cycles ago
  input  wire logic [N-1:0]  overflow_i,
  output logic               int_overflow_o,
  // VPU
  input  wire logic          acc_req_i,
  input  wire logic [15:0]   acc_row_i,
  output logic               acc_gnt_o,
  output logic               acc_rvalid_o,
  output lanes_t             acc_rdata_o,
  output logic [N-1:0]       acc_poison_o,
  // ECC
  output logic               poison_o,         // a seed was poisoned ...
  output acc_row_t           poison_row_o,     // ... of this row: the oldest such, in the end
  output logic [Flight-1:0]  kill_o,           // rows issued k + 1 cycles ago that are dropped
  output logic [15:0]        cnt_corrected_o,  // elements that were read in the last cycle
  output logic [15:0]        cnt_poison_o,
  // fault injection
  input  wire core_pkg::flip_t flip_i,
  output logic               flip_write_o      // the element of flip_i was just written
);
  /* verilator inline_module */
  localparam int unsigned RowBits = $bits(acc_row_t);
  localparam int unsigned RingBits = $clog2(Flight);
  localparam int unsigned Places = 2 ** RingBits;
  typedef logic [RingBits-1:0] ring_t;

  logic [31:0]       mem_q[AccRows*N] /* verilator public_flat_rd */;  // row r, column j at r N + j
  logic [7:0]        check_q[AccRows*N] /* verilator public_flat_rd */;  // 7 bits each
  logic [15:0]       corrected, poisoned;      // elements read in this cycle
  // the last rows, Flight of them or more, by the cycle of their issue, in a ring
  logic [15:0]       ring_row[Places];         // ACC row, bit 15: valid
  logic [15:0]       ring_cols[Places];
  logic [Places-1:0] ring_read;                // its seed comes from the read port
  ring_t             now_q;                    // place of the row issued in this cycle
  logic [LaneBits:0] bank_reads_q[2];          // cycles in which seeds still use the bank
  logic [1:0]        bank_busy;
  logic              seed_read;

  initial begin
    if (chip_pkg::AccBankRows < 4 * N || 2 ** RowBits != AccRows || AccRows > 2 ** 15)
      $fatal(1, "mxu_acc: acc_bank_rows %0d must be a power of two from %0d to 16384",
             chip_pkg::AccBankRows, 4 * N);
  end

  // Does a row in the array, issued 1 to Depth - 1 cycles ago, still have to write ACC row `row`?
  function automatic logic in_flight(input logic [15:0] row);
    logic [31:0] hits;
    hits = 32'd0;
    for (int unsigned a = 1; a < Depth; a++) begin
      hits = hits | (ring_row[now_q-ring_t'(a)] == row ? 32'd1 : 32'd0);
    end
    return hits[0];
  endfunction

  logic [15:0] tagged_row;
  assign tagged_row = 16'h8000 | 16'(row_i.acc_row);

  always_comb begin
    hazard_o = row_i.from_acc && in_flight(tagged_row);
    forward_cols_o = count_t'(ring_cols[now_q-ring_t'(Depth)]);
    seed_select_o = !row_i.from_acc ? SeedZero
                  : ring_row[now_q-ring_t'(Depth)] == tagged_row ? SeedForward : SeedAcc;
  end

  assign seed_read = row_issue_i & (seed_select_o == SeedAcc);
  always_comb begin
    for (int unsigned b = 0; b < 2; b++) begin
      bank_busy[b] = (seed_read & (row_i.acc_row[RowBits-1] == b[0])) | (bank_reads_q[b] != '0);
    end
  end
  assign acc_gnt_o = acc_req_i & !bank_busy[acc_row_i[RowBits-1]];

  // For the lockstep core, which follows a row through its columns: a step, the row issued in it.
  logic        step_seen /* verilator public_flat_rd */, issue_seen /* verilator public_flat_rd */;
  logic [15:0] issue_row_seen /* verilator public_flat_rd */;
  assign step_seen = step_i;
  assign issue_seen = row_issue_i;
  assign issue_row_seen = 16'(row_i.acc_row);

  // Results of this cycle into their columns. Values and check bits of all lanes first: that loop
  // becomes vector instructions.
  task automatic write_results();
    logic [31:0] value[N], check[N];
    for (int unsigned j = 0; j < N; j++) value[j] = sum_i[32*j+:32];
    for (int unsigned j = 0; j < N; j++) check[j] = secded_pkg::check32(value[j]);
    for (int unsigned j = 0; j < N; j++) begin
      ring_t place;
      place = now_q - ring_t'(Depth + 1 + j);
      if (ring_row[place][15]) begin
        mem_q[{ring_row[place][RowBits-1:0], LaneBits'(j)}] =
            16'(j) < ring_cols[place] ? value[j] : 32'd0;
        check_q[{ring_row[place][RowBits-1:0], LaneBits'(j)}] =
            16'(j) < ring_cols[place] ? 8'(check[j]) : 8'd0;
      end
    end
  endtask

  // Corrects one element; 1: it cannot be. Counts both.
  task automatic repair(input logic [31:0] data, input logic [7:0] check,
                        output logic [31:0] repaired, output logic bad);
    logic [7:0] syndrome;
    logic [31:0] error;
    syndrome = 8'(secded_pkg::check32(data)) ^ check;
    error = secded_pkg::error32(syndrome[6:0]);
    repaired = data ^ error;
    bad = syndrome != 8'd0 && error == 32'd0 && !secded_pkg::check_error(syndrome);
    if (bad) poisoned = poisoned + 16'd1;
    else if (syndrome != 8'd0) corrected = corrected + 16'd1;
  endtask

  // Seeds for the next cycle. bad: some lane below cols is poisoned; last: the highest such lane,
  // whose row is the oldest.
  task automatic read_seeds(output lanes_t seeds, output logic bad,
                            output logic [LaneBits-1:0] last);
    logic [31:0] data[N], check[N];
    logic [31:0] seen;
    bad = 1'b0;
    last = '0;
    seen = 32'd0;
    for (int unsigned j = 0; j < N; j++) begin
      ring_t place;
      place = now_q - ring_t'(j);
      data[j] = ring_read[place] ? mem_q[{ring_row[place][RowBits-1:0], LaneBits'(j)}] : 32'd0;
      check[j] = ring_read[place]
               ? 32'(check_q[{ring_row[place][RowBits-1:0], LaneBits'(j)}]) : 32'd0;
    end
    for (int unsigned j = 0; j < N; j++)
      seen = seen | (secded_pkg::check32(data[j]) ^ check[j]);
    if (seen != 32'd0) begin
      for (int unsigned j = 0; j < N; j++) begin
        logic [31:0] lane;
        logic lane_bad;
        repair(data[j], 8'(check[j]), lane, lane_bad);
        data[j] = lane;
        if (lane_bad && 16'(j) < ring_cols[now_q-ring_t'(j)]) begin
          bad = 1'b1;
          last = LaneBits'(j);
        end
      end
    end
    for (int unsigned j = 0; j < N; j++) seeds[32*j+:32] = data[j];
  endtask

  task automatic read_row(input acc_row_t row, output lanes_t data, output logic [N-1:0] poison);
    logic [31:0] base, seen;
    base = 32'({row, LaneBits'(0)});
    poison = '0;
    seen = 32'd0;
    for (int unsigned j = 0; j < N; j++) data[32*j+:32] = mem_q[(RowBits+LaneBits)'(base+j)];
    for (int unsigned j = 0; j < N; j++)
      seen = seen | (secded_pkg::check32(mem_q[(RowBits+LaneBits)'(base+j)])
                     ^ 32'(check_q[(RowBits+LaneBits)'(base+j)]));
    if (seen != 32'd0) begin
      for (int unsigned j = 0; j < N; j++) begin
        logic [31:0] lane;
        logic lane_bad;
        repair(data[32*j+:32], check_q[(RowBits+LaneBits)'(base+j)], lane, lane_bad);
        data[32*j+:32] = lane;
        poison[j] = lane_bad;
      end
    end
  endtask

  // Fault injection: element granule = row N + column.
  wire [RowBits+LaneBits-1:0] flip_element = flip_i.granule[RowBits+LaneBits-1:0];
  wire ring_t flip_place = now_q - ring_t'(Depth + 1) - ring_t'(flip_element[LaneBits-1:0]);
  wire [15:0] flip_row = 16'h8000 | 16'(flip_element[LaneBits+:RowBits]);

  function automatic logic any_overflow();
    any_overflow = 1'b0;
    for (int unsigned j = 0; j < N; j++) begin
      ring_t place;
      place = now_q - ring_t'(Depth + 1 + j);
      any_overflow = any_overflow
                   | (overflow_i[j] & ring_row[place][15] & (16'(j) < ring_cols[place]));
    end
  endfunction

  always_ff @(posedge clk_i) begin
    logic issue, read, flip_write, flip;         // before the ring changes: they follow from it
    logic bad;
    logic [LaneBits-1:0] last;
    logic [N-1:0] poison;
    lanes_t data;
    issue = row_issue_i;
    read = seed_read;
    flip_write = flip_i.watch & step_i & (ring_row[flip_place] == flip_row);
    flip = flip_i.now | (flip_write & flip_i.next);
    flip_write_o <= flip_write & rst_ni;
    corrected = '0;
    poisoned = '0;
    kill_o <= '0;
    int_overflow_o <= step_i && rst_ni && overflow_i != '0 && any_overflow();
    if (step_i) write_results();
    if (flip) begin
      mem_q[flip_element] = mem_q[flip_element] ^ flip_i.data[31:0];
      check_q[flip_element] = check_q[flip_element] ^ flip_i.check;
    end
    if (step_i) begin
      ring_row[now_q] = {issue, 15'(row_i.acc_row)};
      ring_cols[now_q] = 16'(row_i.cols);
      ring_read[now_q] = read;
      if (bank_busy != 2'b00) begin
        read_seeds(data, bad, last);
        seed_o <= data;
        if (bad) begin
          poison_o <= 1'b1;
          poison_row_o <= acc_row_t'(ring_row[now_q-ring_t'(last)]);
          for (int unsigned a = 0; a < N; a++) begin
            if (a <= 32'(last)) begin
              ring_row[now_q-ring_t'(a)][15] = 1'b0;
              ring_read[now_q-ring_t'(a)] = 1'b0;
              kill_o[a] <= 1'b1;
            end
          end
        end
      end
      now_q <= now_q + ring_t'(1);
    end
    if (acc_gnt_o) begin
      read_row(acc_row_i[RowBits-1:0], data, poison);
      acc_rdata_o <= data;
      acc_poison_o <= poison;
    end
    cnt_corrected_o <= corrected;
    cnt_poison_o <= poisoned;
    acc_rvalid_o <= acc_gnt_o & rst_ni;
    for (int unsigned b = 0; b < 2; b++) begin
      if (seed_read && row_i.acc_row[RowBits-1] == b[0]) bank_reads_q[b] <= (LaneBits + 1)'(N - 1);
      else if (bank_reads_q[b] != '0) bank_reads_q[b] <= bank_reads_q[b] - (LaneBits + 1)'(1);
    end
    if (!rst_ni) begin
      for (int unsigned k = 0; k < Places; k++) ring_row[k] = 16'd0;
      ring_read = '0;
      poison_o <= 1'b0;
      kill_o <= '0;
      now_q <= '0;
      bank_reads_q[0] <= '0;
      bank_reads_q[1] <= '0;
    end
  end

  logic unused_bits;
  assign unused_bits = &{1'b0, acc_row_i[15:RowBits], row_i.swap, row_i.tile_last,
                         row_i.command_last, row_i.rows, row_i.odd, row_i.int8, flip_i};
endmodule
// verilator lint_on BLKSEQ
`default_nettype wire
