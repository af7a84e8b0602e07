
  // The second formulation of section 4 of docs/command_checks.md, over the bytes of the command that was checked last.
  // product() stands in for (count - 1) x stride here and in vpu_check (proofs.toml).
  logic reset_done = 1'b0, checked_q = 1'b0, fresh_q = 1'b0;
  logic [511:0] c_q;
  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    fresh_q <= rst_ni && check_i;
    if (check_i) begin
      checked_q <= 1'b1;
      c_q <= cmd_i;
    end
  end

  function automatic logic [63:0] product(input logic [15:0] count, input logic [31:0] stride);
    product = count == 16'd1 ? 64'd0 : {29'd0, stride, 3'd0} ^ {48'd0, count};
  endfunction

  wire [7:0] opcode = c_q[0+:8], op = c_q[8*16+:8], space = c_q[8*17+:8], src = c_q[8*18+:8], dst = c_q[8*19+:8];
  wire [7:0] mode = c_q[8*52+:8], act = c_q[8*53+:8], axis = c_q[8*54+:8];
  wire [15:0] rows = c_q[8*20+:16], cols = c_q[8*22+:16], window = c_q[8*60+:16];
  wire [31:0] a_addr = c_q[8*24+:32], a_stride = c_q[8*28+:32], b_addr = c_q[8*32+:32], b_stride = c_q[8*36+:32];
  wire [31:0] d_addr = c_q[8*40+:32], d_stride = c_q[8*44+:32], scalar = c_q[8*48+:32], scalar2 = c_q[8*56+:32];

  wire kept = mode == 8'd5 || mode == 8'd6; // scalar2 is the word of a row

  // A row of the table: bits of sets are numbered by value, types are f32 1, bf16 2, i32 3, i8 4.
  localparam logic [4:0] F32 = 5'd2, Bf16 = 5'd4, I32 = 5'd8, I8 = 5'd16;
  logic known;                                     // the table has a row
  logic [4:0][4:0] to;                             // [source type]: destination types
  logic [6:0] modes;
  logic [3:0] acts;
  always_comb begin
    known = 1'b0;
    to = {5'd0, I32, Bf16, F32, 5'd0};             // each to the same
    modes = 7'b00001;
    acts = 4'b0001;
    unique case (opcode)
      8'd48: begin
        known = op <= 8'd5 || (op >= 8'd9 && op <= 8'd24) || (op >= 8'd26 && op <= 8'd36);
        to[1] = F32 | Bf16;
        if (op == 8'd0) acts = src == 8'd3 ? 4'b1011 : 4'b1111;
        else if (op <= 8'd17) modes = 7'b11110;
        else if (op <= 8'd23) to[3] = 5'd0;
        else if (op <= 8'd35) to = {5'd0, I32, 15'd0};
        if (op >= 8'd26) modes = op == 8'd36 ? 7'b00111 : 7'b11110;
      end
      8'd49: known = op >= 8'd6 && op <= 8'd8;
      8'd50: known = op == 8'd0;
      8'd51: begin
        known = op == 8'd0 || op == 8'd25;
        to = op == 8'd0 ? {5'd0, I32 | I8, 5'd0, F32 | Bf16, 5'd0} : {5'd0, I8, 15'd0};
        modes = dst == 8'd4 ? 7'b1010111 : 7'b0110111;
        acts = dst == 8'd4 || kept ? 4'b0011 : src == 8'd3 ? 4'b1011 : 4'b1111;
      end
      8'd52: begin
        known = op == 8'd0 || op == 8'd25;
        to = {F32 | I32, F32 | I8, F32, Bf16 | I32 | I8, 5'd0};
        if (op == 8'd25) to[3:0] = '0;
        if (dst == 8'd4) modes = 7'b00011;
      end
      default: ;
    endcase
  end
  wire [4:0] targets = src <= 8'd4 ? to[src[2:0]] : 5'd0;
  wire wide_src = src == 8'd1 || src == 8'd3, wide_dst = dst == 8'd1 || dst == 8'd3;

  logic [63:0] wrong, crooked;                     // bit b: byte b is the offset of such a field
  always_comb begin
    wrong = '0;
    wrong[16] = !known;
    wrong[17] = space != (opcode == 8'd51 ? 8'd1 : 8'd0);
    wrong[18] = targets == 0;
    wrong[19] = dst > 8'd4 || !targets[dst[2:0]];
    wrong[20] = rows == 0 || (opcode == 8'd50 && rows > 16'(N));
    wrong[22] = !(cols >= 1 && cols <= 16'(N));
    wrong[24] = op == 8'd24 && a_addr != 0;
    wrong[28] = op == 8'd24 && a_stride != 0;
    wrong[32] = (mode == 8'd0 || mode == 8'd3) && b_addr != 0;
    wrong[36] = !(mode == 8'd1 || mode == 8'd4 || mode == 8'd5 || axis == 8'd1) && b_stride != 0;
    wrong[48] = op == 8'd36 ? scalar >= 32'(N) : dst == 8'd4 && opcode >= 8'd51 ? scalar != 32'(signed'(scalar[7:0])) : !(mode == 8'd3 || act == 8'd3 || op == 8'd24) && scalar != 0;
    wrong[52] = mode > 8'd6 || !modes[mode[2:0]];
    wrong[53] = act > 8'd3 || !acts[act[1:0]];
    wrong[54] = axis > 8'd1 || (axis == 8'd1 && opcode != 8'd49);
    wrong[56] = op == 8'd36 ? scalar2[15:0] >= scalar2[31:16] || scalar2[31:16] > 16'(N)
        : !((op >= 8'd9 && op <= 8'd11) || op == 8'd24 || act == 8'd2 || act == 8'd3 || dst == 8'd4 || kept) && scalar2 != 0;
    wrong[60] = (axis == 8'd1) == (window == 0);
    crooked = '0;
    crooked[24] = wide_src && space == 8'd0 && a_addr % 2 == 1;
    crooked[28] = wide_src && space == 8'd0 && a_stride % 2 == 1;
    crooked[32] = wide_src && b_addr % 2 == 1;
    crooked[36] = wide_src && b_stride % 2 == 1;
    crooked[40] = wide_dst && d_addr % 2 == 1;
    crooked[44] = wide_dst && d_stride % 2 == 1;
    crooked[56] = kept && scalar2 % 2 == 1;
  end

  localparam logic [63:0] Words = 64'(VmemWords);
  wire [63:0] a_row = 64'(a_addr) + product(rows, a_stride);
  wire [63:0] a_word = a_row + (axis == 8'd1 ? product(window, b_stride) : 64'd0) + 64'(wide_src);
  wire [15:0] column_rows = rows % 16'(N) == 0 ? rows / 16'(N) : rows / 16'(N) + 16'd1;
  wire [63:0] b_word = 64'(b_addr) + 64'(wide_src)
      + (mode == 8'd1 || mode == 8'd5 ? product(rows, b_stride) : mode == 8'd4 ? product(column_rows, b_stride) : 64'd0);
  wire [63:0] d_word = 64'(d_addr) + 64'(wide_dst) + product(opcode == 8'd50 ? cols : rows, d_stride);
  wire acc_outside = opcode == 8'd51 && (64'(a_addr) >= 64'(2 * AccBankRows * NumMxu) || a_row >= 64'(2 * AccBankRows * NumMxu));
  wire vmem_outside = (opcode != 8'd51 && a_word >= Words) || (mode inside {8'd1, 8'd2, [8'd4:8'd6]} && b_word >= Words)
      || d_word >= Words || (kept && 64'(scalar2) + 64'd1 >= Words);
  wire built = opcode >= 8'd48 && opcode <= 8'd52;
  wire legal = built && (wrong | crooked) == 0 && !acc_outside && !vmem_outside;
  wire [5:0] at = fault_address_o[5:0];
  wire [63:0] before_at = (64'd1 << at) - 64'd1;

  always_comb begin
    if (!reset_done) assume (!rst_ni);
`ifdef OPCODE
    assume (cmd_i.opcode == 8'd`OPCODE);
    if (checked_q) SameOpcode_A: assert (opcode == 8'd`OPCODE);
`endif
    if (reset_done) VerdictInNextCycle_A: assert (verdict_valid_o == fresh_q);
    if (checked_q) begin
      AcceptsExactlyLegal_A: assert (legal_o == legal && (fault_code_o == 8'd0) == legal);
      if (!built) Opcode_A: assert (fault_code_o == 8'd1 && fault_address_o == 64'(opcode));
      else if (wrong != 0) FirstWrongByte_A:
        assert (fault_code_o == 8'd2 && fault_address_o < 64 && wrong[at] && (wrong & before_at) == 0);
      else if (crooked != 0) Alignment_A:
        assert (fault_code_o == 8'd3 && fault_address_o < 64 && crooked[at] && (crooked & before_at) == 0);
      else if (acc_outside) AccRange_A: assert (fault_code_o == 8'd10 && fault_address_o == 64'(a_addr));
      else if (vmem_outside) Range_A: assert (fault_code_o == 8'd4 && fault_address_o == Words * 64'(WordBytes));
    end
    AcceptedAtTheEnd_C: cover (checked_q && legal_o && d_word == Words - 64'd1 && rows == 16'd3);
    RefusedLastField_C: cover (checked_q && fault_code_o == 8'd2 && fault_address_o == 64'd60);
    RefusedAlignment_C: cover (checked_q && fault_code_o == 8'd3 && fault_address_o == 64'd44);
    RefusedRange_C: cover (checked_q && fault_code_o == 8'd4 && d_word == Words);
  end
