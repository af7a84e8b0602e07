`default_nettype none
// Both SECDED codes with flips between encoder and decoder.
module secded_bench (
  input  logic [63:0] data64_i,
  input  logic [63:0] flip64_i,
  input  logic [7:0]  flip_check64_i,
  output logic [7:0]  check64_o,
  output logic [63:0] data64_o,
  output logic        corrected64_o,
  output logic        poison64_o,
  input  logic [31:0] data32_i,
  input  logic [31:0] flip32_i,
  input  logic [6:0]  flip_check32_i,
  output logic [6:0]  check32_o,
  output logic [31:0] data32_o,
  output logic        corrected32_o,
  output logic        poison32_o
);
  secded_encode #(.DataBits(64)) u_encode64 (.data_i(data64_i), .check_o(check64_o));
  secded_decode #(.DataBits(64)) u_decode64 (
    .data_i(data64_i ^ flip64_i), .check_i(check64_o ^ flip_check64_i), .data_o(data64_o),
    .corrected_o(corrected64_o), .poison_o(poison64_o));
  secded_encode #(.DataBits(32)) u_encode32 (.data_i(data32_i), .check_o(check32_o));
  secded_decode #(.DataBits(32)) u_decode32 (
    .data_i(data32_i ^ flip32_i), .check_i(check32_o ^ flip_check32_i), .data_o(data32_o),
    .corrected_o(corrected32_o), .poison_o(poison32_o));
endmodule
`default_nettype wire
