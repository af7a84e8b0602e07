`default_nettype none
// The banks of VMEM and the crossbars before and behind them: word a lies in bank a % VmemBanks,
// row a / VmemBanks.
//
//   x w va vb dr ──► read, raddr ──► bank 0 ──► the bank of each port ──► check, repair ──► rdata
//   vw dw ──► check bits ──► write, wdata ──► bank 1 ...
//
// vmem_arbiter lets each bank be read once and written once a cycle. Data follow a granted read in
// the next cycle; a read sees what is written in its cycle, which its RAM does not show. Words of a
// port beyond the access mean nothing.
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
  localparam int unsigned BankBits = $clog2(VmemBanks),
  localparam int unsigned RowBits = AddrBits - BankBits,
  localparam int unsigned Granules = WordBits / 64,   // of a word
  localparam int unsigned WordChecks = 8 * Granules,
  localparam int unsigned GranuleBits = $clog2(Granules),
  localparam int unsigned Sublanes = VpuSublanes,
  localparam int unsigned RowSelectBits = $clog2(2 * Sublanes)
) (
  input  logic                           clk_i,
  // granted reads
  input  logic [NumMxu-1:0]               x_en_i,
  input  logic [NumMxu-1:0][AddrBits-1:0] x_addr_i,
  output port_pkg::words_answer_t         x_o,
  input  logic [NumMxu-1:0]               w_en_i,
  input  logic [NumMxu-1:0][AddrBits-1:0] w_addr_i,
  output port_pkg::words_answer_t         w_o,
  input  logic [Sublanes-1:0]            va_en_i,
  input  port_pkg::rows_read_t           va_i,
  output port_pkg::rows_answer_t         va_o,
  input  logic [Sublanes-1:0]            vb_en_i,
  input  port_pkg::rows_read_t           vb_i,
  output port_pkg::rows_answer_t         vb_o,
  input  logic                           dr_en_i,
  input  port_pkg::beat_read_t           dr_i,
  output port_pkg::beat_answer_t         dr_o,
  // granted writes
  input  logic [Sublanes-1:0]            vw_en_i,
  input  port_pkg::rows_write_t          vw_i,
  input  logic                           dw_en_i,
  input  port_pkg::beat_write_t          dw_i,
  // granules with an error that the reads of the last cycle met
  output logic [15:0]                    cnt_corrected_o,
  output logic [15:0]                    cnt_poison_o,
  // fault injection
  input  core_pkg::flip_t                flip_i,
  output logic                           flip_write_o   // the granule of flip_i is written
);
  typedef logic [BankBits-1:0] bank_t;
  typedef logic [RowBits-1:0] row_t;
  localparam logic [Granules-1:0] UpperHalf = {{Granules / 2{1'b1}}, {Granules / 2{1'b0}}};

  logic [VmemBanks-1:0]  read;
  row_t                  raddr[VmemBanks];
  logic [WordBits-1:0]   bank_data[VmemBanks];      // of the last read
  logic [WordChecks-1:0] bank_check[VmemBanks];
  logic [VmemBanks-1:0]  from_vw;                   // the bank is written by vw
  logic [Granules-1:0]   write[VmemBanks];
  row_t                  waddr[VmemBanks];
  logic [RowSelectBits-1:0] vw_word[VmemBanks];     // ... with this one of vw's words
  logic [2*Sublanes-1:0][WordChecks-1:0] vw_check;  // of those
  logic [DmaWords*WordChecks-1:0] dw_check;

  // ---------------------------------------------------------------- which bank reads what
  always_comb begin
    logic [AddrBits-1:0] addr;
    addr = '0;
    read = '0;
    for (int unsigned b = 0; b < VmemBanks; b++) raddr[b] = '0;
    for (int unsigned u = 0; u < NumMxu; u++)
      if (x_en_i[u]) begin
        read[x_addr_i[u][BankBits-1:0]] = 1'b1;
        raddr[x_addr_i[u][BankBits-1:0]] = x_addr_i[u][AddrBits-1:BankBits];
      end
    for (int unsigned u = 0; u < NumMxu; u++)
      if (w_en_i[u]) begin
        read[w_addr_i[u][BankBits-1:0]] = 1'b1;
        raddr[w_addr_i[u][BankBits-1:0]] = w_addr_i[u][AddrBits-1:BankBits];
      end
    for (int unsigned s = 0; s < Sublanes; s++)
      for (int unsigned i = 0; i < 2; i++)
        if (va_en_i[s] && (i == 0 || va_i.pair)) begin
          addr = va_i.addr[s] + AddrBits'(i);
          read[addr[BankBits-1:0]] = 1'b1;
          raddr[addr[BankBits-1:0]] = addr[AddrBits-1:BankBits];
        end
    for (int unsigned s = 0; s < Sublanes; s++)
      for (int unsigned i = 0; i < 2; i++)
        if (vb_en_i[s] && (i == 0 || vb_i.pair)) begin
          addr = vb_i.addr[s] + AddrBits'(i);
          read[addr[BankBits-1:0]] = 1'b1;
          raddr[addr[BankBits-1:0]] = addr[AddrBits-1:BankBits];
        end
    for (int unsigned i = 0; i < DmaWords; i++)
      if (dr_en_i && CountBits'(i) < dr_i.words) begin
        addr = dr_i.addr + AddrBits'(i);
        read[addr[BankBits-1:0]] = 1'b1;
        raddr[addr[BankBits-1:0]] = addr[AddrBits-1:BankBits];
      end
  end

  // ---------------------------------------------------------------- which bank is written
  task automatic check_bits(input logic [WordBits-1:0] data,
                            output logic [WordChecks-1:0] check);
    /* verilator no_inline_task */
    logic [31:0] lane[Granules];
    for (int unsigned g = 0; g < Granules; g++)
      lane[g] = secded_pkg::check64({data[64*g+32+:32], data[64*g+:32]});
    for (int unsigned g = 0; g < Granules; g++) check[8*g+:8] = lane[g][7:0];
  endtask

  always_comb begin
    logic [AddrBits-1:0] addr;
    addr = '0;
    from_vw = '0;
    vw_check = '0;
    dw_check = '0;
    for (int unsigned b = 0; b < VmemBanks; b++) begin
      write[b] = '0;
      waddr[b] = '0;
      vw_word[b] = '0;
    end
    for (int unsigned s = 0; s < Sublanes; s++)
      for (int unsigned i = 0; i < 2; i++)
        if (vw_en_i[s] && (i == 0 || vw_i.pair)) begin
          addr = vw_i.addr[s] + AddrBits'(i);
          from_vw[addr[BankBits-1:0]] = 1'b1;
          write[addr[BankBits-1:0]] = vw_i.upper ? UpperHalf : '1;
          waddr[addr[BankBits-1:0]] = addr[AddrBits-1:BankBits];
          vw_word[addr[BankBits-1:0]] = RowSelectBits'(2 * s + i);
          check_bits(vw_i.data[s][i*WordBits+:WordBits], vw_check[2*s+i]);
        end
    for (int unsigned i = 0; i < DmaWords; i++)
      if (dw_en_i && CountBits'(i) < dw_i.words) begin
        addr = dw_i.addr + AddrBits'(i);
        for (int unsigned j = 0; j < WordChunks; j++)
          write[addr[BankBits-1:0]][2*j+:2] = {2{dw_i.strb[i*WordChunks+j]}};
        waddr[addr[BankBits-1:0]] = addr[AddrBits-1:BankBits];
        check_bits(dw_i.data[i*WordBits+:WordBits], dw_check[i*WordChecks+:WordChecks]);
      end
  end

  // ---------------------------------------------------------------- fault injection
  // Is the granule of flip_i written in this cycle?
  wire [AddrBits-1:0] flip_word = flip_i.granule[GranuleBits+:AddrBits];
  wire [GranuleBits-1:0] flip_granule = flip_i.granule[GranuleBits-1:0];
  wire [AddrBits-1:0] flip_dw = flip_word - dw_i.addr;
  always_comb begin
    flip_write_o = 1'b0;
    if (flip_i.watch) begin
      for (int unsigned s = 0; s < Sublanes; s++)
        if (vw_en_i[s] && (!vw_i.upper || flip_granule[GranuleBits-1])
            && (flip_word == vw_i.addr[s]
                || (vw_i.pair && flip_word == vw_i.addr[s] + AddrBits'(1))))
          flip_write_o = 1'b1;
      for (int unsigned i = 0; i < DmaWords; i++)
        if (dw_en_i && CountBits'(i) < dw_i.words && flip_dw == AddrBits'(i)
            && dw_i.strb[i*WordChunks+32'(flip_granule)/2]) flip_write_o = 1'b1;
    end
  end
  wire flip_wdata = flip_write_o && flip_i.next;    // in what is written

  // ---------------------------------------------------------------- banks
  logic [2*Sublanes-1:0][WordBits-1:0] vw_words;
  assign vw_words = vw_i.data;
  for (genvar b = 0; b < VmemBanks; b++) begin : gen_bank
    logic [WordBits-1:0]   wdata, ram_data, late_data_q;
    logic [WordChecks-1:0] wcheck, ram_check, late_check_q;
    logic [Granules-1:0]   flip, late_q;            // late: granules that the RAM does not show
    wire bank_t dw_word = bank_t'(b) - dw_i.addr[BankBits-1:0];
    wire meets = read[b] && write[b] != '0 && raddr[b] == waddr[b];

    always_comb begin
      wdata = '0;
      wcheck = '0;
      if (from_vw[b]) begin
        wdata = vw_words[vw_word[b]];
        wcheck = vw_check[vw_word[b]];
      end else if (write[b] != '0) begin
        wdata = dw_i.data[32'(dw_word)%DmaWords*WordBits+:WordBits];
        wcheck = dw_check[32'(dw_word)%DmaWords*WordChecks+:WordChecks];
      end
      if (flip_wdata && flip_word[BankBits-1:0] == bank_t'(b)) begin
        wdata[64*32'(flip_granule)+:64] = wdata[64*32'(flip_granule)+:64] ^ flip_i.data;
        wcheck[8*32'(flip_granule)+:8] = wcheck[8*32'(flip_granule)+:8] ^ flip_i.check;
      end
      flip = '0;
      flip[flip_granule] = flip_i.now && flip_word[BankBits-1:0] == bank_t'(b);
    end

    ram_1r1w #(
      .Words(VmemWords / VmemBanks), .Granules(Granules), .DataBits(64), .CheckBits(8)
    ) u_ram (
      .clk_i, .read_i(read[b]), .raddr_i(raddr[b]), .rdata_o(ram_data), .rcheck_o(ram_check),
      .write_i(write[b]), .waddr_i(waddr[b]), .wdata_i(wdata), .wcheck_i(wcheck),
      .flip_i(flip), .flip_addr_i(flip_word[AddrBits-1:BankBits]), .flip_data_i(flip_i.data),
      .flip_check_i(flip_i.check));

    // A read sees what is written in its cycle.
    always_ff @(posedge clk_i) begin
      if (read[b]) late_q <= meets ? write[b] : '0;
      if (meets) begin
        late_data_q <= wdata;
        late_check_q <= wcheck;
      end
    end
    always_comb begin
      bank_data[b] = ram_data;
      bank_check[b] = ram_check;
      if (late_q != '0)
        for (int unsigned g = 0; g < Granules; g++)
          if (late_q[g]) begin
            bank_data[b][64*g+:64] = late_data_q[64*g+:64];
            bank_check[b][8*g+:8] = late_check_q[8*g+:8];
          end
    end
  end

  // ---------------------------------------------------------------- what the ports show
  logic [NumMxu-1:0]    x_en_q, w_en_q;             // the port has read in the last cycle
  bank_t                x_bank_q[NumMxu], w_bank_q[NumMxu];
  logic [Sublanes-1:0]  va_en_q, vb_en_q;
  logic                 va_pair_q, vb_pair_q;
  bank_t                va_bank_q[Sublanes], vb_bank_q[Sublanes], dr_bank_q;
  logic [DmaWords-1:0]  dr_en_q;
  logic [15:0]          corrected, poisoned;

  always_ff @(posedge clk_i) begin
    x_en_q <= x_en_i;
    w_en_q <= w_en_i;
    va_en_q <= va_en_i;
    vb_en_q <= vb_en_i;
    va_pair_q <= va_i.pair;
    vb_pair_q <= vb_i.pair;
    dr_bank_q <= dr_i.addr[BankBits-1:0];
    for (int unsigned i = 0; i < DmaWords; i++)
      dr_en_q[i] <= dr_en_i && CountBits'(i) < dr_i.words;
  end
  for (genvar u = 0; u < NumMxu; u++) begin : gen_mxu
    always_ff @(posedge clk_i) begin
      x_bank_q[u] <= x_addr_i[u][BankBits-1:0];
      w_bank_q[u] <= w_addr_i[u][BankBits-1:0];
    end
  end

  for (genvar s = 0; s < Sublanes; s++) begin : gen_row
    always_ff @(posedge clk_i) begin
      va_bank_q[s] <= va_i.addr[s][BankBits-1:0];
      vb_bank_q[s] <= vb_i.addr[s][BankBits-1:0];
    end
  end

  // Is some granule of a word wrong? The quick question, most often answered with no.
  function automatic logic any_error(input logic [WordBits-1:0] data,
                                     input logic [WordChecks-1:0] check);
    /* verilator no_inline_task */
    logic [31:0] seen, stored[Granules];
    seen = 32'd0;
    for (int unsigned g = 0; g < Granules; g++) stored[g] = 32'(check[8*g+:8]);
    for (int unsigned g = 0; g < Granules; g++)
      seen = seen | (secded_pkg::check64({data[64*g+32+:32], data[64*g+:32]}) ^ stored[g]);
    any_error = seen != 32'd0;
  endfunction

  // Corrects a word. poison: granules that cannot be; count: how many were.
  task automatic repair(input logic [WordBits-1:0] stored, input logic [WordChecks-1:0] check,
                        output logic [WordBits-1:0] data, output logic [Granules-1:0] poison,
                        output logic [15:0] count);
    /* verilator no_inline_task */
    count = '0;
    for (int unsigned g = 0; g < Granules; g++) begin
      logic [7:0] syndrome;
      logic [63:0] error;
      syndrome = 8'(secded_pkg::check64(stored[64*g+:64])) ^ check[8*g+:8];
      error = secded_pkg::error64(syndrome);
      data[64*g+:64] = stored[64*g+:64] ^ error;
      poison[g] = syndrome != 8'd0 && error == '0 && !secded_pkg::check_error(syndrome);
      if (syndrome != 8'd0 && !poison[g]) count = count + 16'd1;
    end
  endtask

  // The word that a bank shows; valid: the port has read it.
  task automatic show(input logic valid, input bank_t bank, output logic [WordBits-1:0] data,
                      output logic [Granules-1:0] poison);
    logic [15:0] count;
    data = '0;
    poison = '0;
    if (valid) begin
      data = bank_data[bank];
      if (any_error(bank_data[bank], bank_check[bank])) begin
        repair(bank_data[bank], bank_check[bank], data, poison, count);
        corrected = corrected + count;
        poisoned = poisoned + 16'($countones(poison));
      end
    end
  endtask

  always_comb begin
    corrected = '0;
    poisoned = '0;
    for (int unsigned u = 0; u < NumMxu; u++)
      show(x_en_q[u], x_bank_q[u], x_o.data[u], x_o.poison[u]);
    for (int unsigned u = 0; u < NumMxu; u++)
      show(w_en_q[u], w_bank_q[u], w_o.data[u], w_o.poison[u]);
    va_o = $bits(va_o)'(1'b0);
    if (va_en_q != '0)
      for (int unsigned s = 0; s < Sublanes; s++)
        for (int unsigned i = 0; i < 2; i++)
          show(va_en_q[s] && (i == 0 || va_pair_q), va_bank_q[s] + bank_t'(i),
               va_o.data[s][i*WordBits+:WordBits], va_o.poison[s][i*Granules+:Granules]);
    vb_o = $bits(vb_o)'(1'b0);
    if (vb_en_q != '0)
      for (int unsigned s = 0; s < Sublanes; s++)
        for (int unsigned i = 0; i < 2; i++)
          show(vb_en_q[s] && (i == 0 || vb_pair_q), vb_bank_q[s] + bank_t'(i),
               vb_o.data[s][i*WordBits+:WordBits], vb_o.poison[s][i*Granules+:Granules]);
    for (int unsigned i = 0; i < DmaWords; i++)
      show(dr_en_q[i], dr_bank_q + bank_t'(i), dr_o.data[i*WordBits+:WordBits],
           dr_o.poison[i*Granules+:Granules]);
    cnt_corrected_o = corrected;
    cnt_poison_o = poisoned;
  end

  logic unused_bits;
  assign unused_bits = &{1'b0, flip_i.granule};
endmodule
`default_nettype wire
