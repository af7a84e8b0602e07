`default_nettype none
// One RAM: a read and a write port of one clock, a write enable for each granule of data and check
// bits. This is the form that is simulated; macro/ram_1r1w.sv is the one that is synthesised.
//
// Data follow the read in the next cycle and stay until the next read. A granule that is read in
// the cycle in which it is written reads as noise, check bits included: who needs it brings a
// bypass. Nothing is reset.
module ram_1r1w #(
  parameter int unsigned Words = 64,
  parameter int unsigned Granules = 2,       // of a word
  parameter int unsigned DataBits = 64,      // of a granule: a multiple of 32
  parameter int unsigned CheckBits = 8,
  localparam int unsigned AddrBits = $clog2(Words),
  localparam int unsigned WordBits = Granules * DataBits,
  localparam int unsigned WordChecks = Granules * CheckBits
) (
  input  wire logic                  clk_i,
  // read
  input  wire logic                  read_i,
  input  wire logic [AddrBits-1:0]   raddr_i,
  output logic [WordBits-1:0]        rdata_o,
  output logic [WordChecks-1:0]      rcheck_o,
  // write
  input  wire logic [Granules-1:0]   write_i,
  input  wire logic [AddrBits-1:0]   waddr_i,
  input  wire logic [WordBits-1:0]   wdata_i,
  input  wire logic [WordChecks-1:0] wcheck_i,
  // upset: bits of one granule flip; no part of the macro
  input  wire logic [Granules-1:0]   flip_i,
  input  wire logic [AddrBits-1:0]   flip_addr_i,
  input  wire logic [DataBits-1:0]   flip_data_i,
  input  wire logic [CheckBits-1:0]  flip_check_i
);
  /* verilator inline_module */
  logic [WordBits-1:0]   words[Words] /* verilator public_flat_rd */;
  logic [WordChecks-1:0] checks[Words] /* verilator public_flat_rd */;
  logic [31:0]           noise_q;            // another number after each read beside a write

  // The bits of the granules that are set.
  function automatic logic [WordBits-1:0] data_mask(input logic [Granules-1:0] granules);
    for (int unsigned g = 0; g < Granules; g++)
      data_mask[g*DataBits+:DataBits] = granules[g] ? '1 : '0;
  endfunction
  function automatic logic [WordChecks-1:0] check_mask(input logic [Granules-1:0] granules);
    for (int unsigned g = 0; g < Granules; g++)
      check_mask[g*CheckBits+:CheckBits] = granules[g] ? '1 : '0;
  endfunction

  function automatic logic [WordChecks-1:0] check_noise();
    check_noise = WordChecks'({(WordChecks + 31) / 32{noise_q}});
  endfunction

  // What a word holds after this cycle's write.
  function automatic logic [WordBits-1:0] data_after(input logic [AddrBits-1:0] addr);
    data_after = words[addr];
    if (write_i != '0 && waddr_i == addr)
      data_after = (data_after & ~data_mask(write_i)) | (wdata_i & data_mask(write_i));
  endfunction
  function automatic logic [WordChecks-1:0] check_after(input logic [AddrBits-1:0] addr);
    check_after = checks[addr];
    if (write_i != '0 && waddr_i == addr)
      check_after = (check_after & ~check_mask(write_i)) | (wcheck_i & check_mask(write_i));
  endfunction

  wire meets = read_i && write_i != '0 && raddr_i == waddr_i;

  always_ff @(posedge clk_i) begin
    if (read_i) begin
      rdata_o <= words[raddr_i];
      rcheck_o <= checks[raddr_i];
    end
    if (meets) begin
      rdata_o <= words[raddr_i] ^ ({WordBits / 32{noise_q}} & data_mask(write_i));
      rcheck_o <= checks[raddr_i] ^ (check_noise() & check_mask(write_i));
      noise_q <= ram_pkg::next_noise(noise_q);
    end
    if (write_i == '1) begin
      words[waddr_i] <= wdata_i;
      checks[waddr_i] <= wcheck_i;
    end else if (write_i != '0) begin
      words[waddr_i] <= data_after(waddr_i);
      checks[waddr_i] <= check_after(waddr_i);
    end
    if (flip_i != '0) begin
      words[flip_addr_i] <= data_after(flip_addr_i) ^ ({Granules{flip_data_i}} & data_mask(flip_i));
      checks[flip_addr_i] <= check_after(flip_addr_i)
                           ^ ({Granules{flip_check_i}} & check_mask(flip_i));
    end
  end
endmodule
`default_nettype wire
