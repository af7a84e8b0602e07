// What is bound to rtl/vpu. After a fault its requests are let go.
bind vpu unit_contract #(.MostHeld(2)) u_unit_contract (
  .clk_i, .rst_ni, .cmd_valid_i, .cmd_ready_i(cmd_ready_o), .done_i(done_o),
  .fault_i(fault_valid_o), .active_i(active_o));
bind vpu request_group_contract #(.Width(AddrBits), .Ports(Sublanes)) u_va_contract (
  .clk_i, .rst_ni(rst_ni && !fault_valid_o), .req_i(va_req_o), .gnt_i(va_gnt_i),
  .payload_i(va_o.addr), .common_i(va_o.pair));
bind vpu request_group_contract #(.Width(AddrBits), .Ports(Sublanes)) u_vb_contract (
  .clk_i, .rst_ni(rst_ni && !fault_valid_o), .req_i(vb_req_o), .gnt_i(vb_gnt_i),
  .payload_i(vb_o.addr), .common_i(vb_o.pair));
bind vpu request_group_contract #(.Width(AddrBits), .Ports(Sublanes)) u_vw_contract (
  .clk_i, .rst_ni(rst_ni && !fault_valid_o), .req_i(vw_req_o), .gnt_i(vw_gnt_i),
  .payload_i(vw_o.addr), .common_i(vw_o.pair));
bind vpu request_group_contract #(.Width(RowBits), .Ports(Sublanes)) u_vw_data_contract (
  .clk_i, .rst_ni(rst_ni && !fault_valid_o), .req_i(vw_req_o), .gnt_i(vw_gnt_i),
  .payload_i(vw_o.data), .common_i(vw_o.upper));
bind vpu request_group_contract #(.Width(16), .Ports(Sublanes)) u_acc_contract (
  .clk_i, .rst_ni(rst_ni && !fault_valid_o), .req_i(acc_req_o), .gnt_i(acc_gnt_i),
  .payload_i(acc_row_o), .common_i(1'b0));
