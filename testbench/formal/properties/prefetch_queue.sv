
  // Properties of one queue's fetch: what was asked for, answered, read and pushed since its start, counted beside it.
  logic reset_done = 1'b0;
  logic [Align+7:Align] first_q;          // address of the first command
  logic [3:0] count_q, asks_q, answers_q, reads_q, pushes_q;
  logic [3:0] stores_q;                   // answers before the first error
  wire [3:0] on_way = asks_q - answers_q;
  wire [3:0] staged = reads_q - pushes_q;
  wire [3:0] inside = stores_q - reads_q;

  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    if (start) begin
      first_q <= base_q;
      count_q <= wdata_i[3:0];
      asks_q <= 0;
      answers_q <= 0;
      stores_q <= 0;
      reads_q <= 0;
      pushes_q <= 0;
    end else begin
      if (asked_i) asks_q <= asks_q + 1'b1;
      if (answered_i) answers_q <= answers_q + 1'b1;
      if (store_o) stores_q <= stores_q + 1'b1;
      if (read_i) reads_q <= reads_q + 1'b1;
      if (pushed_i) pushes_q <= pushes_q + 1'b1;
    end
    if (!rst_ni) begin
      count_q <= 0;
      asks_q <= 0;
      answers_q <= 0;
      stores_q <= 0;
      reads_q <= 0;
      pushes_q <= 0;
    end
  end

  always_comb begin
    if (!reset_done) assume (!rst_ni);
    // the block around it
    assume (!(base_write_i && count_write_i));
    if (asked_i) assume (wants_o);
    if (answered_i) assume (on_way != 0);
    if (read_i) assume (buffered_o && staged == 0 || buffered_o && pushed_i);
    if (pushed_i) assume (staged != 0);
    if (reset_done) begin
      // nothing is read beyond base and count, each command once and in order
      if (wants_o) AsksWithinCount_A: assert (asks_q < count_q);
      if (wants_o) AsksInOrder_A: assert (base_o == {first_q + asks_q, {Align{1'b0}}});
      if (fault_o) FaultHasAddress_A: assert (answer_address_o == {first_q + answers_q, {Align{1'b0}}});
      // an answer has a place, and nobody else's
      if (answered_i && !dead_q) AnswerHasPlace_A: assert (buffered_q < Depth);
      LevelInRange_A: assert (taken_q <= Depth && buffered_q <= taken_q);
      // what is pushed was stored, and the fetch is over when all of it was
      PushesWithinStores_A: assert (pushes_q <= reads_q && reads_q <= stores_q && stores_q <= answers_q);
      ActiveUntilPushed_A: assert (active_o == (pushes_q != count_q));
      if (dead_q) DeadIsActive_A: assert (active_o && !wants_o && !buffered_o);
      // invariants that make the induction close
      AsksCounted_A: assert (asks_q <= count_q && to_ask_q == count_q - asks_q && answers_q <= asks_q);
      LeftCounted_A: assert (left_q == count_q - pushes_q && pushes_q <= count_q && staged <= 1);
      TakenCounted_A: assert (taken_q == asks_q - reads_q && buffered_q == inside);
      if (!dead_q) StoredAll_A: assert (stores_q == answers_q);
      if (dead_q) ErrorIsNotStored_A: assert (stores_q < answers_q);
      if (active_o) AnswerAddress_A: assert (answer_q == first_q + answers_q);
      if (active_o) BaseAddress_A: assert (base_q == first_q + asks_q);
      PlacesAgree_A: assert (tail_q == PlaceBits'(head_q + inside[PlaceBits-1:0]));
    end
    WholeFetch_C: cover (reset_done && count_q == 3 && pushes_q == 3);
    BufferFull_C: cover (reset_done && buffered_q == Depth);
    Faults_C: cover (reset_done && fault_o && answers_q == 1);
    Refused_C: cover (reset_done && refused_q);
  end
