`default_nettype none
// Where the rows of an indexed command lie in its table: reads the indices from VMEM, a word at a
// time, compares each with the table and multiplies it by the distance of two rows.
//
//   load ─► words to ask for ─► VMEM ─► 2 words ─► index ─► bound, product ─► ring of Depth rows
//                                                                               │          │
//                                                                             front       back
//
// The trick: front and back walk the same rows one behind the other, so a row is written once and
// read twice, and leaves the ring when the back has gone on. An index that is no row of its table
// never becomes an address: its entry of the ring says so, it is the last one, and the walks stop
// at it. An index a cycle. Load in cycle 0: VMEM is asked in 1, the first row is there in 5.
module dma_rows
  import dma_pkg::*;
#(
  parameter int unsigned WordBytes = 16,
  parameter int unsigned Depth = 512,        // a power of two
  localparam int unsigned Lanes = WordBytes / 4,
  localparam int unsigned LaneBits = $clog2(Lanes),
  localparam int unsigned WordShift = $clog2(WordBytes),
  localparam int unsigned WordGranules = WordBytes / 8,
  localparam int unsigned PlaceBits = $clog2(Depth)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  // the command: all rows of the one before have left the front
  input  logic                    load_i,
  input  table_t                  table_i,
  input  logic                    dead_i,        // nothing is asked for any more
  // VMEM: a word, answered one cycle after ready
  output logic                    read_valid_o,
  input  logic                    read_ready_i,
  output logic [31:0]             read_word_o,
  input  logic                    answer_i,
  input  logic [8*WordBytes-1:0]  data_i,
  input  logic [WordGranules-1:0] poison_i,
  // the row that the front is at
  output logic                    front_valid_o,
  output row_t                    front_o,
  input  logic                    front_take_i,
  // the row that the back is at
  output logic                    back_valid_o,
  output row_t                    back_o,
  input  logic                    back_take_i
);
  // words of indices
  logic [31:0] word_q;                       // the next one to ask for
  logic [16:0] words_q;                      // still to be asked for
  logic [1:0] held_q;                        // asked for and not used up
  logic ended_q;                             // at an index that names no row
  wire asked = read_valid_o && read_ready_i;
  assign read_valid_o = words_q != '0 && held_q != 2'd2 && !ended_q && !dead_i;
  assign read_word_o = word_q;

  logic word_valid, used_up;
  logic [8*WordBytes-1:0] word;
  logic [WordGranules-1:0] word_poison;
  // Two words are held at most, so there is always room.
  // verilator lint_off UNUSEDSIGNAL
  logic words_ready;
  logic [1:0] words_level;
  // verilator lint_on UNUSEDSIGNAL
  fifo #(
    .Width(8 * WordBytes + WordGranules), .Depth(2)
  ) u_words (
    .clk_i, .rst_ni, .push_valid_i(answer_i), .push_ready_o(words_ready),
    .push_i({poison_i, data_i}), .pop_valid_o(word_valid), .pop_ready_i(used_up),
    .pop_o({word_poison, word}), .level_o(words_level)
  );

  // the next index
  table_t table_q;
  logic [15:0] number_q;                     // of the next index in the command
  logic [PlaceBits:0] taken_q;               // places of the ring that are not free
  wire [LaneBits-1:0] lane = number_q[LaneBits-1:0];
  wire next = word_valid && number_q != table_q.count && !taken_q[PlaceBits];
  assign used_up = next && (&lane || number_q == table_q.count - 16'd1);

  logic index_valid_q, index_poison_q;
  logic [31:0] index_q;
  logic [15:0] index_number_q;

  // its row
  row_t row;
  wire signed [63:0] offset = 64'(signed'(table_q.stride)) * 64'(signed'({1'b0, index_q[30:0]}));
  wire store = index_valid_q && !ended_q;
  always_comb begin
    row.kind  = RowMoved;
    row.value = offset;
    if (index_poison_q) begin
      row.kind  = RowPoisoned;
      row.value = {32'd0, table_q.index_address + {14'd0, index_number_q[15:1], 3'd0}};
    end else if (&index_q) begin
      row.kind = RowSkipped;
    end else if (index_q >= table_q.rows) begin  // also what is negative
      row.kind  = RowRefused;
      row.value = {16'd0, index_number_q, index_q};
    end
  end

  // the ring
  row_t ring[Depth];
  logic [PlaceBits:0] tail_q, front_q, back_q;
  assign front_valid_o = front_q != tail_q;
  assign back_valid_o = back_q != tail_q;
  assign front_o = ring[front_q[PlaceBits-1:0]];
  assign back_o = ring[back_q[PlaceBits-1:0]];

  always_ff @(posedge clk_i) begin
    if (next) begin
      index_q        <= word[32*lane+:32];
      index_poison_q <= word_poison[lane[LaneBits-1:1]];
      index_number_q <= number_q;
    end
    if (store) ring[tail_q[PlaceBits-1:0]] <= row;
    if (load_i) begin
      table_q  <= table_i;
      word_q   <= table_i.index_address >> WordShift;
      number_q <= '0;
    end else begin
      if (asked) word_q <= word_q + 32'd1;
      if (next) number_q <= number_q + 16'd1;
    end
    if (!rst_ni) begin
      words_q       <= '0;
      held_q        <= '0;
      ended_q       <= 1'b0;
      index_valid_q <= 1'b0;
      taken_q       <= '0;
      tail_q        <= '0;
      front_q       <= '0;
      back_q        <= '0;
    end else begin
      if (load_i) words_q <= (17'(table_i.count) + 17'(Lanes - 1)) >> LaneBits;
      else if (asked) words_q <= words_q - 17'd1;
      if (asked && !used_up) held_q <= held_q + 2'd1;
      if (used_up && !asked) held_q <= held_q - 2'd1;
      index_valid_q <= next;
      if (next && !back_take_i) taken_q <= taken_q + 1'b1;
      if (back_take_i && !next) taken_q <= taken_q - 1'b1;
      if (store) tail_q <= tail_q + 1'b1;
      if (store && row.kind[1]) ended_q <= 1'b1;
      if (front_take_i) front_q <= front_q + 1'b1;
      if (back_take_i) back_q <= back_q + 1'b1;
    end
  end
endmodule
`default_nettype wire
