`default_nettype none
// Memory to VMEM for the two channels of dma_in: their requests share one memory port, their
// answers one VMEM port.
//
//   front[1:0] ─► round robin ─► request register ─► mrd
//   mrsp, or a FILL's pattern ─► round robin ─► beat register ─► VMEM dw, again until granted
//
// A beat a cycle each way. Front valid in cycle 0: mrd valid in 1. Answer taken in cycle 0: dw
// request in 1; granted there, it is visible to reads from cycle 2. Answers of a dead channel are
// taken and dropped, so that the other channel goes on.
module dma_read_port
  import chip_pkg::*;
#(
  localparam int unsigned AddrBits = $clog2(VmemWords),
  localparam int unsigned CountBits = $clog2(DmaWords + 1),
  localparam int unsigned BeatBytes = DmaWords * WordBytes,
  localparam int unsigned BeatChunks = BeatBytes / weft_pkg::DmaGranuleBytes
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  // channels: front
  input  logic [1:0]             front_valid_i,
  output logic [1:0]             front_ready_o,
  input  logic [1:0]        front_space_i[2],
  input  logic [63:0]       front_mem_i[2],
  input  logic [15:0]       front_bytes_i[2],
  // channels: back
  input  logic [1:0]             back_valid_i,
  output logic [1:0]             back_take_o,
  output logic                   back_error_o,
  input  logic [1:0]             back_fail_i,     // fault injection: the answer counts as an error
  input  logic [1:0]             back_fill_i,
  input  logic [31:0]       back_pattern_i[2],
  input  logic [63:0]       back_vmem_i[2],
  input  logic [15:0]       back_bytes_i[2],
  input  logic [1:0]             back_last_i,
  output logic [1:0]             retire_o,
  output logic [1:0]             busy_o,          // a beat that was taken is not visible yet
  input  logic [1:0]             dead_i,
  // memory: requests
  output logic                   mrd_valid_o,
  input  logic                   mrd_ready_i,
  output port_pkg::memory_read_t mrd_o,
  // memory: answers
  input  logic                   mrsp_valid_i,
  output logic                   mrsp_ready_o,
  input  port_pkg::memory_answer_t mrsp_i,
  // VMEM
  output logic                   dw_req_o,
  output port_pkg::beat_write_t  dw_o,
  input  logic                   dw_gnt_i
);
  localparam int unsigned WordShift = $clog2(WordBytes);
  localparam int unsigned ChunkShift = $clog2(weft_pkg::DmaGranuleBytes);

  // requests
  logic asked_q;  // channel of the last request: the other one goes first
  wire ask_free = !mrd_valid_o || mrd_ready_i;
  wire ask = front_valid_i == 2'b11 ? !asked_q : front_valid_i[1];
  assign front_ready_o = {ask_free && ask, ask_free && !ask};

  always_ff @(posedge clk_i) begin
    if (ask_free && front_valid_i[ask]) begin
      mrd_o.space   <= front_space_i[ask];
      mrd_o.addr    <= front_mem_i[ask];
      mrd_o.bytes   <= front_bytes_i[ask];
      mrd_o.channel <= {1'b0, ask};
    end
    if (!rst_ni) begin
      mrd_valid_o <= 1'b0;
      asked_q     <= 1'b1;
    end else if (ask_free) begin
      mrd_valid_o <= front_valid_i[ask];
      if (front_valid_i[ask]) asked_q <= ask;
    end
  end

  // answers
  logic wrote_q;  // channel of the last beat
  logic beat_channel_q, beat_last_q;
  wire answer = mrsp_i.channel[0];
  wire drop = mrsp_valid_i && dead_i[answer];
  logic [1:0] offer;  // a channel has a beat for VMEM
  always_comb
    for (int unsigned c = 0; c < 2; c++)
      offer[c] = back_valid_i[c] && (back_fill_i[c] || (mrsp_valid_i && answer == c[0]));
  wire beat_free = !dw_req_o || dw_gnt_i;
  wire pick = offer == 2'b11 ? !wrote_q : offer[1];
  wire take = beat_free && offer != 2'b00;
  wire fill = back_fill_i[pick];
  assign back_take_o  = {take && pick, take && !pick};
  assign back_error_o = !fill && (mrsp_i.error || back_fail_i[pick]);
  assign mrsp_ready_o = drop || (take && !fill);

  function automatic logic [BeatChunks-1:0] chunks(input logic [15:0] bytes);
    chunks = ~({BeatChunks{1'b1}} << (bytes >> ChunkShift));
  endfunction

  wire load = take && !back_error_o;
  always_ff @(posedge clk_i) begin
    if (load) begin
      beat_channel_q <= pick;
      beat_last_q    <= back_last_i[pick];
      dw_o.addr      <= back_vmem_i[pick][WordShift+:AddrBits];
      dw_o.words     <= CountBits'((back_bytes_i[pick] + 16'(WordBytes - 1)) >> WordShift);
      dw_o.strb      <= chunks(back_bytes_i[pick]);
      if (fill) dw_o.data <= {BeatBytes / 4{back_pattern_i[pick]}};
      else dw_o.data <= mrsp_i.data;
    end
    if (!rst_ni) begin
      dw_req_o <= 1'b0;
      wrote_q  <= 1'b1;
    end else begin
      if (beat_free) dw_req_o <= load;
      if (take) wrote_q <= pick;
    end
  end
  wire retire = dw_req_o && dw_gnt_i && beat_last_q;
  assign retire_o = {retire && beat_channel_q, retire && !beat_channel_q};
  wire busy = dw_req_o && !dw_gnt_i;
  assign busy_o = {busy && beat_channel_q, busy && !beat_channel_q};

  MrdStable_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      mrd_valid_o && !mrd_ready_i |=>
      mrd_valid_o && $stable(mrd_o));
  MrspChannel_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      mrsp_valid_i |-> !mrsp_i.channel[1]);
  DwStable_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      dw_req_o && !dw_gnt_i |=> dw_req_o && $stable(dw_o));
endmodule
`default_nettype wire
