
  // Properties of the address generator: four loops over pointers beside it,
  //   for (a3 = base; i3 < size3; a3 += stride3) for (a2 = a3; i2 < size2; a2 += stride2)
  //     for (a1 = a2; i1 < size1; a1 += stride1) for (b = 0; b < size0; b += BeatBytes) address = a1 + b
  // Where SIZE_LIMIT bounds the sizes, index x stride is kept too and the box is checked.
  logic reset_done = 1'b0;
  dma_pkg::job_t box_q;                   // the job that was loaded
  logic [15:0] i1_q, i2_q, i3_q;
  logic [32:0] b_q;
  logic [63:0] mem1_q, mem2_q, mem3_q, vmem1_q, vmem2_q, vmem3_q;   // a1 to a3 of both sides

  wire more_b = b_q + BeatBytes < box_q.size0;
  wire more_1 = i1_q + 17'd1 < box_q.size1;
  wire more_2 = i2_q + 17'd1 < box_q.size2;
  wire more_3 = i3_q + 17'd1 < box_q.size3;

  function automatic logic [63:0] sign(input logic [31:0] stride);
    sign = {{32{stride[31]}}, stride};
  endfunction

  function automatic logic short_stride(input logic [31:0] stride);
    short_stride = stride[31:7] == {25{stride[31]}};
  endfunction

  wire [63:0] mem1 = mem1_q + sign(box_q.mem_stride1), vmem1 = vmem1_q + sign(box_q.vmem_stride1);
  wire [63:0] mem2 = mem2_q + sign(box_q.mem_stride2), vmem2 = vmem2_q + sign(box_q.vmem_stride2);
  wire [63:0] mem3 = mem3_q + sign(box_q.mem_stride3), vmem3 = vmem3_q + sign(box_q.vmem_stride3);

  always_ff @(posedge clk_i) begin
    reset_done <= 1'b1;
    if (load_i) begin
      box_q <= job_i;
      b_q <= 0; i1_q <= 0; i2_q <= 0; i3_q <= 0;
      mem1_q <= job_i.mem_address; mem2_q <= job_i.mem_address; mem3_q <= job_i.mem_address;
      vmem1_q <= job_i.vmem_address; vmem2_q <= job_i.vmem_address; vmem3_q <= job_i.vmem_address;
    end else if (advance_i) begin
      b_q <= more_b ? b_q + BeatBytes : 33'd0;
      if (!more_b) begin
        i1_q <= more_1 ? i1_q + 1'b1 : 16'd0;
        mem1_q <= more_1 ? mem1 : more_2 ? mem2 : mem3;
        vmem1_q <= more_1 ? vmem1 : more_2 ? vmem2 : vmem3;
        if (!more_1) begin
          i2_q <= more_2 ? i2_q + 1'b1 : 16'd0;
          mem2_q <= more_2 ? mem2 : mem3;
          vmem2_q <= more_2 ? vmem2 : vmem3;
          if (!more_2) begin
            i3_q <= more_3 ? i3_q + 1'b1 : 16'd0;
            mem3_q <= mem3;
            vmem3_q <= vmem3;
          end
        end
      end
    end
  end

  always_comb begin
    if (!reset_done) assume (!rst_ni);
    if (advance_i) assume (valid_o);
    assume (!pass_i);                              // of rows that are skipped, which ends a run early (rtl/dma/dma_channel.sv)
    if (load_i) begin
      assume (!valid_o || (advance_i && last_o));
      assume (job_i.size0 != 0 && job_i.size1 != 0 && job_i.size2 != 0 && job_i.size3 != 0);   // dma_check
`ifdef SIZE_LIMIT
      assume (job_i.size0 <= 512 && job_i.size1 <= `SIZE_LIMIT && job_i.size2 <= `SIZE_LIMIT && job_i.size3 <= `SIZE_LIMIT);
      assume (job_i.mem_address == 0 && short_stride(job_i.mem_stride1) && short_stride(job_i.mem_stride2) && short_stride(job_i.mem_stride3));
