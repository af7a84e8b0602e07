`default_nettype none
// Two kinds of reads on one port: one goes at a time, and of those that wait neither waits for ever.
module share_invariants #(
  parameter int unsigned Share = weft_pkg::PrefetchShare
) (
  input logic clk_i,
  input logic rst_ni,
  input logic dma_valid_i,
  input logic dma_ready_i,
  input logic fetch_valid_i,
  input logic fetch_ready_i,
  input logic mrd_ready_i
);
  logic [7:0] dma_first_q, fetch_first_q;   // reads of the other kind since this one waits
  always_ff @(posedge clk_i) begin
    if (!fetch_valid_i || fetch_ready_i) dma_first_q <= '0;
    else if (dma_valid_i && dma_ready_i) dma_first_q <= dma_first_q + 8'd1;
    if (!dma_valid_i || dma_ready_i) fetch_first_q <= '0;
    else if (fetch_valid_i && fetch_ready_i) fetch_first_q <= fetch_first_q + 8'd1;
    if (!rst_ni) begin
      dma_first_q <= '0;
      fetch_first_q <= '0;
    end
  end

  OneGoes_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      !(dma_ready_i && fetch_ready_i));
  SomeoneGoes_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      mrd_ready_i && (dma_valid_i || fetch_valid_i) |->
      (dma_valid_i && dma_ready_i) || (fetch_valid_i && fetch_ready_i));
  FetchWaitsForShare_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      dma_first_q < 8'(Share));
  DmaWaitsForOne_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      fetch_first_q <= 8'd1);

  FetchGoesBeforeDma_C: cover property (@(posedge clk_i)
      rst_ni && dma_valid_i && fetch_valid_i && fetch_ready_i);
  DmaGoesBeforeFetch_C: cover property (@(posedge clk_i)
      rst_ni && dma_valid_i && fetch_valid_i && dma_ready_i);
endmodule
`default_nettype wire
