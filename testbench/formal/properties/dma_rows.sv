
  // What leaves the ring is compared with the table: a stand-in for index x stride is the index itself (proofs.toml), so
  // that an entry that is a row names it. What stands around it promises: one word answers each that is asked for, in the
  // next cycle; a command comes when all rows of the one before have left the front; the back does not pass the front.
  logic reset_done = 1'b0;
  logic asked_q;                                   // a word comes in this cycle
  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    asked_q <= rst_ni && read_valid_o && read_ready_i;
  end

  // The table of the entries: of all that are in the ring, because a command may come while the back is behind.
  logic [31:0] rows_q[Depth];                      // rows of each entry's table
  logic [PlaceBits:0] level_q;                     // entries from the back's to the last one
  logic [PlaceBits:0] ahead_q;                     // of them the front has gone by
  always_ff @(posedge clk_i) begin
    if (store) rows_q[tail_q[PlaceBits-1:0]] <= table_q.rows;
    if (!rst_ni) begin
      level_q <= '0;
      ahead_q <= '0;
    end else begin
      level_q <= level_q + (PlaceBits+1)'(store) - (PlaceBits+1)'(back_take_i);
      ahead_q <= ahead_q + (PlaceBits+1)'(front_take_i) - (PlaceBits+1)'(back_take_i);
    end
  end
  wire in_flight = index_valid_q && !ended_q;

  always_comb begin
    if (!reset_done) assume (!rst_ni);
    assume (answer_i == asked_q);
    if (load_i) assume (words_q == '0 && held_q == '0 && !index_valid_q && !ended_q && table_i.count != '0);
    if (load_i) assume (!table_i.rows[31] && table_i.rows != '0);
    if (front_take_i) assume (front_valid_o && !front_o.kind[1]);
    if (back_take_i) assume (back_valid_o && !back_o.kind[1] && (ahead_q != '0 || front_take_i));
    if (reset_done) begin
      // the claim: no place outside of the table is given to a walk
      FrontInTable_A: assert (!front_valid_o || front_o.kind != RowMoved
                              || front_o.value < 64'(rows_q[front_q[PlaceBits-1:0]]));
      BackInTable_A: assert (!back_valid_o || back_o.kind != RowMoved
                             || back_o.value < 64'(rows_q[back_q[PlaceBits-1:0]]));
      // what is refused is the last: nothing is stored behind it
      NothingBehind_A: assert (!ended_q || (level_q != '0 && ring[PlaceBits'(tail_q - 1'b1)].kind[1]));
      // the ring
      Level_A: assert (level_q == tail_q - back_q && level_q <= (PlaceBits+1)'(Depth));
      Ahead_A: assert (ahead_q == front_q - back_q && ahead_q <= level_q);
      Taken_A: assert (ended_q ? taken_q >= level_q : taken_q == level_q + (PlaceBits+1)'(index_valid_q));
      Room_A: assert (taken_q <= (PlaceBits+1)'(Depth));
      Words_A: assert (held_q <= 2'd2 && {1'b0, held_q} == {1'b0, words_level} + 3'(asked_q));
    end
    FullRing_C: cover (reset_done && level_q == (PlaceBits+1)'(Depth));
    Refused_C: cover (reset_done && ended_q && back_valid_o && back_o.kind == RowRefused
                      && level_q == (PlaceBits+1)'(1));
    LastRow_C: cover (reset_done && front_valid_o && front_o.kind == RowMoved
                      && front_o.value == 64'(rows_q[front_q[PlaceBits-1:0]]) - 64'd1 && front_o.value > 64'd70000);
    Skipped_C: cover (reset_done && back_valid_o && back_o.kind == RowSkipped && ahead_q == (PlaceBits+1)'(2));
  end
  for (genvar i = 0; i < Depth; i++) begin : gen_entry
    always_comb
      if (reset_done && {1'b0, PlaceBits'(i) - back_q[PlaceBits-1:0]} < level_q && ring[i].kind == RowMoved)
        InTable_A: assert (ring[i].value < 64'(rows_q[i]));
  end
