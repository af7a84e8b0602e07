`default_nettype none
// VMEM to memory for the two channels of dma_out: their beats share one VMEM port and one memory
// port.
//
//   front[1:0] ─► round robin ─► VMEM dr ─► (read, a cycle) ─► skid: 2 beats ─► register ─► mwr
//                     └─ FILL: no dr ────────────┘ pattern                              └─► ici
//   mack ─► back of its channel
//
// A beat a cycle: a read starts only if the skid has room for all that are under way, so a refused
// mwr loses nothing, and no beat is lost after it. A beat that ECC could not correct is not
// sent, nor is what its channel reads after it. Front valid and granted in cycle 0: mwr valid in
// 2. Acknowledged in cycle 0: the back has it in 0. Beats for other chips leave by the same
// register, in their turn: mwr_addr, bytes, channel and data are those of ici too.
module dma_write_port
  import chip_pkg::*;
#(
  localparam int unsigned AddrBits = $clog2(VmemWords),
  localparam int unsigned CountBits = $clog2(DmaWords + 1),
  localparam int unsigned BeatBytes = DmaWords * WordBytes,
  localparam int unsigned BeatGranules = BeatBytes / 8
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  // channels: front
  input  logic [1:0]             front_valid_i,
  output logic [1:0]             front_ready_o,
  input  logic [1:0]             front_fill_i,
  input  logic [1:0]             front_remote_i,
  input  logic [1:0]             front_last_i,
  input  logic [31:0]       front_pattern_i[2],
  input  logic [1:0]        front_space_i[2],
  input  logic [63:0]       front_mem_i[2],
  input  logic [63:0]       front_vmem_i[2],
  input  logic [15:0]       front_bytes_i[2],
  // channels: back
  output logic [1:0]             ack_o,           // the next beat is acknowledged
  output logic                   ack_error_o,
  // channels: ECC
  output logic [1:0]             drop_o,          // the beat just read is not sent
  output logic [9:0]             poison_granule_o,
  input  logic [1:0]             poisoned_i,
  // VMEM
  output logic                   dr_req_o,
  output port_pkg::beat_read_t   dr_o,
  input  logic                   dr_gnt_i,
  input  logic                   dr_rvalid_i,
  input  port_pkg::beat_answer_t dr_i,
  // memory: writes
  output logic                   mwr_valid_o,
  input  logic                   mwr_ready_i,
  output port_pkg::memory_write_t mwr_o,
  // interconnect: a beat for another chip; the address is its offset there
  output logic                   ici_valid_o,
  input  logic                   ici_ready_i,
  output logic                   ici_last_o,      // of its command
  // memory and interconnect: acknowledgements
  input  logic                   mack_valid_i,
  input  port_pkg::memory_ack_t  mack_i
);
  localparam int unsigned WordShift = $clog2(WordBytes);

  typedef struct packed {
    logic        channel;
    logic        fill;
    logic        remote;
    logic        last;
    logic [31:0] pattern;
    logic [1:0]  space;
    logic [63:0] address;
    logic [15:0] bytes;
  } beat_t;

  // the beat being read, and two behind a refused write
  logic read_valid_q;
  logic poison_used;
  beat_t read_q;
  logic [1:0] skid_level_q;
  logic skid_head_q;
  beat_t skid_q[2];
  logic [BeatBytes*8-1:0] skid_data_q[2];

  // read
  logic last_q;  // channel of the last beat: the other one goes first
  logic refused_q, refused_channel_q;  // the request of the cycle before: it is repeated
  wire pick = refused_q && front_valid_i[refused_channel_q] ? refused_channel_q
            : front_valid_i == 2'b11 ? !last_q : front_valid_i[1];
  wire room = skid_level_q + 2'(read_valid_q) < 2'd2;
  wire start = room && front_valid_i[pick];
  assign dr_req_o   = start && !front_fill_i[pick];
  assign dr_o.addr  = front_vmem_i[pick][WordShift+:AddrBits];
  assign dr_o.words = CountBits'((front_bytes_i[pick] + 16'(WordBytes - 1)) >> WordShift);
  wire go = start && (front_fill_i[pick] || dr_gnt_i);
  assign front_ready_o = {go && pick, go && !pick};

  always_ff @(posedge clk_i) begin
    if (go)
      read_q <= '{
          channel: pick,
          fill: front_fill_i[pick],
          remote: front_remote_i[pick],
          last: front_last_i[pick],
          pattern: front_pattern_i[pick],
          space: front_space_i[pick],
          address: front_mem_i[pick],
          bytes: front_bytes_i[pick]
      };
    refused_channel_q <= pick;
    if (!rst_ni) begin
      read_valid_q <= 1'b0;
      last_q       <= 1'b1;
      refused_q    <= 1'b0;
    end else begin
      read_valid_q <= go;
      refused_q    <= dr_req_o && !dr_gnt_i;
      if (go) last_q <= pick;
    end
  end

  // ECC: granules of the bytes that the beat carries
  always_comb begin
    poison_granule_o = '0;
    poison_used = 1'b0;
    if (read_valid_q && !read_q.fill && dr_i.poison != '0)
      for (int unsigned g = BeatGranules; g > 0; g--)
        if (dr_i.poison[g-1] && 8 * g <= 32'(read_q.bytes)) begin
          poison_used = 1'b1;
          poison_granule_o = 10'(g) - 10'd1;
        end
  end
  wire drop = read_valid_q && (poison_used || poisoned_i[read_q.channel]);
  wire send = read_valid_q && !drop;
  assign drop_o = {drop && read_q.channel, drop && !read_q.channel};

  // write: from the skid if it holds anything, else straight from the read
  logic out_valid_q, out_remote_q;
  assign mwr_valid_o = out_valid_q && !out_remote_q;
  assign ici_valid_o = out_valid_q && out_remote_q;
  wire free = !out_valid_q || (out_remote_q ? ici_ready_i : mwr_ready_i);
  wire skid_out = free && skid_level_q != 2'd0;
  wire straight = free && skid_level_q == 2'd0 && send;
  wire skid_in = send && !straight;
  wire skid_tail = skid_head_q ^ skid_level_q[0];

  always_ff @(posedge clk_i) begin
    if (skid_in) begin
      skid_q[skid_tail] <= read_q;
      if (read_q.fill) skid_data_q[skid_tail] <= {BeatBytes / 4{read_q.pattern}};
      else skid_data_q[skid_tail] <= dr_i.data;
    end
    if (skid_out) begin
      out_remote_q  <= skid_q[skid_head_q].remote;
      ici_last_o    <= skid_q[skid_head_q].last;
      mwr_o.space   <= skid_q[skid_head_q].space;
      mwr_o.addr    <= skid_q[skid_head_q].address;
      mwr_o.bytes   <= skid_q[skid_head_q].bytes;
      mwr_o.channel <= {1'b1, skid_q[skid_head_q].channel};
      mwr_o.data    <= skid_data_q[skid_head_q];
    end else if (straight) begin
      out_remote_q  <= read_q.remote;
      ici_last_o    <= read_q.last;
      mwr_o.space   <= read_q.space;
      mwr_o.addr    <= read_q.address;
      mwr_o.bytes   <= read_q.bytes;
      mwr_o.channel <= {1'b1, read_q.channel};
      if (read_q.fill) mwr_o.data <= {BeatBytes / 4{read_q.pattern}};
      else mwr_o.data <= dr_i.data;
    end
    if (!rst_ni) begin
      out_valid_q  <= 1'b0;
      skid_level_q <= 2'd0;
      skid_head_q  <= 1'b0;
    end else begin
      if (free) out_valid_q <= skid_out || straight;
      if (skid_out) skid_head_q <= !skid_head_q;
      if (skid_in && !skid_out) skid_level_q <= skid_level_q + 2'd1;
      if (skid_out && !skid_in) skid_level_q <= skid_level_q - 2'd1;
    end
  end

  // acknowledgements; those of a dead channel fall on the floor
  assign ack_o = {mack_valid_i && mack_i.channel[0], mack_valid_i && !mack_i.channel[0]};
  assign ack_error_o = mack_i.error;

  MwrStable_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      mwr_valid_o && !mwr_ready_i |=>
      mwr_valid_o && $stable(mwr_o));
  MackChannel_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      mack_valid_i |-> mack_i.channel[1]);
  ReadAnswered_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      dr_rvalid_i == (read_valid_q && !read_q.fill));
endmodule
`default_nettype wire
