`default_nettype none
// The words of VMEM, as one array: word a of the address space is element a; it stands for bank a %
// Banks, row a / Banks.
//
// The trick: vmem_arbiter lets each bank be read once and written once a cycle, so the banks' ports
// need not be drawn: a granted access copies its words between array and port, and a port that is
// idle costs nothing to simulate. Reads take one cycle and see the words as they were before
// a write in the same cycle.
module vmem_storage
  import chip_pkg::*;
#(
  localparam int unsigned AddrBits = $clog2(VmemWords),
  localparam int unsigned CountBits = $clog2(DmaWords + 1),
  localparam int unsigned WordBits = WordBytes * 8,
  localparam int unsigned ChunkBits = weft_pkg::DmaGranuleBytes * 8,
  localparam int unsigned WordChunks = WordBits / ChunkBits
) (
  input  logic                           clk_i,
  // granted reads
  input  logic                           x_en_i,
  input  logic [AddrBits-1:0]            x_addr_i,
  output logic [WordBits-1:0]            x_rdata_o,
  input  logic                           w_en_i,
  input  logic [AddrBits-1:0]            w_addr_i,
  output logic [WordBits-1:0]            w_rdata_o,
  input  logic                           va_en_i,
  input  logic                           va_pair_i,
  input  logic [AddrBits-1:0]            va_addr_i,
  output logic [2*WordBits-1:0]          va_rdata_o,
  input  logic                           vb_en_i,
  input  logic                           vb_pair_i,
  input  logic [AddrBits-1:0]            vb_addr_i,
  output logic [2*WordBits-1:0]          vb_rdata_o,
  input  logic                           dr_en_i,
  input  logic [CountBits-1:0]           dr_words_i,
  input  logic [AddrBits-1:0]            dr_addr_i,
  output logic [DmaWords*WordBits-1:0]   dr_rdata_o,
  // granted writes
  input  logic                           vw_en_i,
  input  logic                           vw_pair_i,
  input  logic [AddrBits-1:0]            vw_addr_i,
  input  logic [2*WordBits-1:0]          vw_wdata_i,
  input  logic                           dw_en_i,
  input  logic [CountBits-1:0]           dw_words_i,
  input  logic [AddrBits-1:0]            dw_addr_i,
  input  logic [DmaWords*WordChunks-1:0] dw_strb_i,
  input  logic [DmaWords*WordBits-1:0]   dw_wdata_i
);
  logic [WordBits-1:0] words[VmemWords]  /*verilator public_flat_rd*/;

  // `words` is touched by one process alone, whose statements are in the order that is meant.
  // verilator lint_off BLKSEQ

  // One word of a DMA beat: whole, or only the 16-byte chunks whose strobe is set.
  task automatic write_word(input logic [AddrBits-1:0] addr, input logic [WordChunks-1:0] strb,
                            input logic [WordBits-1:0] data);
    if (&strb) words[addr] = data;
    else
      for (int unsigned j = 0; j < WordChunks; j++)
        if (strb[j]) words[addr][j*ChunkBits+:ChunkBits] = data[j*ChunkBits+:ChunkBits];
  endtask

  // All reads stand before all writes in the one process that touches `words`, so its writes can be
  // blocking: the order of the statements says what a read beside a write sees, and no word is
  // copied twice. Words of a port beyond the access keep what they showed before.
  always_ff @(posedge clk_i) begin
    if (x_en_i) x_rdata_o <= words[x_addr_i];
    if (w_en_i) w_rdata_o <= words[w_addr_i];
    if (va_en_i) va_rdata_o[0+:WordBits] <= words[va_addr_i];
    if (va_en_i && va_pair_i) va_rdata_o[WordBits+:WordBits] <= words[va_addr_i+AddrBits'(1)];
    if (vb_en_i) vb_rdata_o[0+:WordBits] <= words[vb_addr_i];
    if (vb_en_i && vb_pair_i) vb_rdata_o[WordBits+:WordBits] <= words[vb_addr_i+AddrBits'(1)];
    for (int unsigned i = 0; i < DmaWords; i++)
      if (dr_en_i && CountBits'(i) < dr_words_i)
        dr_rdata_o[i*WordBits+:WordBits] <= words[dr_addr_i+AddrBits'(i)];

    if (vw_en_i) words[vw_addr_i] = vw_wdata_i[0+:WordBits];
    if (vw_en_i && vw_pair_i) words[vw_addr_i+AddrBits'(1)] = vw_wdata_i[WordBits+:WordBits];
    for (int unsigned i = 0; i < DmaWords; i++)
      if (dw_en_i && CountBits'(i) < dw_words_i)
        write_word(dw_addr_i + AddrBits'(i), dw_strb_i[i*WordChunks+:WordChunks],
                   dw_wdata_i[i*WordBits+:WordBits]);
  end
  // verilator lint_on BLKSEQ
endmodule
`default_nettype wire
