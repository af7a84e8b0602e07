`default_nettype none
// request_contract for each of several ports: those of a group of rows.
module request_group_contract #(
  parameter int unsigned Width = 1,
  parameter int unsigned Ports = 1
) (
  input logic                        clk_i,
  input logic                        rst_ni,
  input logic [Ports-1:0]            req_i,
  input logic [Ports-1:0]            gnt_i,
  input logic [Ports-1:0][Width-1:0] payload_i,
  input logic                        common_i      // part of each one's payload
);
  for (genvar i = 0; i < Ports; i++) begin : gen_port
    request_contract #(.Width(Width + 1)) u_contract (
      .clk_i, .rst_ni, .req_i(req_i[i]), .gnt_i(gnt_i[i]), .payload_i({common_i, payload_i[i]}));
  end
endmodule
`default_nettype wire
