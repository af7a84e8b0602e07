
  // The second formulation of section 1 of docs/command_checks.md: tables of opcodes and lengths, legality as a
  // conjunction over bytes, the reported field as the first byte of the command that is wrong.
  logic [63:0] wrong;                     // bit b: byte b is the offset of a wrong field
  logic known, any_wait_post;
  logic [63:0] unused;                    // bit b: byte b is reserved
  wire [7:0] op = cmd_i[7:0];
  wire [7:0] ws0 = cmd_i[39:32], ws1 = cmd_i[47:40], ps0 = cmd_i[55:48], ps1 = cmd_i[63:56];
  // a remote COPY of dma_out: alone, with an addition in f32, or in bf16
  wire [7:0] fl = cmd_i[15:8];
  wire remote_ok = in_slice_i && Queue == 3'd3 && op == 8'h10 && (fl == 8'h04 || fl == 8'h0c || fl == 8'h14);
  wire [15:0] wc0 = cmd_i[79:64], wc1 = cmd_i[95:80], pc0 = cmd_i[111:96], pc1 = cmd_i[127:112];

  function automatic logic legal_pair(input logic [7:0] sem, input logic [15:0] count);
    legal_pair = (sem == 8'hff && count == 16'd0) || (sem <= 8'd63 && count >= 16'd1);
  endfunction

  always_comb begin
    known = 1'b0;
    unused = 64'h0;
    case (Queue)
      3'd0, 3'd3: begin
        known = op == 8'h10 || op == 8'h11 || op == (Queue == 3'd0 ? 8'h12 : 8'h13);
        if (op == 8'h12 || op == 8'h13) unused = 64'hff0f_0000_000c_0000;
      end
      3'd1: begin known = op == 8'h20; unused = ~64'h1_ffff_ffff_ffff; end
      3'd2: begin known = op >= 8'h30 && op <= 8'h34; unused = 64'hc080_0000_0000_0000; end
      3'd4: begin
        known = op == 8'h40 || op == 8'h41 || op == 8'h42 || (in_slice_i && op == 8'h43);
        unused = op == 8'h43 ? ~64'hf_3fff_ffff : ~64'hffff;
      end
      default: known = 1'b0;
    endcase
    wrong = 64'd0;
    for (int unsigned b = 0; b < 64; b++) begin
      if (unused[b]) wrong[b] = cmd_i[8*b+:8] != 8'd0;
    end
    wrong[1] = fl != 8'd0 && !remote_ok;
    // the semaphores are looked at when all reserved bytes are zero
    if (wrong == 64'd0) begin
      wrong[4] = !legal_pair(ws0, wc0);
      wrong[5] = !legal_pair(ws1, wc1) || (ws0 != 8'hff && ws0 == ws1);
      wrong[6] = !legal_pair(ps0, pc0) || (op == 8'h41 && ps0 != 8'hff);
      wrong[7] = !legal_pair(ps1, pc1) || (ps0 != 8'hff && ps0 == ps1) || (op == 8'h41 && ps1 != 8'hff)
                 || (remote_ok && ps1 != 8'hff && ps1 < 8'd48);
    end
  end

  wire [5:0] at = address_o[5:0];
  always_comb begin
    assume (Queue <= 3'd4);
    if (!valid_i) begin
      SilentWhenIdle_A: assert (!fault_o && code_o == 8'd0 && address_o == 64'd0);
    end else if (!known) begin
      UnknownOpcode_A: assert (fault_o && code_o == 8'd1 && address_o == {56'd0, op});
    end else begin
      AcceptsExactlyLegal_A: assert (fault_o == (wrong != 64'd0));
      if (fault_o) FirstWrongByte_A:
        assert (code_o == 8'd2 && address_o < 64 && wrong[at] && (wrong & ((64'd1 << at) - 64'd1)) == 64'd0);
      else NoCode_A: assert (code_o == 8'd0 && address_o == 64'd0);
    end
  end

  // each queue reaches each of these (without names, which Yosys 0.23 would give five times)
  for (genvar q = 0; q < 5; q++) begin : covers
    wire here = valid_i && Queue == 3'(q);
    always_comb begin
      /* accepted with all pairs */ cover (here && !fault_o && ws0 != 8'hff && ws1 != 8'hff && ps0 != 8'hff && ps1 != 8'hff);
      /* accepted in a slice */ cover (here && !fault_o && in_slice_i && (q == 3 ? fl == 8'h0c && ps1 == 8'd48 : q != 4 || op == 8'h43));
      /* refused for the last pair */ cover (here && fault_o && address_o == 64'd7 && code_o == 8'd2);
      /* for a flag */ cover (here && fault_o && address_o == 64'd1 && code_o == 8'd2);
      /* for its opcode */ cover (here && fault_o && address_o == 64'h50 && code_o == 8'd1);
    end
  end
