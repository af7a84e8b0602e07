`default_nettype none
// The checks of docs/command_checks.md section 2 for one channel: a command goes in, a job or a
// fault comes out; of a GATHER or SCATTER also what dma_rows needs for its rows.
//
//   cycle   0      1         2         3         4
//           take   fields,   product   product   job_valid or fault_valid, until taken
//                  product 1 2         3, segment
//
// Fields and alignment are one look at the registered command. The range of each side is its offset
// plus the negative, and plus the positive products stride_i (size_i - 1): one multiplier a side,
// one dimension a cycle. The side that is not VMEM is looked up in the segment table in cycle 3;
// the destination of a remote COPY is the receiver's to check, here the chip has to exist.
// Nothing wide is combinational: an idle channel costs little to simulate.
module dma_check
  import weft_pkg::*, core_pkg::*;
#(
  parameter bit Out = 1'b0,                // this channel serves dma_out: its source is VMEM
  parameter logic [63:0] VmemBytes = 64'd262144,
  parameter logic [39:0] WordBytes = 40'd16
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  // command
  input  logic            cmd_valid_i,
  output logic            cmd_ready_o,
  input  dma_cmd_t        cmd_i,
  input  place_t          place_i,
  // segment table
  output logic [SegmentBits-1:0] seg_index_o,
  input  segment_t        segment_i,
  // result: one of the two
  output logic            job_valid_o,
  input  logic            job_ready_i,
  output dma_pkg::job_t   job_o,
  output dma_pkg::table_t table_o,          // of a job that is indexed
  output logic            open_valid_o,     // with the first job_valid of a remote COPY
  output dma_cmd_t        open_cmd_o,
  output logic            fault_valid_o,    // stays until reset: nothing is taken after a fault
  output dma_pkg::fault_t fault_o
);
  // byte offsets of fields in the command: the address of ILLEGAL_FIELD and ALIGNMENT
  localparam logic [63:0] AtNone = 64'd0, AtSrcSeg = 64'd16, AtDstSeg = 64'd17,
                          AtRemoteChip = 64'd18, AtSrcOff = 64'd20, AtDstOff = 64'd25,
                          AtSize0 = 64'd30, AtSize1 = 64'd34, AtSize2 = 64'd36, AtSize3 = 64'd38,
                          AtSrcStride1 = 64'd40, AtSrcStride2 = 64'd44, AtSrcStride3 = 64'd48,
                          AtDstStride1 = 64'd52, AtDstStride2 = 64'd56, AtDstStride3 = 64'd60;
  // of body indexed, where body dma has size2 and src_stride2
  localparam logic [63:0] AtTableRows = 64'd36, AtIndexOff = 64'd44;
  localparam logic [7:0] Segments = 8'd1 << SegmentBits;   // with their versions
  localparam logic [39:0] Granule = 40'(DmaGranuleBytes);
  localparam logic [39:0] SrcMask = (Out ? WordBytes : Granule) - 40'd1;
  localparam logic [39:0] DstMask = (Out ? Granule : WordBytes) - 40'd1;
  localparam logic [39:0] VmemMask = WordBytes - 40'd1;

  typedef enum logic [2:0] {Empty, Product1, Product2, Product3, Verdict} state_e;
  state_e state_q;
  // The header is core/'s, but for opcode, flag remote and tag.
  // verilator lint_off UNUSEDSIGNAL
  dma_cmd_t cmd_q;
  indexed_cmd_t rows;                       // the same bytes, if they are a GATHER's or SCATTER's
  // verilator lint_on UNUSEDSIGNAL
  assign rows = cmd_q;

  function automatic logic is_fill();
    is_fill = cmd_q.opcode == OpcodeFill;
  endfunction

  function automatic logic is_indexed();
    is_indexed = cmd_q.opcode == (Out ? OpcodeScatter : OpcodeGather);
  endfunction

  function automatic logic is_remote();
    is_remote = Out && (cmd_q.flags & FlagRemote) != '0;
  endfunction

  // Fields, then alignment: where the first bad field stands. Evaluated in one state only, so a
  // function and not a wire.
  function automatic logic [63:0] illegal_at();
    illegal_at = AtNone;
    if (cmd_q.src_seg >= Segments || (cmd_q.src_seg == '0) != (is_fill() || Out))
      illegal_at = AtSrcSeg;
    else if (cmd_q.dst_seg >= (is_remote() ? 8'(NumSegments) : Segments) ||
             (!is_remote() && (cmd_q.dst_seg == '0) == Out))
      illegal_at = AtDstSeg;
    else if (!is_remote() && cmd_q.remote_chip != '0) illegal_at = AtRemoteChip;
    else if (is_fill() && cmd_q.src_off[39:32] != '0) illegal_at = AtSrcOff;
    else if (cmd_q.size0 == '0) illegal_at = AtSize0;
    else if (cmd_q.size1 == '0) illegal_at = AtSize1;
    else if (is_indexed()) begin
      if (rows.table_rows == '0 || rows.table_rows[31]) illegal_at = AtTableRows;
    end else if (cmd_q.size2 == '0) illegal_at = AtSize2;
    else if (cmd_q.size3 == '0) illegal_at = AtSize3;
    else if (is_fill() && cmd_q.src_stride1 != '0) illegal_at = AtSrcStride1;
    else if (is_fill() && cmd_q.src_stride2 != '0) illegal_at = AtSrcStride2;
    else if (is_fill() && cmd_q.src_stride3 != '0) illegal_at = AtSrcStride3;
  endfunction

  // Only a remote COPY of dma_out writes to VMEM.
  function automatic logic [39:0] dst_mask();
    dst_mask = is_remote() && cmd_q.dst_seg == '0 ? VmemMask : DstMask;
  endfunction

  function automatic logic [63:0] misaligned_at();
    misaligned_at = AtNone;
    if (!is_fill() && (cmd_q.src_off & SrcMask) != '0) misaligned_at = AtSrcOff;
    else if ((cmd_q.dst_off & dst_mask()) != '0) misaligned_at = AtDstOff;
    else if ((cmd_q.size0 & 32'(DmaGranuleBytes - 1)) != '0) misaligned_at = AtSize0;
    else if ((cmd_q.src_stride1 & SrcMask[31:0]) != '0) misaligned_at = AtSrcStride1;
    else if (is_indexed()) begin
      if ((rows.index_off & VmemMask[31:0]) != '0) misaligned_at = AtIndexOff;
      else if ((cmd_q.dst_stride1 & DstMask[31:0]) != '0) misaligned_at = AtDstStride1;
    end else if ((cmd_q.src_stride2 & SrcMask[31:0]) != '0) misaligned_at = AtSrcStride2;
    else if ((cmd_q.src_stride3 & SrcMask[31:0]) != '0) misaligned_at = AtSrcStride3;
    else if ((cmd_q.dst_stride1 & 32'(dst_mask())) != '0) misaligned_at = AtDstStride1;
    else if ((cmd_q.dst_stride2 & 32'(dst_mask())) != '0) misaligned_at = AtDstStride2;
    else if ((cmd_q.dst_stride3 & 32'(dst_mask())) != '0) misaligned_at = AtDstStride3;
  endfunction

  // Range: lowest byte and first byte beyond, as far as the dimensions were added up. 2^40 + 3 x
  // 2^47 + 2^32 < 2^50. A table has one dimension of up to 2^31 rows, which takes two products of
  // 16 bits of their number: 2^40 + 2^62 + 2^32 < 2^63. Other rows of an indexed command have one
  // product.
  logic signed [63:0] src_lo_q, src_hi_q, dst_lo_q, dst_hi_q;
  function automatic logic [15:0] steps(input logic is_table);
    logic [31:0] last;                     // row of the table
    last = rows.table_rows - 32'd1;
    unique case (state_q)
      Product2: steps = !is_indexed() ? cmd_q.size2 - 16'd1 : is_table ? last[31:16] : 16'd0;
      Product3: steps = !is_indexed() ? cmd_q.size3 - 16'd1 : 16'd0;
      default:  steps = is_table ? last[15:0] : cmd_q.size1 - 16'd1;
    endcase
  endfunction
  function automatic logic signed [63:0] product(input logic signed [31:0] stride,
                                                 input logic [15:0] count);
    product = 64'(stride) * 64'(signed'({1'b0, count}));
  endfunction
  function automatic logic signed [63:0] reach(input logic signed [31:0] stride1, stride2, stride3,
                                               input logic is_table);
    logic signed [31:0] stride;
    unique case (state_q)
      Product2: stride = is_indexed() ? stride1 : stride2;
      Product3: stride = stride3;
      default:  stride = stride1;
    endcase
    reach = product(stride, steps(is_table));
    if (is_table && state_q == Product2) reach = reach <<< 16;
  endfunction
  function automatic logic signed [63:0] src_reach();
    src_reach = reach(cmd_q.src_stride1, cmd_q.src_stride2, cmd_q.src_stride3,
                      !Out && is_indexed());
  endfunction
  function automatic logic signed [63:0] dst_reach();
    dst_reach = reach(cmd_q.dst_stride1, cmd_q.dst_stride2, cmd_q.dst_stride3,
                      Out && is_indexed());
  endfunction
  function automatic logic signed [63:0] negative(input logic signed [63:0] value);
    negative = value < 0 ? value : '0;
  endfunction
  function automatic logic signed [63:0] positive(input logic signed [63:0] value);
    positive = value < 0 ? '0 : value;
  endfunction

  // Segment, looked up in Product3. Verdict.
  assign seg_index_o = Out ? cmd_q.dst_seg[SegmentBits-1:0] : cmd_q.src_seg[SegmentBits-1:0];
  logic mapped_q;
  logic [63:0] limit_q;      // of the segment
  logic refused_q;           // by a field or its alignment
  logic beyond_q;            // the indices end beyond VMEM
  logic absent_q;            // a remote COPY: the chip does not exist or is this one
  logic fresh_q;             // the first cycle of the verdict
  struct packed {
    logic [7:0]  code;
    logic [63:0] address;
  } refusal_q, refusal;
  dma_pkg::job_t job_q;
  wire fill = job_q.fill;
  wire remote = job_q.remote;
  wire [63:0] src_limit = Out ? VmemBytes : limit_q;
  wire [63:0] dst_limit = Out ? limit_q : VmemBytes;

  logic fault;
  always_comb begin
    fault   = 1'b1;
    refusal = refusal_q;
    if (refused_q) refusal = refusal_q;
    else if (!mapped_q) refusal = {FaultSegment, 64'(seg_index_o[SegmentBits-2:0])};
    else if (!fill && src_lo_q < 0) refusal = {FaultRange, src_lo_q};
    else if (!fill && unsigned'(src_hi_q) > src_limit) refusal = {FaultRange, src_limit};
    else if (absent_q)
      refusal = {FaultIci, IciCauseNoSuchChip, 8'd0, cmd_q.remote_chip, 32'd0};
    else if (remote) fault = 1'b0;
    else if (dst_lo_q < 0) refusal = {FaultRange, dst_lo_q};
    else if (unsigned'(dst_hi_q) > dst_limit) refusal = {FaultRange, dst_limit};
    else if (beyond_q) refusal = {FaultRange, VmemBytes};
    else fault = 1'b0;
  end
  assign fault_o = '{code: refusal.code, tag: job_q.tag, address: refusal.address};
  assign job_o = job_q;

  function automatic dma_pkg::job_t job_of(input logic [1:0] space, input logic [63:0] base);
    job_of              = '0;
    job_of.fill         = cmd_q.opcode == OpcodeFill;
    job_of.remote       = is_remote();
    job_of.indexed      = is_indexed();
    job_of.tag          = cmd_q.tag;
    job_of.space        = is_remote() ? SpaceNone : space;
    job_of.pattern      = is_indexed() ? '0 : cmd_q.src_off[31:0];
    job_of.mem_address  = (is_remote() ? '0 : base) +
                          (Out ? 64'(cmd_q.dst_off) : 64'(cmd_q.src_off));
    job_of.vmem_address = Out ? 64'(cmd_q.src_off) : 64'(cmd_q.dst_off);
    job_of.size0        = cmd_q.size0;
    job_of.size1        = cmd_q.size1;
    job_of.size2        = is_indexed() ? 16'd1 : cmd_q.size2;
    job_of.size3        = is_indexed() ? 16'd1 : cmd_q.size3;
    job_of.mem_stride1  = is_indexed() ? '0 : Out ? cmd_q.dst_stride1 : cmd_q.src_stride1;
    job_of.mem_stride2  = Out ? cmd_q.dst_stride2 : cmd_q.src_stride2;
    job_of.mem_stride3  = Out ? cmd_q.dst_stride3 : cmd_q.src_stride3;
    job_of.vmem_stride1 = Out ? cmd_q.src_stride1 : cmd_q.dst_stride1;
    job_of.vmem_stride2 = Out ? cmd_q.src_stride2 : cmd_q.dst_stride2;
    job_of.vmem_stride3 = Out ? cmd_q.src_stride3 : cmd_q.dst_stride3;
  endfunction

  assign job_valid_o   = state_q == Verdict && !fault;
  assign fault_valid_o = state_q == Verdict && fault;
  assign open_valid_o  = fresh_q && job_valid_o && remote;
  assign open_cmd_o    = cmd_q;
  assign table_o = '{index_address: rows.index_off, count: rows.count, rows: rows.table_rows,
                     stride: Out ? rows.dst_stride : rows.src_stride};
  wire leaves = job_valid_o && job_ready_i;
  assign cmd_ready_o   = state_q == Empty || leaves;
  wire take = cmd_valid_i && cmd_ready_o;

  always_ff @(posedge clk_i) begin
    if (take) begin
      cmd_q    <= cmd_i;
      src_lo_q <= 64'(cmd_i.src_off);
      src_hi_q <= 64'(cmd_i.src_off) + 64'(cmd_i.size0);
      dst_lo_q <= 64'(cmd_i.dst_off);
      dst_hi_q <= 64'(cmd_i.dst_off) + 64'(cmd_i.size0);
    end
    if (state_q == Product1) begin
      refused_q <= illegal_at() != AtNone || misaligned_at() != AtNone;
      refusal_q.code <= illegal_at() != AtNone ? FaultIllegalField : FaultAlignment;
      refusal_q.address <= illegal_at() != AtNone ? illegal_at() : misaligned_at();
    end
    if (state_q == Product3) begin
      job_q    <= job_of(segment_i.space, segment_i.base);
      limit_q  <= segment_i.limit;
      beyond_q <= is_indexed() &&
                  64'(rows.index_off) + {46'd0, rows.count, 2'd0} > VmemBytes;
      absent_q <= is_remote() &&
                  (cmd_q.remote_chip >= place_i.chips || cmd_q.remote_chip == place_i.chip);
      mapped_q <= (is_fill() && !Out) || is_remote() ||  // looks nothing up
                  (segment_i.space != SpaceNone && (Out ? segment_i.writable : segment_i.readable));
    end
    if (state_q == Product1 || state_q == Product2 || state_q == Product3) begin
      src_lo_q <= src_lo_q + negative(src_reach());
      src_hi_q <= src_hi_q + positive(src_reach());
      dst_lo_q <= dst_lo_q + negative(dst_reach());
      dst_hi_q <= dst_hi_q + positive(dst_reach());
    end
    fresh_q <= rst_ni && state_q == Product3;
    if (!rst_ni) state_q <= Empty;
    else if (take) state_q <= Product1;
    else if (leaves) state_q <= Empty;
    else
      unique case (state_q)
        Product1: state_q <= Product2;
        Product2: state_q <= Product3;
        Product3: state_q <= Verdict;
        default:  state_q <= state_q;
      endcase
  end
endmodule
`default_nettype wire
