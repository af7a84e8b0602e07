// What is bound to rtl/vmem. The contract of dr is bound in bind_dma.sv: a channel that faults lets
// its request go, and only the DMA engine knows.
bind vmem request_contract #(.Width($bits(x_addr_i))) u_x_contract (
  .clk_i, .rst_ni, .req_i(x_req_i), .gnt_i(x_gnt_o), .payload_i(x_addr_i));
bind vmem request_contract #(.Width($bits(w_addr_i))) u_w_contract (
  .clk_i, .rst_ni, .req_i(w_req_i), .gnt_i(w_gnt_o), .payload_i(w_addr_i));
bind vmem request_contract #(.Width($bits(va_addr_i) + 1)) u_va_contract (
  .clk_i, .rst_ni, .req_i(va_req_i), .gnt_i(va_gnt_o), .payload_i({va_pair_i, va_addr_i}));
bind vmem request_contract #(.Width($bits(vb_addr_i) + 1)) u_vb_contract (
  .clk_i, .rst_ni, .req_i(vb_req_i), .gnt_i(vb_gnt_o), .payload_i({vb_pair_i, vb_addr_i}));
bind vmem request_contract #(.Width($bits(vw_addr_i) + $bits(vw_wdata_i) + 1)) u_vw_contract (
  .clk_i, .rst_ni, .req_i(vw_req_i), .gnt_i(vw_gnt_o),
  .payload_i({vw_pair_i, vw_addr_i, vw_wdata_i}));
bind vmem request_contract #(.Width($bits(dw_addr_i) + $bits(dw_words_i) + $bits(dw_strb_i)
                                    + $bits(dw_wdata_i))) u_dw_contract (
  .clk_i, .rst_ni, .req_i(dw_req_i), .gnt_i(dw_gnt_o),
  .payload_i({dw_words_i, dw_addr_i, dw_strb_i, dw_wdata_i}));

bind vmem answer_contract u_x_answer (.clk_i, .rst_ni, .gnt_i(x_gnt_o), .rvalid_i(x_rvalid_o));
bind vmem answer_contract u_w_answer (.clk_i, .rst_ni, .gnt_i(w_gnt_o), .rvalid_i(w_rvalid_o));
bind vmem answer_contract u_va_answer (.clk_i, .rst_ni, .gnt_i(va_gnt_o), .rvalid_i(va_rvalid_o));
bind vmem answer_contract u_vb_answer (.clk_i, .rst_ni, .gnt_i(vb_gnt_o), .rvalid_i(vb_rvalid_o));
bind vmem answer_contract u_dr_answer (.clk_i, .rst_ni, .gnt_i(dr_gnt_o), .rvalid_i(dr_rvalid_o));

bind vmem_arbiter arbiter_invariants #(.Banks(Banks), .StarveLimit(StarveLimit))
  u_arbiter_invariants (
  .clk_i, .rst_ni,
  .read_banks_i({x_gnt_o ? x_mask : '0, w_gnt_o ? w_mask : '0, va_gnt_o ? va_mask : '0,
                 vb_gnt_o ? vb_mask : '0, dr_gnt_o ? dr_mask : '0}),
  .write_banks_i({vw_gnt_o ? vw_mask : '0, dw_gnt_o ? dw_mask : '0}),
  .dma_refused_i({dw_req_i && !dw_gnt_o, dr_req_i && !dr_gnt_o}));
