`default_nettype none
// The words of VMEM, as one array: word a of the address space is element a; it stands for bank a %
// Banks, row a / Banks.
//
// The trick: vmem_arbiter lets each bank be read once and written once a cycle, so the banks' ports
// need not be drawn: a granted access copies its words between array and port, and a port that is
// idle costs nothing to simulate. Reads take one cycle and see the words as they were before
// a write in the same cycle.
//
// Each granule of 64 bits has 8 check bits (common/secded_pkg). A word is checked as it is read:
// one wrong bit of a granule is corrected in what is shown, two set the granule's poison flag
// beside the data. What is stored changes only by writes, which cover whole granules, and by
// injected flips.
module vmem_storage
  import chip_pkg::*;
#(
  localparam int unsigned AddrBits = $clog2(VmemWords),
  localparam int unsigned CountBits = $clog2(DmaWords + 1),
  localparam int unsigned WordBits = WordBytes * 8,
  localparam int unsigned ChunkBits = weft_pkg::DmaGranuleBytes * 8,
  localparam int unsigned WordChunks = WordBits / ChunkBits,
  localparam int unsigned Granules = WordBits / 64,   // of a word
  localparam int unsigned GranuleBits = $clog2(Granules)
) (
  input  logic                           clk_i,
  // granted reads
  input  logic [NumMxu-1:0]               x_en_i,
  input  logic [NumMxu-1:0][AddrBits-1:0] x_addr_i,
  output logic [NumMxu-1:0][WordBits-1:0] x_rdata_o,
  output logic [NumMxu-1:0][Granules-1:0] x_poison_o,
  input  logic [NumMxu-1:0]               w_en_i,
  input  logic [NumMxu-1:0][AddrBits-1:0] w_addr_i,
  output logic [NumMxu-1:0][WordBits-1:0] w_rdata_o,
  output logic [NumMxu-1:0][Granules-1:0] w_poison_o,
  input  logic                           va_en_i,
  input  logic                           va_pair_i,
  input  logic [AddrBits-1:0]            va_addr_i,
  output logic [2*WordBits-1:0]          va_rdata_o,
  output logic [2*Granules-1:0]          va_poison_o,
  input  logic                           vb_en_i,
  input  logic                           vb_pair_i,
  input  logic [AddrBits-1:0]            vb_addr_i,
  output logic [2*WordBits-1:0]          vb_rdata_o,
  output logic [2*Granules-1:0]          vb_poison_o,
  input  logic                           dr_en_i,
  input  logic [CountBits-1:0]           dr_words_i,
  input  logic [AddrBits-1:0]            dr_addr_i,
  output logic [DmaWords*WordBits-1:0]   dr_rdata_o,
  output logic [DmaWords*Granules-1:0]   dr_poison_o,
  // granted writes
  input  logic                           vw_en_i,
  input  logic                           vw_pair_i,
  input  logic [AddrBits-1:0]            vw_addr_i,
  input  logic [2*WordBits-1:0]          vw_wdata_i,
  input  logic                           dw_en_i,
  input  logic [CountBits-1:0]           dw_words_i,
  input  logic [AddrBits-1:0]            dw_addr_i,
  input  logic [DmaWords*WordChunks-1:0] dw_strb_i,
  input  logic [DmaWords*WordBits-1:0]   dw_wdata_i,
  // granules with an error that the reads of the last cycle met
  output logic [15:0]                    cnt_corrected_o,
  output logic [15:0]                    cnt_poison_o,
  // fault injection
  input  core_pkg::flip_t                flip_i,
  output logic                           flip_write_o   // the granule of flip_i is written
);
  logic [WordBits-1:0] words[VmemWords]  /*verilator public_flat_rd*/;
  logic [7:0] checks[VmemWords*Granules] /*verilator public_flat_rd*/;   // word a, granule g
  logic [15:0] corrected, poisoned;                                     // in this cycle

  // Memories are touched by one process alone, whose statements are in the order that is meant.
  // verilator lint_off BLKSEQ

  function automatic logic [AddrBits+GranuleBits-1:0] place(input logic [AddrBits-1:0] addr,
                                                            input logic [31:0] granule);
    place = (AddrBits + GranuleBits)'(32'({addr, GranuleBits'(0)}) + granule);
  endfunction

  // A word with its errors told; the loop over granules is all that happens to a good one.
  task automatic read_word(input logic [AddrBits-1:0] addr, output logic [WordBits-1:0] data,
                           output logic [Granules-1:0] poison);
    logic [31:0] seen;
    data = words[addr];
    poison = '0;
    seen = 32'd0;
    for (int unsigned g = 0; g < Granules; g++)
      seen = seen | (secded_pkg::check64({data[64*g+32+:32], data[64*g+:32]})
                     ^ 32'(checks[place(addr, g)]));
    if (seen != 32'd0) repair(addr, data, poison);
  endtask

  task automatic repair(input logic [AddrBits-1:0] addr, inout logic [WordBits-1:0] data,
                        inout logic [Granules-1:0] poison);
    for (int unsigned g = 0; g < Granules; g++) begin
      logic [7:0] syndrome;
      logic [63:0] error;
      syndrome = 8'(secded_pkg::check64(data[64*g+:64])) ^ checks[place(addr, g)];
      error = secded_pkg::error64(syndrome);
      data[64*g+:64] = data[64*g+:64] ^ error;
      if (error != '0 || secded_pkg::check_error(syndrome)) corrected = corrected + 16'd1;
      else if (syndrome != '0) begin
        poison[g] = 1'b1;
        poisoned = poisoned + 16'd1;
      end
    end
  endtask

  // One word of a DMA beat: whole, or only the 16-byte chunks whose strobe is set.
  task automatic write_word(input logic [AddrBits-1:0] addr, input logic [WordChunks-1:0] strb,
                            input logic [WordBits-1:0] data);
    if (&strb) begin
      words[addr] = data;
      for (int unsigned g = 0; g < Granules; g++)
        checks[place(addr, g)] = 8'(secded_pkg::check64({data[64*g+32+:32], data[64*g+:32]}));
    end else begin
      for (int unsigned j = 0; j < WordChunks; j++)
        if (strb[j]) words[addr][j*ChunkBits+:ChunkBits] = data[j*ChunkBits+:ChunkBits];
      for (int unsigned g = 0; g < Granules; g++)
        if (strb[g/2]) checks[place(addr, g)] = 8'(secded_pkg::check64(data[64*g+:64]));
    end
  endtask

  // Is the granule of flip_i written in this cycle?
  wire [AddrBits-1:0] flip_word = flip_i.granule[GranuleBits+:AddrBits];
  wire [GranuleBits-1:0] flip_granule = flip_i.granule[GranuleBits-1:0];
  wire [AddrBits-1:0] flip_vw = flip_word - vw_addr_i;
  wire [AddrBits-1:0] flip_dw = flip_word - dw_addr_i;
  always_comb begin
    flip_write_o = 1'b0;
    if (flip_i.watch) begin
      if (vw_en_i && (flip_vw == '0 || (vw_pair_i && flip_vw == AddrBits'(1)))) flip_write_o = 1'b1;
      for (int unsigned i = 0; i < DmaWords; i++)
        if (dw_en_i && CountBits'(i) < dw_words_i && flip_dw == AddrBits'(i)
            && dw_strb_i[i*WordChunks+32'(flip_granule)/2]) flip_write_o = 1'b1;
    end
  end

  // All reads stand before all writes in the one process that touches the memories, so its writes
  // can be blocking: the order of the statements says what a read beside a write sees, and no word
  // is copied twice. Words of a port beyond the access keep what they showed before.
  always_ff @(posedge clk_i) begin
    logic [WordBits-1:0] data;
    logic [Granules-1:0] poison;
    corrected = '0;
    poisoned = '0;
    for (int unsigned u = 0; u < NumMxu; u++)
      if (x_en_i[u]) begin
        read_word(x_addr_i[u], data, poison);
        x_rdata_o[u] <= data;
        x_poison_o[u] <= poison;
      end
    for (int unsigned u = 0; u < NumMxu; u++)
      if (w_en_i[u]) begin
        read_word(w_addr_i[u], data, poison);
        w_rdata_o[u] <= data;
        w_poison_o[u] <= poison;
      end
    if (va_en_i) begin
      read_word(va_addr_i, data, poison);
      va_rdata_o[0+:WordBits] <= data;
      va_poison_o[0+:Granules] <= poison;
      if (va_pair_i) begin
        read_word(va_addr_i + AddrBits'(1), data, poison);
        va_rdata_o[WordBits+:WordBits] <= data;
        va_poison_o[Granules+:Granules] <= poison;
      end
    end
    if (vb_en_i) begin
      read_word(vb_addr_i, data, poison);
      vb_rdata_o[0+:WordBits] <= data;
      vb_poison_o[0+:Granules] <= poison;
      if (vb_pair_i) begin
        read_word(vb_addr_i + AddrBits'(1), data, poison);
        vb_rdata_o[WordBits+:WordBits] <= data;
        vb_poison_o[Granules+:Granules] <= poison;
      end
    end
    for (int unsigned i = 0; i < DmaWords; i++)
      if (dr_en_i && CountBits'(i) < dr_words_i) begin
        read_word(dr_addr_i + AddrBits'(i), data, poison);
        dr_rdata_o[i*WordBits+:WordBits] <= data;
        dr_poison_o[i*Granules+:Granules] <= poison;
      end
    cnt_corrected_o <= corrected;
    cnt_poison_o <= poisoned;

    if (vw_en_i) begin
      write_word(vw_addr_i, '1, vw_wdata_i[0+:WordBits]);
      if (vw_pair_i) write_word(vw_addr_i + AddrBits'(1), '1, vw_wdata_i[WordBits+:WordBits]);
    end
    for (int unsigned i = 0; i < DmaWords; i++)
      if (dw_en_i && CountBits'(i) < dw_words_i)
        write_word(dw_addr_i + AddrBits'(i), dw_strb_i[i*WordChunks+:WordChunks],
                   dw_wdata_i[i*WordBits+:WordBits]);
    if (flip_i.now || (flip_write_o && flip_i.next)) begin
      words[flip_word][64*32'(flip_granule)+:64] = words[flip_word][64*32'(flip_granule)+:64]
                                                 ^ flip_i.data;
      checks[flip_i.granule[AddrBits+GranuleBits-1:0]] =
          checks[flip_i.granule[AddrBits+GranuleBits-1:0]] ^ flip_i.check;
    end
  end
  // verilator lint_on BLKSEQ

  logic unused_bits;
  assign unused_bits = &{1'b0, flip_i.granule};
endmodule
`default_nettype wire
