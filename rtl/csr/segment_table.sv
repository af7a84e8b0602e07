`default_nettype none
// 32 segments: base, limit, permission. Entry 0 is VMEM always; a write to it is ignored.
//
// A base has two versions, so that a loop's next turn may have another one while commands of the
// turn before are still queued; limit and permission are the same in both. A write of a base says
// by its lowest bits which version it is for: 0 both, 1 version 1, 2 version 0. Index bit 5 of a
// look-up is the version; the registers read version 0.
//
// One look-up port a DMA channel and one for the registers, all combinational. Core reset keeps the
// table; power-up unmaps all entries.
module segment_table (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  // registers; field 0: base, 1: limit, 2: attributes
  input  logic                             csr_write_i,
  input  logic [4:0]                       csr_index_i,
  input  logic [1:0]                       csr_field_i,
  input  logic [63:0]                      csr_wdata_i,
  output core_pkg::segment_t               csr_segment_o,
  // look-up
  input  logic [weft_pkg::DmaChannels-1:0][core_pkg::SegmentBits-1:0] seg_index_i,
  output core_pkg::segment_t [weft_pkg::DmaChannels-1:0] segment_o
);
  localparam logic [1:0] FieldBase = 2'd0, FieldLimit = 2'd1, FieldAttributes = 2'd2;
  localparam int unsigned BaseAlign = $clog2(weft_pkg::DmaGranuleBytes);
  localparam core_pkg::segment_t Vmem = '{
    writable: 1'b1, readable: 1'b1, space: core_pkg::SpaceVmem,
    limit: 64'(chip_pkg::VmemWords) * 64'(chip_pkg::WordBytes), base: 64'd0};

  // Power-up clears one bit a field instead of the memories: what was not
  // written since then reads 0.
  logic [63:BaseAlign] base_q [2*weft_pkg::NumSegments];   // those of version 1 in the upper half
  logic [63:0] limit_q [weft_pkg::NumSegments];
  logic [3:0]  attributes_q [weft_pkg::NumSegments];   // writable, readable, space
  logic [2*weft_pkg::NumSegments-1:0] base_live_q;
  logic [weft_pkg::NumSegments-1:0] limit_live_q, attributes_live_q;

  function automatic core_pkg::segment_t lookup(input logic [core_pkg::SegmentBits-1:0] index);
    lookup = index[core_pkg::SegmentBits-1] ? '0 : Vmem;
    if (index[4:0] != 0) begin
      lookup.base = base_live_q[index] ? {base_q[index], {BaseAlign{1'b0}}} : '0;
      lookup.limit = limit_live_q[index[4:0]] ? limit_q[index[4:0]] : '0;
      {lookup.writable, lookup.readable, lookup.space} =
          attributes_live_q[index[4:0]] ? attributes_q[index[4:0]] : '0;
    end
  endfunction

  for (genvar i = 0; i < weft_pkg::DmaChannels; i++) begin : gen_lookup
    assign segment_o[i] = lookup(seg_index_i[i]);
  end
  assign csr_segment_o = lookup({1'b0, csr_index_i});

  always_ff @(posedge clk_i) begin
    if (csr_write_i && csr_field_i == FieldBase) begin
      if (!csr_wdata_i[0]) begin
        base_q[{1'b0, csr_index_i}] <= csr_wdata_i[63:BaseAlign];
        base_live_q[{1'b0, csr_index_i}] <= 1'b1;
      end
      if (!csr_wdata_i[1]) begin
        base_q[{1'b1, csr_index_i}] <= csr_wdata_i[63:BaseAlign];
        base_live_q[{1'b1, csr_index_i}] <= 1'b1;
      end
    end
    if (csr_write_i && csr_field_i == FieldLimit) begin
      limit_q[csr_index_i] <= csr_wdata_i;
      limit_live_q[csr_index_i] <= 1'b1;
    end
    if (csr_write_i && csr_field_i == FieldAttributes) begin
      attributes_q[csr_index_i] <= csr_wdata_i[3:0];
      attributes_live_q[csr_index_i] <= 1'b1;
    end
    if (!rst_ni) begin
      base_live_q <= '0;
      limit_live_q <= '0;
      attributes_live_q <= '0;
    end
  end
endmodule
`default_nettype wire