`endif
    end
    if (reset_done && valid_o) begin
      MemoryAddress_A: assert (mem_o == mem1_q + b_q);
      VmemAddress_A: assert (vmem_o == vmem1_q + b_q);
      Bytes_A: assert (bytes_o == (more_b ? BeatBytes : box_q.size0 - b_q));
      LastExact_A: assert (last_o == (!more_b && !more_1 && !more_2 && !more_3));
      JobKept_A: assert (job_o == box_q);
      InsideLoops_A: assert (b_q < box_q.size0 && i1_q < box_q.size1 && i2_q < box_q.size2 && i3_q < box_q.size3);
      // invariants that make the induction close
      LeftCounts_A: assert (left_q == box_q.size0 - b_q && runs1_q == box_q.size1 - 1'b1 - i1_q
                            && runs2_q == box_q.size2 - 1'b1 - i2_q && runs3_q == box_q.size3 - 1'b1 - i3_q);
      MemoryBegins_A: assert (mem_plane_q == mem3_q && mem_row_q == mem2_q && mem_run_q == mem1_q);
      VmemBegins_A: assert (vmem_plane_q == vmem3_q && vmem_row_q == vmem2_q && vmem_run_q == vmem1_q);
    end
    Ends_C: cover (reset_done && valid_o && advance_i && last_o && box_q.size1 == 2 && box_q.size2 == 2 && box_q.size0 > 64);
    BackToBack_C: cover (reset_done && load_i && valid_o && box_q.size3 == 2);
`ifndef SIZE_LIMIT
    Negative_C: cover (reset_done && valid_o && i1_q == 1 && mem_o < box_q.mem_address && vmem_o > box_q.vmem_address);
`endif
  end

`ifdef SIZE_LIMIT
  // Index x stride by multiplication, and the box of section 2 of docs/command_checks.md from address 0 on. For one side; the other
  // is the same text. That bases and long strides change nothing but the sums is what the loops say.
  function automatic logic signed [15:0] product(input logic [15:0] index, input logic [31:0] stride);
    logic signed [15:0] wide;
    wide = stride[15:0];
    product = (index[0] ? wide : 16'sd0) + (index[1] ? wide <<< 1 : 16'sd0) + (index[2] ? wide <<< 2 : 16'sd0);
  endfunction
  function automatic logic signed [15:0] low(input logic [15:0] size, input logic [31:0] stride);
    low = stride[31] ? product(size - 16'd1, stride) : 16'sd0;
  endfunction
  function automatic logic signed [15:0] high(input logic [15:0] size, input logic [31:0] stride);
    high = stride[31] ? 16'sd0 : product(size - 16'd1, stride);
  endfunction

  wire signed [15:0] p1 = product(i1_q, box_q.mem_stride1);
  wire signed [15:0] p2 = product(i2_q, box_q.mem_stride2);
  wire signed [15:0] p3 = product(i3_q, box_q.mem_stride3);
  wire signed [15:0] lo1 = low(box_q.size1, box_q.mem_stride1), hi1 = high(box_q.size1, box_q.mem_stride1);
  wire signed [15:0] lo2 = low(box_q.size2, box_q.mem_stride2), hi2 = high(box_q.size2, box_q.mem_stride2);
  wire signed [15:0] lo3 = low(box_q.size3, box_q.mem_stride3), hi3 = high(box_q.size3, box_q.mem_stride3);
  wire signed [15:0] lo = lo3 + lo2 + lo1;
  wire signed [15:0] hi = hi3 + hi2 + hi1 + $signed(box_q.size0[15:0]);
  wire signed [15:0] offset = mem_o[15:0];

  always_comb begin
    if (reset_done && valid_o) begin
      SizesKept_A: assert (box_q.size0 <= 512 && box_q.size1 <= `SIZE_LIMIT && box_q.size2 <= `SIZE_LIMIT && box_q.size3 <= `SIZE_LIMIT);
      StridesKept_A: assert (short_stride(box_q.mem_stride1) && short_stride(box_q.mem_stride2) && short_stride(box_q.mem_stride3));
      Short_A: assert (mem3_q[63:15] == {49{mem3_q[63]}} && mem2_q[63:15] == {49{mem2_q[63]}} && mem1_q[63:15] == {49{mem1_q[63]}}
                       && mem_o[63:15] == {49{mem_o[63]}});
      Products_A: assert (mem3_q[15:0] == p3 && mem2_q[15:0] == 16'(p3 + p2) && mem1_q[15:0] == 16'(p3 + p2 + p1));
      // each loop stays between its ends, so the sum does
      Loop1InBox_A: assert (lo1 <= p1 && p1 <= hi1);
      Loop2InBox_A: assert (lo2 <= p2 && p2 <= hi2);
      Loop3InBox_A: assert (lo3 <= p3 && p3 <= hi3);
      FirstByteInBox_A: assert (lo <= offset);
      LastByteInBox_A: assert (offset + $signed(bytes_o) <= hi);
    end
    TouchesLow_C: cover (reset_done && valid_o && offset == lo && lo < -16'sd300 && i2_q == 1);
    TouchesHigh_C: cover (reset_done && valid_o && offset + $signed(bytes_o) == hi && box_q.mem_stride1[31] && i2_q == 1);
  end
`endif
