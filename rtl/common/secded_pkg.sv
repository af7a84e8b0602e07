// verilator lint_off UNUSEDPARAM
`default_nettype none
// SECDED: single errors corrected, double errors detected. Two Hsiao codes: 64 + 8 and 32 + 7 bits.
//
// The trick: every bit of a codeword has its own syndrome of odd weight (a check bit of weight 1, a
// data bit of 3 or 5), so one error is told by its syndrome and two, whose sum has even weight, by
// none. Parity is linear: zero is a codeword, and a flip's syndrome does not depend on the data.
// All functions are combinational, on 32-bit lanes, so that a loop over granules becomes vector
// instructions. Yosys 0.23 reads them.
package secded_pkg;
  localparam int unsigned Check64Bits = 8;
  localparam int unsigned Check32Bits = 7;

  // Rows of the parity check matrices: the data bits that check bit i covers. Columns ascend: 56 of
  // weight 3, then 8 of weight 5, 26 ones a row; of 32 + 7: weight 3, 13 or 14 ones a row.
  localparam logic [63:0] Row64B0 = 64'h7904225844b12cb7;
  localparam logic [63:0] Row64B1 = 64'h3b0844a88952555b;
  localparam logic [63:0] Row64B2 = 64'h1f10893112649a6d;
  localparam logic [63:0] Row64B3 = 64'h8f2111c22388e38e;
  localparam logic [63:0] Row64B4 = 64'hc7421e043c0f03f0;
  localparam logic [63:0] Row64B5 = 64'he683e007c00ffc00;
  localparam logic [63:0] Row64B6 = 64'hf4fc0007fff00000;
  localparam logic [63:0] Row64B7 = 64'hf8fffff800000000;
  localparam logic [31:0] Row32B0 = 32'h112c4b5b;
  localparam logic [31:0] Row32B1 = 32'h225495ad;
  localparam logic [31:0] Row32B2 = 32'h44992636;
  localparam logic [31:0] Row32B3 = 32'h88e238c7;
  localparam logic [31:0] Row32B4 = 32'h0f03c0f8;
  localparam logic [31:0] Row32B5 = 32'hf003ff00;
  localparam logic [31:0] Row32B6 = 32'hfffc0000;

  // The data bits of one row, both halves folded to 32; their parity is the check bit.
  function automatic logic [31:0] covered(input logic [63:0] data, input logic [63:0] row);
    logic [63:0] bits;
    bits = data & row;
    covered = bits[31:0] ^ bits[63:32];
  endfunction

  // Parities of eight words at once, that of word i in bit i: each step folds the words to half
  // their width and puts two of them side by side.
  function automatic logic [31:0] parities(
      input logic [31:0] w0, input logic [31:0] w1, input logic [31:0] w2, input logic [31:0] w3,
      input logic [31:0] w4, input logic [31:0] w5, input logic [31:0] w6, input logic [31:0] w7);
    logic [31:0] h04, h26, h15, h37, even, odd, all;
    h04  = ((w0 ^ (w0 >> 16)) & 32'h0000ffff) | ((w4 ^ (w4 << 16)) & 32'hffff0000);
    h26  = ((w2 ^ (w2 >> 16)) & 32'h0000ffff) | ((w6 ^ (w6 << 16)) & 32'hffff0000);
    h15  = ((w1 ^ (w1 >> 16)) & 32'h0000ffff) | ((w5 ^ (w5 << 16)) & 32'hffff0000);
    h37  = ((w3 ^ (w3 >> 16)) & 32'h0000ffff) | ((w7 ^ (w7 << 16)) & 32'hffff0000);
    even = ((h04 ^ (h04 >> 8)) & 32'h00ff00ff) | ((h26 ^ (h26 << 8)) & 32'hff00ff00);
    odd  = ((h15 ^ (h15 >> 8)) & 32'h00ff00ff) | ((h37 ^ (h37 << 8)) & 32'hff00ff00);
    all  = ((even ^ (even >> 4)) & 32'h0f0f0f0f) | ((odd ^ (odd << 4)) & 32'hf0f0f0f0);
    all  = (all ^ (all >> 2)) & 32'h33333333;
    all  = (all ^ (all >> 1)) & 32'h11111111;
    // one bit a nibble to one byte
    all  = (all | (all >> 3)) & 32'h03030303;
    all  = (all | (all >> 6)) & 32'h000f000f;
    parities = (all | (all >> 12)) & 32'h000000ff;
  endfunction

  // Check bits of 64 data bits, of 32 data bits; xor with the stored ones gives the syndrome.
  function automatic logic [31:0] check64(input logic [63:0] data);
    check64 = parities(covered(data, Row64B0), covered(data, Row64B1), covered(data, Row64B2),
                       covered(data, Row64B3), covered(data, Row64B4), covered(data, Row64B5),
                       covered(data, Row64B6), covered(data, Row64B7));
  endfunction
  function automatic logic [31:0] check32(input logic [31:0] data);
    check32 = parities(data & Row32B0, data & Row32B1, data & Row32B2, data & Row32B3,
                       data & Row32B4, data & Row32B5, data & Row32B6, 32'd0);
  endfunction

  // The data bit with this syndrome; 0 if none has it.
  function automatic logic [63:0] error64(input logic [7:0] syndrome);
    error64 = (syndrome[0] ? Row64B0 : ~Row64B0) & (syndrome[1] ? Row64B1 : ~Row64B1)
            & (syndrome[2] ? Row64B2 : ~Row64B2) & (syndrome[3] ? Row64B3 : ~Row64B3)
            & (syndrome[4] ? Row64B4 : ~Row64B4) & (syndrome[5] ? Row64B5 : ~Row64B5)
            & (syndrome[6] ? Row64B6 : ~Row64B6) & (syndrome[7] ? Row64B7 : ~Row64B7);
  endfunction
  function automatic logic [31:0] error32(input logic [6:0] syndrome);
    error32 = (syndrome[0] ? Row32B0 : ~Row32B0) & (syndrome[1] ? Row32B1 : ~Row32B1)
            & (syndrome[2] ? Row32B2 : ~Row32B2) & (syndrome[3] ? Row32B3 : ~Row32B3)
            & (syndrome[4] ? Row32B4 : ~Row32B4) & (syndrome[5] ? Row32B5 : ~Row32B5)
            & (syndrome[6] ? Row32B6 : ~Row32B6);
  endfunction

  // One check bit is wrong, no data bit.
  function automatic logic check_error(input logic [7:0] syndrome);
    check_error = syndrome != 8'd0 && (syndrome & (syndrome - 8'd1)) == 8'd0;
  endfunction
endpackage
`default_nettype wire
// verilator lint_on UNUSEDPARAM
