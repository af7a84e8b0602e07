`default_nettype none
// Whose read goes to memory next: DMA's or that of a command.
//
//   dma ───┐
//          ├─► mrd      a request that memory has seen stands until it is taken
//   fetch ─┘
//
// DMA goes first, but while both wait one read in Share is a command's: after Share - 1 of DMA in a
// row that let a command wait. So neither starves. Combinational; nothing is added to a request.
module read_arbiter #(
  parameter int unsigned Share = weft_pkg::PrefetchShare
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic dma_valid_i,
  output logic dma_ready_o,
  input  logic fetch_valid_i,
  output logic fetch_ready_o,
  // the port
  output logic mrd_valid_o,
  output logic mrd_fetch_o,    // the request is that of a command
  input  logic mrd_ready_i,
  output logic conflict_o      // a command's read waits for DMA's
);
  localparam int unsigned CountBits = $clog2(Share);

  logic [CountBits-1:0] passed_q;   // reads of DMA that went before the command's read that waits
  logic held_q, held_fetch_q;       // memory has refused the request

  assign mrd_valid_o = dma_valid_i || fetch_valid_i;
  assign mrd_fetch_o = held_q ? held_fetch_q :
      fetch_valid_i && (!dma_valid_i || passed_q == CountBits'(Share - 1));
  assign dma_ready_o = mrd_ready_i && !mrd_fetch_o;
  assign fetch_ready_o = mrd_ready_i && mrd_fetch_o;
  assign conflict_o = fetch_valid_i && !mrd_fetch_o;

  always_ff @(posedge clk_i) begin
    held_fetch_q <= mrd_fetch_o;
    held_q <= mrd_valid_o && !mrd_ready_i;
    if (!fetch_valid_i || fetch_ready_o) passed_q <= '0;
    else if (dma_valid_i && dma_ready_o) passed_q <= passed_q + 1'b1;
    if (!rst_ni) begin
      passed_q <= '0;
      held_q <= 1'b0;
    end
  end
endmodule
`default_nettype wire
