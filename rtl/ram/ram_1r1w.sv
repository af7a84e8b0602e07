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

  wire meets = read_i && write_i != '0 && raddr_i == waddr_i;

  // No functions, and one delayed assignment for all writes: Verilator clears the result of a
  // function, and what is about to be stored, at the start of every cycle.
  always_ff @(posedge clk_i) begin
    logic [WordBits-1:0]   shown, data, upset;
    logic [WordChecks-1:0] shown_check, check, upset_check;
    if (read_i) begin
      rdata_o <= words[raddr_i];
      rcheck_o <= checks[raddr_i];
    end
    if (meets) begin
      shown = words[raddr_i];
      shown_check = checks[raddr_i];
      for (int unsigned g = 0; g < Granules; g++)
        if (write_i[g]) begin
          shown[g*DataBits+:DataBits] = shown[g*DataBits+:DataBits] ^ {DataBits / 32{noise_q}};
          shown_check[g*CheckBits+:CheckBits] = shown_check[g*CheckBits+:CheckBits]
                                              ^ CheckBits'(noise_q >> (g * CheckBits % 32));
        end
      rdata_o <= shown;
      rcheck_o <= shown_check;
      noise_q <= ram_pkg::next_noise(noise_q);
    end
    if (write_i != '0) begin
      data = wdata_i;
      check = wcheck_i;
      if (write_i != '1)
        for (int unsigned g = 0; g < Granules; g++)
          if (!write_i[g]) begin
            data[g*DataBits+:DataBits] = words[waddr_i][g*DataBits+:DataBits];
            check[g*CheckBits+:CheckBits] = checks[waddr_i][g*CheckBits+:CheckBits];
          end
      words[waddr_i] <= data;
      checks[waddr_i] <= check;
    end
    if (flip_i != '0) begin
      upset = write_i != '0 && waddr_i == flip_addr_i ? data : words[flip_addr_i];
      upset_check = write_i != '0 && waddr_i == flip_addr_i ? check : checks[flip_addr_i];
      for (int unsigned g = 0; g < Granules; g++)
        if (flip_i[g]) begin
          upset[g*DataBits+:DataBits] = upset[g*DataBits+:DataBits] ^ flip_data_i;
          upset_check[g*CheckBits+:CheckBits] = upset_check[g*CheckBits+:CheckBits] ^ flip_check_i;
        end
      words[flip_addr_i] <= upset;
      checks[flip_addr_i] <= upset_check;
    end
  end
endmodule
`default_nettype wire
