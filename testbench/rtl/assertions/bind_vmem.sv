// What is bound to rtl/vmem. The contract of each request is bound where it is made (bind_dma.sv,
// bind_mxu.sv, bind_vpu.sv): a unit that faults lets its requests go, and only it knows.
bind vmem answer_contract #(.Ports(chip_pkg::NumMxu)) u_x_answer (
  .clk_i, .rst_ni, .gnt_i(x_gnt_o), .rvalid_i(x_rvalid_o));
bind vmem answer_contract #(.Ports(chip_pkg::NumMxu)) u_w_answer (
  .clk_i, .rst_ni, .gnt_i(w_gnt_o), .rvalid_i(w_rvalid_o));
bind vmem answer_contract #(.Ports(Sublanes)) u_va_answer (.clk_i, .rst_ni, .gnt_i(va_gnt_o), .rvalid_i(va_rvalid_o));
bind vmem answer_contract #(.Ports(Sublanes)) u_vb_answer (.clk_i, .rst_ni, .gnt_i(vb_gnt_o), .rvalid_i(vb_rvalid_o));
bind vmem answer_contract u_dr_answer (.clk_i, .rst_ni, .gnt_i(dr_gnt_o), .rvalid_i(dr_rvalid_o));

bind vmem_arbiter arbiter_invariants
  #(.Banks(Banks), .StarveLimit(StarveLimit), .Mxus(Mxus), .Sublanes(Sublanes))
  u_arbiter_invariants (
  .clk_i, .rst_ni,
  .mxu_granted_i({x_gnt_o, w_gnt_o}), .mxu_banks_i({x_mask, w_mask}),
  .row_reads_i({va_gnt_o, vb_gnt_o}), .row_read_banks_i({va_mask, vb_mask}),
  .row_writes_i(vw_gnt_o), .row_write_banks_i(vw_mask),
  .dma_read_banks_i(dr_gnt_o ? dr_mask : '0), .dma_write_banks_i(dw_gnt_o ? dw_mask : '0),
  .dma_refused_i({dw_req_i && !dw_gnt_o, dr_req_i && !dr_gnt_o}));
