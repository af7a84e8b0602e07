`default_nettype none
// VMEM's banks: no bank is read twice or written twice in a cycle, and a DMA request is refused at
// most StarveLimit times in a row.
module arbiter_invariants #(
  parameter int unsigned Banks = 16,
  parameter int unsigned StarveLimit = 15,
  parameter int unsigned Mxus = 1,
  parameter int unsigned Sublanes = 1
) (
  input logic                           clk_i,
  input logic                           rst_ni,
  // the MXUs' reads, x and weights: granted, and their banks
  input logic [2*Mxus-1:0]              mxu_granted_i,
  input logic [2*Mxus-1:0][Banks-1:0]   mxu_banks_i,
  // the VPU's rows
  input logic [2*Sublanes-1:0]            row_reads_i,
  input logic [2*Sublanes-1:0][Banks-1:0] row_read_banks_i,
  input logic [Sublanes-1:0]              row_writes_i,
  input logic [Sublanes-1:0][Banks-1:0]   row_write_banks_i,
  // banks of DMA's granted accesses; 0: not granted
  input logic [Banks-1:0]               dma_read_banks_i,
  input logic [Banks-1:0]               dma_write_banks_i,
  // the two DMA requests: refused in this cycle
  input logic [1:0]                     dma_refused_i
);
  localparam int unsigned CountBits = $clog2(StarveLimit + 2);
  logic [1:0][CountBits-1:0] refused_q;
  logic read_twice, written_twice;
  logic [Banks-1:0] seen;

  always_comb begin
    read_twice = 1'b0;
    written_twice = 1'b0;
    seen = '0;
    for (int unsigned i = 0; i < 2 * Mxus; i++) begin
      if (mxu_granted_i[i]) begin
        read_twice = read_twice | ((seen & mxu_banks_i[i]) != '0);
        seen = seen | mxu_banks_i[i];
      end
    end
    for (int unsigned i = 0; i < 2 * Sublanes; i++) begin
      if (row_reads_i[i]) begin
        read_twice = read_twice | ((seen & row_read_banks_i[i]) != '0);
        seen = seen | row_read_banks_i[i];
      end
    end
    read_twice = read_twice | ((seen & dma_read_banks_i) != '0);
    seen = dma_write_banks_i;
    for (int unsigned i = 0; i < Sublanes; i++) begin
      if (row_writes_i[i]) begin
        written_twice = written_twice | ((seen & row_write_banks_i[i]) != '0);
        seen = seen | row_write_banks_i[i];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 2; i++) begin
      refused_q[i] <= rst_ni && dma_refused_i[i] ? refused_q[i] + 1'b1 : '0;
    end
  end

  BankReadOnce_A: assert property (@(posedge clk_i) disable iff (!rst_ni) !read_twice);
  BankWrittenOnce_A: assert property (@(posedge clk_i) disable iff (!rst_ni) !written_twice);
  DmaReadNotStarved_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      refused_q[0] <= CountBits'(StarveLimit));
  DmaWriteNotStarved_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      refused_q[1] <= CountBits'(StarveLimit));

  DmaReadAtLimit_C: cover property (@(posedge clk_i) refused_q[0] == CountBits'(StarveLimit));
  DmaWriteAtLimit_C: cover property (@(posedge clk_i) refused_q[1] == CountBits'(StarveLimit));
endmodule
`default_nettype wire
