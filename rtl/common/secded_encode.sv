`default_nettype none
// Check bits of a granule of 64 or 32 bits (secded_pkg). Combinational.
module secded_encode #(
  parameter int unsigned DataBits = 64,    // 64 or 32
  localparam int unsigned CheckBits = DataBits == 64 ? 8 : 7
) (
  input  logic [DataBits-1:0]  data_i,
  output logic [CheckBits-1:0] check_o
);
  // verilator lint_off UNUSEDSIGNAL
  logic [31:0] check;                      // the functions give 32-bit lanes
  // verilator lint_on UNUSEDSIGNAL

  if (DataBits == 64) begin : gen_64
    assign check = secded_pkg::check64(data_i);
  end else begin : gen_32
    assign check = secded_pkg::check32(data_i);
  end
  assign check_o = check[CheckBits-1:0];
endmodule
`default_nettype wire
