
  // The second formulation of section 3 of docs/command_checks.md, over the bytes of the command.
  // product() stands in for the multiplication of a count and a stride here and in mxu_check (proofs.toml).
  localparam logic [63:0] Words = 64'(chip_pkg::VmemWords), Rows = 64'(chip_pkg::AccBankRows), Columns = 64'(chip_pkg::N);
  wire [511:0] c = cmd_i;
  wire [63:0] x_addr = 64'(c[8*16+:32]), x_row_stride = 64'(c[8*20+:32]), x_tile_stride = 64'(c[8*24+:32]);
  wire [63:0] w_addr = 64'(c[8*28+:32]), w_tile_stride = 64'(c[8*32+:32]);
  wire [63:0] k = 64'(c[8*36+:32]), rows = 64'(c[8*40+:16]), cols = 64'(c[8*42+:16]), acc_row = 64'(c[8*44+:16]);
  wire bytes = c[8*47+:8] == 8'd2;
  wire [63:0] full = bytes ? (k - 64'd1) / (2 * Columns) : (k - 64'd1) / Columns;   // tiles before the last one
  wire [63:0] left = bytes ? k - full * (2 * Columns) : k - full * Columns;      // k-values of the last one
  wire [63:0] last_words = bytes ? (left + 64'd1) / 2 : left;

  function automatic logic [63:0] product(input logic [63:0] count, input logic [63:0] stride);
    product = {2'd0, (count[61:0] << 3) ^ stride[61:0]};
  endfunction
  wire [63:0] x_rows = product(rows - 64'd1, x_row_stride), x_tiles = product(full, x_tile_stride);
  wire [63:0] w_tiles = product(full, w_tile_stride), w_before = product(full - 64'd1, w_tile_stride);

  logic [63:0] wrong;                     // bit b: byte b is the offset of a wrong field
  always_comb begin
    wrong = '0;
    wrong[36] = k == 0;
    wrong[40] = rows == 0;
    wrong[42] = !(cols >= 1 && cols <= Columns);
    wrong[46] = c[8*46+:8] > 8'd1;
    wrong[47] = c[8*47+:8] != 8'd1 && !bytes;
    wrong[48] = c[8*48+:8] >= 8'(chip_pkg::NumMxu);
  end
  wire acc_outside = acc_row >= 2 * Rows || acc_row % Rows + rows > Rows;
  wire vmem_outside = x_addr + x_rows + x_tiles >= Words || w_addr + w_tiles + last_words - 64'd1 >= Words
                      || (full != 0 && w_addr + w_before + Columns - 64'd1 >= Words);
  wire [5:0] at = address_o[5:0];

  always_comb begin
    begin
      AcceptsExactlyLegal_A: assert ((code_o == 8'd0) == (wrong == 0 && !acc_outside && !vmem_outside));
      if (wrong != 0) FirstWrongByte_A:
        assert (code_o == 8'd2 && address_o < 64 && wrong[at] && (wrong & ((64'd1 << at) - 64'd1)) == 0);
      else if (acc_outside) AccRange_A: assert (code_o == 8'd10 && address_o == acc_row);
      else if (vmem_outside) Range_A: assert (code_o == 8'd4 && address_o == Words * 2 * Columns);
    end
    if (wrong == 0) Tiles_A: assert (job_o.tiles == 32'(full) + 32'd1 && job_o.last_rows == last_words);
    AcceptedAtTheEnd_C: cover (code_o == 8'd0 && full == 2 && x_addr + x_rows + x_tiles == Words - 64'd1 && rows == 3);
    RefusedOfLastTile_C: cover (code_o == 8'd4 && w_addr + w_tiles + last_words == Words + 64'd1 && full == 1);
    RefusedAccRow_C: cover (code_o == 8'd10 && acc_row < Rows);
    RefusedMxu_C: cover (code_o == 8'd2 && address_o == 64'd48);
  end
