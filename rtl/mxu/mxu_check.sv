`default_nettype none
// Checks a MATMUL (docs/command_checks.md, section 3) and derives its tiles. Combinational.
module mxu_check (
  input  wire weft_pkg::mxu_cmd_t cmd_i,
  output logic [7:0]              code_o,       // FaultNone: legal
  output logic [63:0]             address_o,
  output mxu_pkg::job_t           job_o
);
  import weft_pkg::*;
  import mxu_pkg::*;

  localparam logic [16:0] BankRows = 17'(chip_pkg::AccBankRows);
  localparam logic [63:0] VmemWords = 64'(chip_pkg::VmemWords);

  // Byte offset of the field whose bits are set.
  function automatic logic [63:0] offset_of(input mxu_cmd_t field);
    offset_of = 64'd0;
    for (int unsigned b = CmdBits / 8; b != 0; b--) begin
      if (field[9'(8*b-8)+:8] != 8'd0) offset_of = {32'd0, b - 32'd1};
    end
  endfunction
  localparam logic [63:0] OffsetK = offset_of('{k: '1, default: '0});
  localparam logic [63:0] OffsetM = offset_of('{m: '1, default: '0});
  localparam logic [63:0] OffsetCols = offset_of('{cols: '1, default: '0});
  localparam logic [63:0] OffsetSeed = offset_of('{seed: '1, default: '0});
  localparam logic [63:0] OffsetDtype = offset_of('{dtype: '1, default: '0});
  localparam logic [63:0] OffsetMxu = offset_of('{mxu: '1, default: '0});

  logic        int8;
  logic [32:0] pe_rows;                 // over all tiles
  logic [31:0] tiles;
  count_t      last_rows;
  logic [63:0] x_last, w_last, w_last_full;
  logic [16:0] bank_end;

  always_comb begin
    int8 = cmd_i.dtype == MxuDtypeInt8;
    pe_rows = int8 ? ({1'b0, cmd_i.k} + 33'd1) >> 1 : {1'b0, cmd_i.k};
    tiles = 32'((pe_rows + 33'(N - 1)) >> LaneBits);
    last_rows = count_t'(pe_rows - (33'(tiles) - 33'd1) * 33'(N));
    // no sum below exceeds 62 bits
    x_last = 64'(cmd_i.x_addr) + (64'(cmd_i.m) - 64'd1) * 64'(cmd_i.x_row_stride)
           + (64'(tiles) - 64'd1) * 64'(cmd_i.x_tile_stride);
    w_last = 64'(cmd_i.w_addr) + (64'(tiles) - 64'd1) * 64'(cmd_i.w_tile_stride)
           + 64'(last_rows) - 64'd1;
    w_last_full = 64'd0;
    if (tiles > 32'd1) begin
      w_last_full = 64'(cmd_i.w_addr) + (64'(tiles) - 64'd2) * 64'(cmd_i.w_tile_stride)
                  + 64'(N) - 64'd1;
    end
    bank_end = (17'(cmd_i.acc_row) & (BankRows - 17'd1)) + 17'(cmd_i.m);
  end

  always_comb begin
    code_o = FaultNone;
    address_o = 64'd0;
    if (cmd_i.k == 32'd0) begin
      code_o = FaultIllegalField;
      address_o = OffsetK;
    end else if (cmd_i.m == 16'd0) begin
      code_o = FaultIllegalField;
      address_o = OffsetM;
    end else if (cmd_i.cols == 16'd0 || cmd_i.cols > 16'(N)) begin
      code_o = FaultIllegalField;
      address_o = OffsetCols;
    end else if (cmd_i.seed != MxuSeedZero && cmd_i.seed != MxuSeedKeep) begin
      code_o = FaultIllegalField;
      address_o = OffsetSeed;
    end else if (cmd_i.dtype != MxuDtypeBf16 && cmd_i.dtype != MxuDtypeInt8) begin
      code_o = FaultIllegalField;
      address_o = OffsetDtype;
    end else if (cmd_i.mxu >= 8'(chip_pkg::NumMxu)) begin
      code_o = FaultIllegalField;
      address_o = OffsetMxu;
    end else if (cmd_i.acc_row >= 16'(AccRows) || bank_end > BankRows) begin
      code_o = FaultAccRange;
      address_o = 64'(cmd_i.acc_row);
    end else if (x_last >= VmemWords || w_last >= VmemWords || w_last_full >= VmemWords) begin
      code_o = FaultRange;
      address_o = VmemWords * 64'(chip_pkg::WordBytes);
    end
  end

  assign job_o = '{
      x_addr: addr_t'(cmd_i.x_addr),
      x_row_stride: addr_t'(cmd_i.x_row_stride),
      x_tile_stride: addr_t'(cmd_i.x_tile_stride),
      w_addr: addr_t'(cmd_i.w_addr),
      w_tile_stride: addr_t'(cmd_i.w_tile_stride),
      tiles: tiles,
      last_rows: last_rows,
      odd: int8 & cmd_i.k[0],
      m: cmd_i.m,
      acc_row: acc_row_t'(cmd_i.acc_row),
      cols: count_t'(cmd_i.cols),
      keep: cmd_i.seed == MxuSeedKeep,
      int8: int8
  };

  // opcode, flags, semaphores and reserved bytes are core/'s to check
  logic unused_header;
  assign unused_header = &{1'b0, cmd_i.opcode, cmd_i.flags, cmd_i.tag, cmd_i.wait_sem0,
                           cmd_i.wait_sem1, cmd_i.post_sem0, cmd_i.post_sem1, cmd_i.wait_count0,
                           cmd_i.wait_count1, cmd_i.post_count0, cmd_i.post_count1,
                           cmd_i.reserved0};
endmodule
`default_nettype wire
