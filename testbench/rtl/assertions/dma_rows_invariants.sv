`default_nettype none
// Rows of an indexed command: words find room, a command comes when the one before is done, the walks
// take what is there, the back behind the front, and a place that they are given lies in the table.
module dma_rows_invariants #(
  parameter int unsigned PlaceBits = 9
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic               answer_i,
  input logic               words_ready_i,
  input logic               load_i,
  input logic               idle_i,           // no word is asked for or held, no index is looked at
  input logic               front_take_i,
  input logic               front_valid_i,
  input logic               back_take_i,
  input logic               back_valid_i,
  input logic [PlaceBits:0] front_place_i,
  input logic [PlaceBits:0] back_place_i,
  input logic [PlaceBits:0] taken_i,
  input logic               moved_i,          // a row is stored that is moved
  input logic [31:0]        index_i,
  input logic [31:0]        rows_i
);
  WordsFit_A: assert property (@(posedge clk_i) disable iff (!rst_ni) answer_i |-> words_ready_i);
  LoadWhenDone_A: assert property (@(posedge clk_i) disable iff (!rst_ni) load_i |-> idle_i);
  FrontTake_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      front_take_i |-> front_valid_i);
  BackTake_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      back_take_i |-> back_valid_i && (back_place_i != front_place_i || front_take_i));
  InTable_A: assert property (@(posedge clk_i) disable iff (!rst_ni) moved_i |-> index_i < rows_i);

  Full_C: cover property (@(posedge clk_i) rst_ni && taken_i[PlaceBits]);
  LastRow_C: cover property (@(posedge clk_i) rst_ni && moved_i && index_i == rows_i - 32'd1);
endmodule
`default_nettype wire
