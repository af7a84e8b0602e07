
  // The second formulation of section 2 of docs/command_checks.md, over the bytes of the command that was taken last and
  // the segment that was looked up for it. stand_in() is what stride x steps becomes here and in dma_check (proofs.toml).
  logic reset_done = 1'b0;
  logic [2:0] age_q;                               // cycles since the command was taken; 0: there is none, 4: its verdict stands
  logic [511:0] c_q;
  segment_t seg_q;
  place_t place_q;
  logic first_q;                                   // the first cycle of the verdict
  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    if (!rst_ni) age_q <= 3'd0;
    else if (cmd_valid_i && cmd_ready_o) age_q <= 3'd1;
    else if (job_valid_o && job_ready_i) age_q <= 3'd0;
    else if (age_q != 3'd0 && age_q != 3'd4) age_q <= age_q + 3'd1;
    if (cmd_valid_i && cmd_ready_o) c_q <= cmd_i;
    if (age_q == 3'd3) seg_q <= segment_i;
    if (age_q == 3'd3) place_q <= place_i;
    first_q <= rst_ni && age_q == 3'd3;
  end

  function automatic logic signed [63:0] stand_in(input logic [31:0] stride, input logic [15:0] steps);
    stand_in = steps == 16'd0 ? 64'd0 : {{29{stride[31]}}, stride, 3'd0} ^ {48'd0, steps};
  endfunction
  function automatic logic signed [63:0] below(input logic signed [63:0] p);
    below = p[63] ? p : 64'sd0;
  endfunction
  function automatic logic signed [63:0] above(input logic signed [63:0] p);
    above = p[63] ? 64'sd0 : p;
  endfunction

  wire c_fill = c_q[0+:8] == 8'd17;
  wire c_remote = Out && c_q[8*1+2];
  wire c_indexed = c_q[0+:8] == (Out ? 8'd19 : 8'd18);
  wire [31:0] c_rows = c_q[8*36+:32], c_index = c_q[8*44+:32], c_last = c_rows - 32'd1;
  wire [15:0] c_chip = c_q[8*18+:16];
  wire [15:0] c_tag = c_q[16+:16];
  wire [7:0] c_src = c_q[8*16+:8], c_dst = c_q[8*17+:8];
  wire [39:0] c_from = c_q[8*20+:40], c_to = c_q[8*25+:40];
  wire [31:0] c_size0 = c_q[8*30+:32];
  wire [15:0] c_size1 = c_q[8*34+:16], c_size2 = c_q[8*36+:16], c_size3 = c_q[8*38+:16];
  wire [31:0] c_s1 = c_q[8*40+:32], c_s2 = c_q[8*44+:32], c_s3 = c_q[8*48+:32];
  wire [31:0] c_d1 = c_q[8*52+:32], c_d2 = c_q[8*56+:32], c_d3 = c_q[8*60+:32];

  localparam logic [39:0] G_src = Out ? WordBytes : 40'd16, G_dst = Out ? 40'd16 : WordBytes;   // powers of two
  wire to_vmem = !Out || (c_remote && c_dst == 0);
  logic [63:0] wrong, crooked;                     // bit b: byte b is the offset of such a field
  always_comb begin
    wrong = '0;
    wrong[16] = c_src >= 8'd64 || (c_fill && c_src != 0) || (!c_fill && (c_src == 0) != Out);
    wrong[17] = c_dst >= (c_remote ? 8'd32 : 8'd64) || (!c_remote && (c_dst == 0) == Out);
    wrong[18] = !c_remote && c_chip != 0;
    wrong[20] = c_fill && c_from[39:32] != 0;
    wrong[30] = c_size0 == 0;
    wrong[34] = c_size1 == 0;
    wrong[36] = c_indexed ? c_rows == 0 || c_rows[31] : c_size2 == 0;
    wrong[38] = !c_indexed && c_size3 == 0;
    wrong[40] = c_fill && c_s1 != 0;
    wrong[44] = c_fill && c_s2 != 0;
    wrong[48] = c_fill && c_s3 != 0;
    crooked = '0;
    crooked[20] = !c_fill && c_from % G_src != 0;
    crooked[25] = to_vmem ? c_to % WordBytes != 0 : c_to % G_dst != 0;
    crooked[30] = c_size0 % 16 != 0;
    crooked[40] = c_s1 % G_src[31:0] != 0;
    crooked[44] = c_indexed ? c_index % WordBytes[31:0] != 0 : c_s2 % G_src[31:0] != 0;
    crooked[48] = !c_indexed && c_s3 % G_src[31:0] != 0;
    crooked[52] = to_vmem ? c_d1 % WordBytes[31:0] != 0 : c_d1 % G_dst[31:0] != 0;
    if (!c_indexed) crooked[56] = to_vmem ? c_d2 % WordBytes[31:0] != 0 : c_d2 % G_dst[31:0] != 0;
    if (!c_indexed) crooked[60] = to_vmem ? c_d3 % WordBytes[31:0] != 0 : c_d3 % G_dst[31:0] != 0;
  end

  // A table's rows go in two products, those of the other side in one.
  wire s_table = c_indexed && !Out, d_table = c_indexed && Out;
  wire signed [63:0] s1 = stand_in(c_s1, s_table ? c_last[15:0] : c_size1 - 16'd1);
  wire signed [63:0] s2 = s_table ? stand_in(c_s1, c_last[31:16]) <<< 16 : c_indexed ? 64'd0 : stand_in(c_s2, c_size2 - 16'd1);
  wire signed [63:0] s3 = c_indexed ? 64'd0 : stand_in(c_s3, c_size3 - 16'd1);
  wire signed [63:0] d1 = stand_in(c_d1, d_table ? c_last[15:0] : c_size1 - 16'd1);
  wire signed [63:0] d2 = d_table ? stand_in(c_d1, c_last[31:16]) <<< 16 : c_indexed ? 64'd0 : stand_in(c_d2, c_size2 - 16'd1);
  wire signed [63:0] d3 = c_indexed ? 64'd0 : stand_in(c_d3, c_size3 - 16'd1);
  wire beyond = c_indexed && {32'd0, c_index} + {46'd0, c_size1, 2'd0} > VmemBytes;
  wire signed [63:0] from = {24'd0, c_from}, to = {24'd0, c_to}, run = {32'd0, c_size0};
  wire signed [63:0] src_lo = from + below(s1) + below(s2) + below(s3), src_hi = from + run + above(s1) + above(s2) + above(s3);
  wire signed [63:0] dst_lo = to + below(d1) + below(d2) + below(d3), dst_hi = to + run + above(d1) + above(d2) + above(d3);
  wire looks_up = Out ? !c_remote : !c_fill;
  wire absent = c_remote && (c_chip >= place_q.chips || c_chip == place_q.chip);
  wire unmapped = looks_up && (seg_q.space == SpaceNone || !(Out ? seg_q.writable : seg_q.readable));
  wire [63:0] src_end = Out ? VmemBytes : seg_q.limit, dst_end = Out ? seg_q.limit : VmemBytes;
  wire src_under = !c_fill && src_lo < 0, src_over = !c_fill && $unsigned(src_hi) > src_end;
  wire dst_under = !c_remote && dst_lo < 0, dst_over = !c_remote && $unsigned(dst_hi) > dst_end;
  wire legal = (wrong | crooked) == 0 && !unmapped && !absent && !src_under && !src_over && !dst_under && !dst_over && !beyond;
  wire [5:0] at = fault_o.address[5:0];
  wire [63:0] before_at = (64'd1 << at) - 64'd1;

  logic faulted_q = 1'b0;
  dma_pkg::fault_t fault_before_q;
  always_ff @(posedge clk_i) begin
    faulted_q <= rst_ni && fault_valid_o;
    fault_before_q <= fault_o;
  end

  always_comb begin
    if (!reset_done) assume (!rst_ni);
    // the header check's: only COPY is remote
    if (cmd_valid_i && cmd_i.opcode == (Out ? 8'd19 : 8'd18)) assume ((cmd_i.flags & FlagRemote) == 0);
    if (reset_done) begin
      VerdictAfterFour_A: assert ((job_valid_o || fault_valid_o) == (age_q == 3'd4) && !(job_valid_o && fault_valid_o));
      LookedUp_A: assert (age_q != 3'd3 || seg_index_o == (Out ? c_dst[5:0] : c_src[5:0]));
      if (faulted_q) FaultStays_A: assert (fault_valid_o && !cmd_ready_o && fault_o == fault_before_q);
      // invariants that make the induction close
      Age_A: assert (age_q <= 3'd4 && 3'(state_q) == age_q);
      if (age_q != 3'd0 && c_indexed) NotRemote_A: assert (!c_remote);
      if (age_q != 3'd0) Kept_A: assert (512'(cmd_q) == c_q);
      // one assertion for each sum: a solver ends each of them in a second or two, and all of them together in half a minute
      if (age_q == 3'd1) Sums1_A: assert (src_lo_q == from && src_hi_q == from + run && dst_lo_q == to && dst_hi_q == to + run);
      if (age_q == 3'd2) begin
        SrcLo2_A: assert (src_lo_q == from + below(s1));
        SrcHi2_A: assert (src_hi_q == from + run + above(s1));
        DstLo2_A: assert (dst_lo_q == to + below(d1));
        DstHi2_A: assert (dst_hi_q == to + run + above(d1));
      end
      if (age_q == 3'd3) begin
        SrcLo3_A: assert (src_lo_q == from + below(s1) + below(s2));
        SrcHi3_A: assert (src_hi_q == from + run + above(s1) + above(s2));
        DstLo3_A: assert (dst_lo_q == to + below(d1) + below(d2));
        DstHi3_A: assert (dst_hi_q == to + run + above(d1) + above(d2));
      end
      if (age_q == 3'd4) begin
        SrcLo4_A: assert (src_lo_q == src_lo);
        SrcHi4_A: assert (src_hi_q == src_hi);
        DstLo4_A: assert (dst_lo_q == dst_lo);
        DstHi4_A: assert (dst_hi_q == dst_hi);
        Looked4_A: assert (limit_q == seg_q.limit && mapped_q == !unmapped && absent_q == absent && beyond_q == beyond);
      end
      First_A: assert (fresh_q == first_q);
      if (age_q >= 3'd2) Refused_A: assert (refused_q == ((wrong | crooked) != 0));
      if (age_q >= 3'd2 && refused_q) begin
        RefusedCode_A: assert (refusal_q.code == (wrong != 0 ? 8'd2 : 8'd3) && refusal_q.address < 64);
        RefusedFirst_A: assert (wrong != 0
            ? wrong[refusal_q.address[5:0]] && (wrong & ((64'd1 << refusal_q.address[5:0]) - 64'd1)) == 0
            : crooked[refusal_q.address[5:0]] && (crooked & ((64'd1 << refusal_q.address[5:0]) - 64'd1)) == 0);
      end
    end
    if (reset_done && age_q == 3'd4) begin
      AcceptsExactlyLegal_A: assert (job_valid_o == legal);
      if (!legal) begin
        Tag_A: assert (fault_o.tag == c_tag);
        if (wrong != 0) FirstWrongByte_A:
          assert (fault_o.code == 8'd2 && fault_o.address < 64 && wrong[at] && (wrong & before_at) == 0);
        else if (crooked != 0) Alignment_A:
          assert (fault_o.code == 8'd3 && fault_o.address < 64 && crooked[at] && (crooked & before_at) == 0);
        else if (unmapped) Segment_A: assert (fault_o.code == 8'd5 && fault_o.address == 64'(Out ? c_dst[4:0] : c_src[4:0]));
        else if (absent && !src_under && !src_over) NoSuchChip_A:
          assert (fault_o.code == 8'd13 && fault_o.address == {8'd1, 8'd0, c_chip, 32'd0});
        else Range_A: assert (fault_o.code == 8'd4 && fault_o.address
            == (src_under ? src_lo : src_over ? src_end : dst_under ? dst_lo : dst_over ? dst_end : VmemBytes));
      end
      JobHeader_A: assert (job_o.fill == c_fill && job_o.tag == c_tag && job_o.remote == c_remote
                                && job_o.space == (c_remote ? 2'd0 : seg_q.space) && job_o.pattern == (c_indexed ? 32'd0 : c_from[31:0])
                                && job_o.indexed == c_indexed);
      JobSizes_A: assert (job_o.size0 == c_size0 && job_o.size1 == c_size1 && job_o.size2 == (c_indexed ? 16'd1 : c_size2)
                               && job_o.size3 == (c_indexed ? 16'd1 : c_size3));
      if (c_indexed) Table_A: assert (table_o.index_address == c_index && table_o.count == c_size1 && table_o.rows == c_rows
                                      && table_o.stride == (Out ? c_d1 : c_s1));
      JobAddresses_A: assert (job_o.mem_address == (c_remote ? 64'd0 : seg_q.base) + (Out ? to : from) && job_o.vmem_address == (Out ? from : to));
      JobMemory_A: assert ({job_o.mem_stride1, job_o.mem_stride2, job_o.mem_stride3} == (Out ? {c_indexed ? 32'd0 : c_d1, c_d2, c_d3} : {c_indexed ? 32'd0 : c_s1, c_s2, c_s3}));
      JobVmem_A: assert ({job_o.vmem_stride1, job_o.vmem_stride2, job_o.vmem_stride3} == (Out ? {c_s1, c_s2, c_s3} : {c_d1, c_d2, c_d3}));
    end
    if (reset_done) begin
      Opened_A: assert (open_valid_o == (age_q == 3'd4 && first_q && legal && c_remote));
      if (open_valid_o) OpenedWith_A: assert (512'(open_cmd_o) == c_q);
    end
    RemoteOrIn_C: cover (reset_done && job_valid_o && (Out ? c_remote && dst_lo < 0 && c_dst == 8'd0 : c_q[8*1+2]));
    AbsentOrIn_C: cover (reset_done && fault_valid_o && (Out ? fault_o.code == 8'd13 : 1'b1));
    AcceptedAtTheEnd_C: cover (reset_done && job_valid_o && !c_fill && dst_hi == dst_end && c_size2 == 16'd3);
    RefusedLastField_C: cover (reset_done && fault_valid_o && fault_o.code == 8'd3 && fault_o.address == 64'd60);
    RefusedBelow_C: cover (reset_done && fault_valid_o && fault_o.code == 8'd4 && dst_lo == -64'sd16);
    GatheredToTheEnd_C: cover (reset_done && job_valid_o && c_indexed && c_rows == 32'h12345 && (Out ? dst_hi == dst_end : src_hi == src_end));
    IndicesBeyond_C: cover (reset_done && fault_valid_o && c_indexed && beyond && fault_o.code == 8'd4 && !src_over && !dst_over && !src_under && !dst_under);
    TakenInTheVerdict_C: cover (reset_done && job_valid_o && cmd_valid_i && cmd_ready_o);
  end
