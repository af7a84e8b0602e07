`default_nettype none
// Accumulators: two banks of N columns of 32 bits, each column with one read and one write port,
// accessed skewed.
//
//   row issued in cycle c ──► column j reads its seed in c + j, a cycle before PE (0, j) needs it
//                             column j writes its result in c + 1 + Depth + j
//
// Depth is PeLatency N. A column that is written where it is read shows the new word. A result that
// is written one cycle after the read, Depth cycles after its own row, is forwarded from the bottom
// of the column to the top (SeedForward): so M = Depth needs no bubble. The VPU reads whole rows of
// a bank whose read ports no seed uses in that cycle: up to ReadRows rows, of a bank those that
// differ modulo ReadRows, for that is how its RAMs are cut. Data follow a read in the next cycle.
//
// Each element of 32 bits has 7 check bits of its own (common/secded_pkg), because each column is
// read and written in a cycle of its own. One wrong bit is corrected in what is read. A seed with
// two, in a lane below cols, drops its row and those behind it before any of them is written:
// poison_o stays 1 until reset, and nothing more may be issued.
module mxu_acc
  import mxu_pkg::*, ram_pkg::access_t;
#(
  parameter bit Structural = 1'b0             // see mxu_acc_memory
) (
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
  input  wire logic [ReadRows-1:0]       acc_req_i,
  input  wire logic [ReadRows-1:0][15:0] acc_row_i,
  output logic [ReadRows-1:0]            acc_gnt_o,
  output logic [ReadRows-1:0]            acc_rvalid_o,
  output port_pkg::acc_answer_t          acc_o,
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

  // A row in flight. 32 bits, so that loops over lanes become vector instructions.
  typedef struct packed {
    logic        valid;
    logic        seeded;                       // its seed comes from the read port
    logic [14:0] cols;
    logic [14:0] acc_row;
  } row_t;

  row_t [Flight:1]   flight_q, flight_d;       // element a: the row issued a cycles ago
  row_t              issued;                   // in this cycle
  row_t [N-1:0]      arriving;                 // lane j: the row whose result is at the bottom
  logic [LaneBits:0] bank_reads_q[2];          // cycles in which seeds still use the bank
  logic [1:0]        bank_busy;
  logic              seed_read;
  logic              pending;                  // a row in the array has yet to write this ACC row
  logic              seeds_q;                  // seeds were read in the last cycle
  logic              seed_bad, poison_q;       // a seed that the last cycle has read is poisoned
  logic [LaneBits-1:0] seed_bad_lane;          // the highest such lane, whose row is the oldest
  acc_row_t          poison_row_q;
  access_t [N-1:0]   seed_access, result_access;
  access_t [ReadRows-1:0] row_access;
  lanes_t            seed_data, seed_check, result, result_check;
  lanes_t [ReadRows-1:0] row_data, row_check, row_late;
  logic [ReadRows-1:0] row_late_any;
  lanes_t              late_data, late_check;

  initial begin
    if (chip_pkg::AccBankRows < 4 * N || 2 ** RowBits != AccRows || AccRows > 2 ** 15)
      $fatal(1, "mxu_acc: acc_bank_rows %0d must be a power of two from %0d to 16384",
             chip_pkg::AccBankRows, 4 * N);
  end

  // ---------------------------------------------------------------- the row at the door
  // Is one of these rows, issued 1 to Depth - 1 cycles ago, still to write `row`? The youngest
  // `dropped` of them are not.
  function automatic logic in_flight(input row_t [Depth-1:1] rows, input logic [14:0] row,
                                     input logic [31:0] dropped);
    /* verilator no_inline_task */
    logic [31:0] hits;
    hits = 32'd0;
    for (int unsigned a = 1; a < Depth; a++)
      hits = hits | (rows[a].valid & rows[a].acc_row == row & a > dropped ? 32'd1 : 32'd0);
    in_flight = hits[0];
  endfunction

  always_comb begin
    pending = in_flight(flight_q[Depth-1:1], 15'(row_i.acc_row),
                        seed_bad ? 32'(seed_bad_lane) + 32'd1 : 32'd0);
    hazard_o = row_i.from_acc && pending;
    forward_cols_o = count_t'(flight_q[Depth].cols);
    if (!row_i.from_acc) seed_select_o = SeedZero;
    else if (flight_q[Depth].valid && flight_q[Depth].acc_row == 15'(row_i.acc_row))
      seed_select_o = SeedForward;
    else seed_select_o = SeedAcc;
  end

  assign seed_read = row_issue_i & (seed_select_o == SeedAcc);
  assign issued = '{valid: row_issue_i, seeded: seed_read, cols: 15'(row_i.cols),
                    acc_row: 15'(row_i.acc_row)};
  always_comb begin
    for (int unsigned b = 0; b < 2; b++) begin
      bank_busy[b] = (seed_read & (row_i.acc_row[RowBits-1] == b[0])) | (bank_reads_q[b] != '0);
    end
  end
  // A RAM of the bank gives one row; of two that are asked for it the first goes on.
  always_comb begin
    for (int unsigned i = 0; i < ReadRows; i++) begin
      acc_gnt_o[i] = acc_req_i[i] & !bank_busy[acc_row_i[i][RowBits-1]];
      for (int unsigned k = 0; k < i; k++)
        if (acc_gnt_o[k] && acc_row_i[k][RowBits-1] == acc_row_i[i][RowBits-1]
            && 32'(acc_row_i[k]) % ReadRows == 32'(acc_row_i[i]) % ReadRows) acc_gnt_o[i] = 1'b0;
    end
  end

  // For the lockstep core, which follows a row through its columns: a step, the row issued in it.
  logic        step_seen /* verilator public_flat_rd */, issue_seen /* verilator public_flat_rd */;
  logic [15:0] issue_row_seen /* verilator public_flat_rd */;
  assign step_seen = step_i;
  assign issue_seen = row_issue_i;
  assign issue_row_seen = 16'(row_i.acc_row);

  // ---------------------------------------------------------------- results of this cycle
  // Fault injection: element granule = row N + column.
  wire [RowBits+LaneBits-1:0] flip_element = flip_i.granule[RowBits+LaneBits-1:0];
  wire [LaneBits-1:0] flip_column = flip_element[LaneBits-1:0];
  wire acc_row_t flip_row = flip_element[LaneBits+:RowBits];
  wire flip_write = flip_i.watch & step_i & arriving[flip_column].valid
                  & (arriving[flip_column].acc_row == 15'(flip_row));

  assign arriving = flight_q[Flight:Depth+1];

  task automatic results(input row_t [N-1:0] rows, input lanes_t sums, output lanes_t data,
                         output lanes_t check, output access_t [N-1:0] access);
    /* verilator no_inline_task */
    for (int unsigned j = 0; j < N; j++) begin
      data[32*j+:32] = j < 32'(rows[j].cols) ? sums[32*j+:32] : 32'd0;
      check[32*j+:32] = secded_pkg::check32(data[32*j+:32]);
      access[j] = '{enable: rows[j].valid, address: 31'(rows[j].acc_row)};
    end
  endtask

  always_comb begin
    result = '0;
    result_check = '0;
    result_access = '0;
    if (step_i) begin
      results(arriving, sum_i, result, result_check, result_access);
      if (flip_write & flip_i.next) begin
        result[32*32'(flip_column)+:32] = result[32*32'(flip_column)+:32] ^ flip_i.data[31:0];
        result_check[32*32'(flip_column)+:8] = result_check[32*32'(flip_column)+:8] ^ flip_i.check;
      end
    end
  end

  // ---------------------------------------------------------------- memories
  // Column j reads for the row that was issued j cycles ago: column 0 for the one of this cycle.
  task automatic seeds_of(input row_t [N-1:0] rows, output access_t [N-1:0] access);
    /* verilator no_inline_task */
    for (int unsigned j = 0; j < N; j++)
      access[j] = '{enable: rows[j].seeded, address: 31'(rows[j].acc_row)};
  endtask

  always_comb begin
    seed_access = '0;
    if (step_i) seeds_of({flight_q[N-1:1], issued}, seed_access);
    for (int unsigned i = 0; i < ReadRows; i++)
      row_access[i] = '{enable: acc_gnt_o[i], address: 31'(acc_row_i[i][RowBits-1:0])};
  end

  mxu_acc_memory #(.Structural(Structural)) u_memory (
      .clk_i, .read_i(seed_access), .rdata_o(seed_data), .rcheck_o(seed_check),
      .row_read_i(row_access), .row_rdata_o(row_data), .row_rcheck_o(row_check),
      .row_late_any_o(row_late_any), .row_late_o(row_late), .row_late_data_o(late_data),
      .row_late_check_o(late_check),
      .write_i(result_access), .wdata_i(result), .wcheck_i(result_check),
      .flip_i(flip_i.now), .flip_column_i(flip_column), .flip_row_i(flip_row),
      .flip_data_i(flip_i.data[31:0]), .flip_check_i(flip_i.check[6:0]));

  // ---------------------------------------------------------------- what was read
  // Corrects the elements of a row. bad: those that cannot be; corrected: how many were.
  task automatic repair(input lanes_t stored, input lanes_t check, output lanes_t data,
                        output logic [N-1:0] bad, output logic [15:0] corrected);
    /* verilator no_inline_task */
    corrected = '0;
    bad = '0;
    for (int unsigned j = 0; j < N; j++) begin
      logic [7:0] syndrome;
      logic [31:0] error;
      syndrome = 8'(secded_pkg::check32(stored[32*j+:32])) ^ check[32*j+:8];
      error = secded_pkg::error32(syndrome[6:0]);
      data[32*j+:32] = stored[32*j+:32] ^ error;
      bad[j] = syndrome != 8'd0 && error == 32'd0 && !secded_pkg::check_error(syndrome);
      if (syndrome != 8'd0 && !bad[j]) corrected = corrected + 16'd1;
    end
  endtask

  // Is some element of these wrong? The quick question, most often answered with no.
  function automatic logic any_error(input lanes_t data, input lanes_t check);
    /* verilator no_inline_task */
    logic [31:0] seen;
    seen = 32'd0;
    for (int unsigned j = 0; j < N; j++)
      seen = seen | (secded_pkg::check32(data[32*j+:32]) ^ check[32*j+:32]);
    any_error = seen != 32'd0;
  endfunction

  // A row as the VPU sees it.
  task automatic show_row(input lanes_t stored, input lanes_t stored_check, input logic late_any,
                          input lanes_t late, input lanes_t written, input lanes_t written_check,
                          output lanes_t shown, output logic [N-1:0] bad,
                          output logic [15:0] corrected);
    /* verilator no_inline_task */
    lanes_t data, check;
    data = late_any ? merge(late, written, stored) : stored;
    check = late_any ? merge(late, written_check, stored_check) : stored_check;
    shown = data;
    bad = '0;
    corrected = '0;
    if (any_error(data, check)) repair(data, check, shown, bad, corrected);
  endtask

  // Elements of rows that did not seed count as 0.
  task automatic select_seeds(input row_t [N-1:0] rows, input lanes_t data, input lanes_t check,
                              output lanes_t seeds, output lanes_t seeds_check);
    /* verilator no_inline_task */
    for (int unsigned j = 0; j < N; j++) begin
      seeds[32*j+:32] = rows[j].seeded ? data[32*j+:32] : 32'd0;
      seeds_check[32*j+:32] = rows[j].seeded ? check[32*j+:32] : 32'd0;
    end
  endtask

  lanes_t       seeds, seeds_check;
  logic [N-1:0] seeds_bad;
  logic [15:0]  seeds_corrected, row_corrected;
  always_comb begin
    seeds = '0;
    seeds_check = '0;
    seed_o = '0;
    seeds_bad = '0;
    seeds_corrected = '0;
    if (seeds_q) begin
      select_seeds(flight_q[N:1], seed_data, seed_check, seeds, seeds_check);
      seed_o = seeds;
      if (any_error(seeds, seeds_check))
        repair(seeds, seeds_check, seed_o, seeds_bad, seeds_corrected);
    end
    cnt_corrected_o = seeds_corrected;
    cnt_poison_o = 16'($countones(seeds_bad));
    row_corrected = '0;
    acc_o = port_pkg::acc_answer_t'(1'b0);
    if (acc_rvalid_o != '0)
      for (int unsigned i = 0; i < ReadRows; i++)
        if (acc_rvalid_o[i]) begin
          show_row(row_data[i], row_check[i], row_late_any[i], row_late[i], late_data, late_check,
                   acc_o.data[i], acc_o.poison[i], row_corrected);
          cnt_corrected_o = cnt_corrected_o + row_corrected;
          cnt_poison_o = cnt_poison_o + 16'($countones(acc_o.poison[i]));
        end
  end

  always_comb begin
    seed_bad = 1'b0;
    seed_bad_lane = '0;
    if (seeds_bad != '0)
      for (int unsigned j = 0; j < N; j++)
        if (seeds_bad[j] && j < 32'(flight_q[1+j].cols)) begin
          seed_bad = 1'b1;
          seed_bad_lane = LaneBits'(j);
        end
  end

  always_comb begin
    poison_o = poison_q | seed_bad;
    poison_row_o = poison_row_q;
    if (seed_bad) poison_row_o = acc_row_t'(flight_q[32'(seed_bad_lane)+1].acc_row);
    kill_o = '0;
    if (seed_bad) for (int unsigned a = 0; a < N; a++) kill_o[a] = a <= 32'(seed_bad_lane);
  end

  function automatic logic any_overflow();
    any_overflow = 1'b0;
    for (int unsigned j = 0; j < N; j++)
      any_overflow = any_overflow
                   | (overflow_i[j] & arriving[j].valid & (j < 32'(arriving[j].cols)));
  endfunction

  // ---------------------------------------------------------------- rows in flight
  always_comb begin
    flight_d = flight_q;
    if (seed_bad)
      for (int unsigned a = 1; a <= N; a++)
        if (a <= 32'(seed_bad_lane) + 1) begin
          flight_d[a].valid = 1'b0;
          flight_d[a].seeded = 1'b0;
        end
    if (step_i) flight_d = {flight_d[Flight-1:1], issued};
  end

  always_ff @(posedge clk_i) begin
    flight_q <= flight_d;
    flip_write_o <= flip_write & rst_ni;
    int_overflow_o <= step_i && rst_ni && overflow_i != '0 && any_overflow();
    if (seed_bad) begin
      poison_q <= 1'b1;
      poison_row_q <= poison_row_o;
    end
    seeds_q <= step_i & (bank_busy != 2'b00) & rst_ni;
    acc_rvalid_o <= rst_ni ? acc_gnt_o : '0;
    for (int unsigned b = 0; b < 2; b++) begin
      if (seed_read && row_i.acc_row[RowBits-1] == b[0]) bank_reads_q[b] <= (LaneBits + 1)'(N - 1);
      else if (bank_reads_q[b] != '0) bank_reads_q[b] <= bank_reads_q[b] - (LaneBits + 1)'(1);
    end
    if (!rst_ni) begin
      flight_q <= '0;
      poison_q <= 1'b0;
      bank_reads_q[0] <= '0;
      bank_reads_q[1] <= '0;
    end
  end

  logic unused_bits;
  assign unused_bits = &{1'b0, acc_row_i, row_i.swap, row_i.tile_last,
                         row_i.command_last, row_i.rows, row_i.odd, row_i.int8, flip_i};
endmodule
`default_nettype wire
