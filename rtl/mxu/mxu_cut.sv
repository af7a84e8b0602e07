`default_nettype none
// A place where a pipeline may be cut: registers if Registers is 1, else wires.
module mxu_cut #(
  parameter int unsigned Width = 1,
  parameter bit Registers = 1'b1
) (
  input  wire logic             clk_i,
  input  wire logic [Width-1:0] data_i,
  output logic [Width-1:0]      data_o
);
  if (Registers) begin : gen_registers
    always_ff @(posedge clk_i) data_o <= data_i;
  end else begin : gen_wires
    assign data_o = data_i;
    logic unused_clock;
    assign unused_clock = &{1'b0, clk_i};
  end
endmodule
`default_nettype wire
