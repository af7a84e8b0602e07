`default_nettype none
// Who reads VMEM in this cycle: a channel its indices, a word, or dma_out a beat of data.
//
//   indices of channels 0 to 3 ─► lowest first ─┐
//   beats of dma_write_port ────────────────────┴─► dr ─► (a cycle) ─► who asked
//
// Indices go first: few words of them ask for many beats. What VMEM has refused is repeated before
// anything else is asked. Combinational from request to grant.
module dma_index_port
  import weft_pkg::DmaChannels, chip_pkg::*;
#(
  localparam int unsigned AddrBits = $clog2(VmemWords),
  localparam int unsigned CountBits = $clog2(DmaWords + 1)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  // indices
  input  logic [DmaChannels-1:0] index_valid_i,
  output logic [DmaChannels-1:0] index_ready_o,
  input  logic [AddrBits-1:0]    index_word_i[DmaChannels],
  output logic [DmaChannels-1:0] index_answer_o,   // the word has come
  // data
  input  logic                   data_req_i,
  input  port_pkg::beat_read_t   data_i,
  output logic                   data_gnt_o,
  output logic                   data_rvalid_o,
  // VMEM
  output logic                   dr_req_o,
  output port_pkg::beat_read_t   dr_o,
  input  logic                   dr_gnt_i,
  input  logic                   dr_rvalid_i
);
  logic [DmaChannels-1:0] refused_q;         // the channel whose index VMEM has refused
  logic data_refused_q;                      // it has refused data
  wire [DmaChannels-1:0] repeated = index_valid_i & refused_q;
  wire [DmaChannels-1:0] lowest = index_valid_i & ~(index_valid_i - DmaChannels'(1));
  wire data = data_req_i && (data_refused_q || index_valid_i == '0);
  wire [DmaChannels-1:0] index = data ? '0 : repeated != '0 ? repeated : lowest;

  logic [AddrBits-1:0] word;
  always_comb begin
    word = index_word_i[0];
    if (index[1]) word = index_word_i[1];
    if (index[2]) word = index_word_i[2];
    if (index[3]) word = index_word_i[3];
  end
  assign dr_req_o      = data || index != '0;
  assign dr_o          = data ? data_i : '{words: CountBits'(1), addr: word};
  assign data_gnt_o    = data && dr_gnt_i;
  assign index_ready_o = dr_gnt_i ? index : '0;
  assign data_rvalid_o = dr_rvalid_i && index_answer_o == '0;

  always_ff @(posedge clk_i)
    if (!rst_ni) begin
      refused_q      <= '0;
      data_refused_q <= 1'b0;
      index_answer_o <= '0;
    end else begin
      refused_q      <= dr_gnt_i ? '0 : index;
      data_refused_q <= data && !dr_gnt_i;
      index_answer_o <= index_ready_o;
    end

  RvalidFollows_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
      index_answer_o != '0 |-> dr_rvalid_i);
endmodule
`default_nettype wire
