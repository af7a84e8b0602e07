
  // Properties of a queue's two fetches: what was asked for, answered, read and pushed of each since its start, counted
  // beside it. The fetch that was started first goes first, in every stage.
  logic reset_done = 1'b0;
  logic [Align+7:Align] first_q [2];         // address of the first command
  logic [3:0] count_q [2], asks_q [2], answers_q [2], reads_q [2], pushes_q [2];
  logic [3:0] stores_q [2];                  // answers before the first error
  logic [4:0] taken_out_q [2];               // of the queue
  logic older_q;                             // the fetch that was started first, if both are under way
  logic [1:0] under_way;                     // not all of it is in the queue
  logic ask_at, answer_at, read_at, push_at; // which fetch each stage is to serve
  wire [3:0] on_way = asks_q[0] - answers_q[0] + (asks_q[1] - answers_q[1]);
  wire [3:0] staged = reads_q[0] - pushes_q[0] + (reads_q[1] - pushes_q[1]);
  wire [3:0] stored = stores_q[0] - reads_q[0] + (stores_q[1] - reads_q[1]);
  assign under_way = {pushes_q[1] != count_q[1], pushes_q[0] != count_q[0]};
  assign ask_at = asks_q[older_q] != count_q[older_q] ? older_q : !older_q;
  assign answer_at = answers_q[older_q] != count_q[older_q] ? older_q : !older_q;
  assign read_at = reads_q[older_q] != count_q[older_q] ? older_q : !older_q;
  assign push_at = pushes_q[older_q] != count_q[older_q] ? older_q : !older_q;

  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    for (int v = 0; v < 2; v++) begin
      if (start[v]) begin
        first_q[v] <= base_q[v];
        count_q[v] <= wdata_i[3:0];
        asks_q[v] <= 0;
        answers_q[v] <= 0;
        stores_q[v] <= 0;
        reads_q[v] <= 0;
        pushes_q[v] <= 0;
      end else begin
        if (asked_i && ask_at == v) asks_q[v] <= asks_q[v] + 1'b1;
        if (answered_i && answer_at == v) answers_q[v] <= answers_q[v] + 1'b1;
        if (store_o && answer_at == v) stores_q[v] <= stores_q[v] + 1'b1;
        if (read_i && read_at == v) reads_q[v] <= reads_q[v] + 1'b1;
        if (pushed_i && push_at == v) pushes_q[v] <= pushes_q[v] + 1'b1;
      end
    end
    if (start != 0 && wdata_i[3:0] != 0) begin
      if (under_way[!start[1]]) older_q <= !start[1];
      else older_q <= start[1];
    end
    if (!rst_ni) begin
      older_q <= 1'b0;
      for (int v = 0; v < 2; v++) begin
        count_q[v] <= 0;
        asks_q[v] <= 0;
        answers_q[v] <= 0;
        stores_q[v] <= 0;
        reads_q[v] <= 0;
        pushes_q[v] <= 0;
      end
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
    assume (taken_i != 2'b11);
    for (int v = 0; v < 2; v++) if (taken_i[v]) assume (inside_q[v] != 0);
    for (int v = 0; v < 2; v++) if (pushed_i && push_of == v) assume (inside_q[v] != weft_pkg::QueueDepth);
    if (reset_done) begin
      // nothing is read beyond base and count, each command once and in order
      if (wants_o) AsksWithinCount_A: assert (asks_q[ask_at] < count_q[ask_at]);
      if (wants_o) AsksInOrder_A: assert (base_o == {first_q[ask_at] + asks_q[ask_at], {Align{1'b0}}});
      if (fault_o) FaultHasAddress_A: assert (answer_address_o == {first_q[answer_at] + answers_q[answer_at], {Align{1'b0}}});
      // an answer has a place, and nobody else's
      if (answered_i && !dead_q) AnswerHasPlace_A: assert (buffered_q < Depth);
      LevelInRange_A: assert (taken_q <= Depth && buffered_q <= taken_q);
      // what is pushed was stored, and the fetches are over when all of them was
      ActiveUntilPushed_A: assert (active_o == (under_way != 0));
      if (staged != 0) VersionOfPush_A: assert (version_o == push_at);
      if (dead_q) DeadIsActive_A: assert (active_o && !wants_o && !buffered_o);
      UsedUntilTaken_A: assert ((used_o & under_way) == under_way);
      // the younger one is not begun before the older one has left the stage
      if (under_way == 2'b11) begin
        if (asks_q[!older_q] != 0) AsksInTurn_A: assert (asks_q[older_q] == count_q[older_q]);
        if (answers_q[!older_q] != 0) AnswersInTurn_A: assert (answers_q[older_q] == count_q[older_q]);
        if (reads_q[!older_q] != 0) ReadsInTurn_A: assert (reads_q[older_q] == count_q[older_q]);
        PushesInTurn_A: assert (pushes_q[!older_q] == 0);
      end
      // invariants that make the induction close
      // without names: slang gives those of all turns of the loop the same
      for (int v = 0; v < 2; v++) begin
        assert (pushes_q[v] <= reads_q[v] && reads_q[v] <= stores_q[v] && stores_q[v] <= answers_q[v]
                                      && answers_q[v] <= asks_q[v] && asks_q[v] <= count_q[v]);
        assert (to_ask_q[v] == count_q[v] - asks_q[v] && to_answer_q[v] == count_q[v] - answers_q[v]);
        assert (left_q[v] == count_q[v] - pushes_q[v]);
        if (under_way[v]) assert (answer_q[v] == first_q[v] + answers_q[v]);
        if (under_way[v]) assert (base_q[v] == first_q[v] + asks_q[v]);
        if (!dead_q) assert (stores_q[v] == answers_q[v]);
        if (!under_way[v]) assert (reads_q[v] == count_q[v]);
      end
      if (under_way != 0 && !under_way[older_q]) OlderIsUnderWay_A: assert (asks_q[older_q] == count_q[older_q]);
      StagedOne_A: assert (staged <= 1);
      TakenCounted_A: assert (taken_q == asks_q[0] - reads_q[0] + (asks_q[1] - reads_q[1]) && buffered_q == stored);
      if (dead_q) ErrorIsNotStored_A: assert (stores_q[0] < answers_q[0] || stores_q[1] < answers_q[1]);
      if (to_ask_q[0] != 0 && to_ask_q[1] != 0) AskOf_A: assert (ask_of == older_q);
      if (to_answer_q[0] != 0 && to_answer_q[1] != 0) AnswerOf_A: assert (answer_of == older_q);
      if (left_q[0] != 0 && left_q[1] != 0) PushOf_A: assert (push_of == older_q);
      PlacesAgree_A: assert (tail_q == PlaceBits'(head_q + stored[PlaceBits-1:0]));
    end
    WholeFetch_C: cover (reset_done && count_q[0] == 3 && pushes_q[0] == 3);
    BothFetches_C: cover (reset_done && count_q[0] == 2 && pushes_q[0] == 2 && count_q[1] == 2 && pushes_q[1] == 2 && older_q);
    BufferFull_C: cover (reset_done && buffered_q == Depth);
    Faults_C: cover (reset_done && fault_o && answers_q[0] == 1);
    Refused_C: cover (reset_done && refused_q);
  end
