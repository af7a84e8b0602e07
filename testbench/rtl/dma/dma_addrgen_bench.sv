`default_nettype none
// The address generator with the fields of its job as ports of their own.
module dma_addrgen_bench (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        load_i,
  input  logic [31:0] size0_i,
  input  logic [15:0] size1_i,
  input  logic [15:0] size2_i,
  input  logic [15:0] size3_i,
  input  logic [63:0] mem_address_i,
  input  logic [63:0] vmem_address_i,
  input  logic [31:0] mem_stride1_i,
  input  logic [31:0] mem_stride2_i,
  input  logic [31:0] mem_stride3_i,
  input  logic [31:0] vmem_stride1_i,
  input  logic [31:0] vmem_stride2_i,
  input  logic [31:0] vmem_stride3_i,
  output logic        valid_o,
  input  logic        advance_i,
  output logic [63:0] mem_o,
  output logic [63:0] vmem_o,
  output logic [15:0] bytes_o,
  output logic        last_o
);
  // verilator lint_off UNUSEDSIGNAL
  dma_pkg::job_t walked;  // not of interest here
  logic run_last;
  // verilator lint_on UNUSEDSIGNAL
  dma_addrgen u_addrgen (
    .clk_i, .rst_ni, .load_i,
    .job_i('{
        fill: 1'b0, remote: 1'b0, indexed: 1'b0, tag: '0, space: '0, pattern: '0,
        mem_address: mem_address_i, vmem_address: vmem_address_i,
        size0: size0_i, size1: size1_i, size2: size2_i, size3: size3_i,
        mem_stride1: mem_stride1_i, mem_stride2: mem_stride2_i, mem_stride3: mem_stride3_i,
        vmem_stride1: vmem_stride1_i, vmem_stride2: vmem_stride2_i, vmem_stride3: vmem_stride3_i
    }),
    .valid_o, .advance_i, .pass_i(1'b0), .mem_o, .vmem_o, .bytes_o, .run_last_o(run_last), .last_o,
    .job_o(walked)
  );
endmodule
`default_nettype wire
