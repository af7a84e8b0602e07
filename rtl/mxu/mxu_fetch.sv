`default_nettype none
// Reads a stream of VMEM words ahead: four words between the memory's grants and the array.
//
//   walker ──want, addr──► request ──gnt──► pending ──rvalid──► FIFO of 4 ──valid, data──► array
//
// A word granted in cycle c can be popped in cycle c + 2; one word a cycle as long as nothing is
// refused. The request comes from registers only.
module mxu_fetch #(
  parameter type ctl_t = logic
) (
  input  wire logic             clk_i,
  input  wire logic             rst_ni,
  // walker: next word of the stream; taken when granted
  input  wire logic             want_i,
  input  wire mxu_pkg::addr_t   addr_i,
  input  wire ctl_t             ctl_i,
  output logic                  taken_o,
  // VMEM read port
  output logic                  req_o,
  output mxu_pkg::addr_t        addr_o,
  input  wire logic             gnt_i,
  input  wire logic             rvalid_i,
  input  wire port_pkg::word_answer_t answer_i,
  // oldest word
  output logic                  valid_o,
  output ctl_t                  ctl_o,
  output mxu_pkg::word_t        data_o,
  output mxu_pkg::poison_t      poison_o,
  output mxu_pkg::addr_t        word_addr_o,
  input  wire logic             pop_i
);
  localparam int unsigned Depth = 4;

  mxu_pkg::word_t data_q[Depth];
  mxu_pkg::poison_t poison_q[Depth];
  mxu_pkg::addr_t word_addr_q[Depth];
  mxu_pkg::addr_t pending_addr_q;
  ctl_t           ctl_q[Depth];
  ctl_t           pending_ctl_q;
  logic           pending_q;
  logic [1:0]     wr_q, rd_q;
  logic [2:0]     count_q;                      // words in the FIFO
  logic           push;

  assign req_o = want_i & (count_q + 3'(pending_q) < 3'(Depth));
  assign addr_o = addr_i;
  assign taken_o = req_o & gnt_i;
  assign push = rvalid_i & pending_q;           // an answer from before a reset is nobody's
  assign valid_o = count_q != 3'd0;
  assign ctl_o = ctl_q[rd_q];
  assign data_o = data_q[rd_q];
  assign poison_o = poison_q[rd_q];
  assign word_addr_o = word_addr_q[rd_q];

  always_ff @(posedge clk_i) begin
    if (taken_o) pending_ctl_q <= ctl_i;
    if (taken_o) pending_addr_q <= addr_i;
    if (push) begin
      data_q[wr_q] <= answer_i.data;
      poison_q[wr_q] <= answer_i.poison;
      word_addr_q[wr_q] <= pending_addr_q;
      ctl_q[wr_q] <= pending_ctl_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      pending_q <= 1'b0;
      wr_q <= '0;
      rd_q <= '0;
      count_q <= '0;
    end else begin
      pending_q <= taken_o;
      wr_q <= wr_q + 2'(push);
      rd_q <= rd_q + 2'(pop_i);
      count_q <= count_q + 3'(push) - 3'(pop_i);
    end
  end
endmodule
`default_nettype wire
