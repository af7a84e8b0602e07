`default_nettype none
// Does an operand's row hold an error that ECC could not correct, in a lane that counts? VMEM flags
// granules of 8 bytes, ACC flags lanes. Combinational; nothing moves without poison.
module vpu_poison
  import chip_pkg::*;
(
  input  logic           acc_i,           // the row comes from ACC
  input  logic [1:0]     shift_i,         // VMEM: a lane has 2^shift bytes,
  input  logic           upper_i,         // from byte 0 or N on
  input  logic [15:0]    lanes_i,         // lanes that count, from 0 on
  input  logic [N/2-1:0] vmem_poison_i,
  input  logic [N-1:0]   acc_poison_i,
  output logic           bad_o,
  output logic [7:0]     granule_o        // of VMEM, the first
);
  logic [31:0] first, last;               // bytes that count: first to last - 1
  always_comb begin
    bad_o = 1'b0;
    granule_o = '0;
    first = upper_i ? N : 32'd0;
    last = first + (32'(lanes_i) << shift_i);
    if (acc_i) begin
      if (acc_poison_i != '0)
        for (int unsigned i = 0; i < N; i++)
          if (acc_poison_i[i] && i < 32'(lanes_i)) bad_o = 1'b1;
    end else if (vmem_poison_i != '0) begin
      for (int unsigned g = N / 2; g > 0; g--)
        if (vmem_poison_i[g-1] && 8 * g > first && 8 * g < last + 32'd8) begin
          bad_o = 1'b1;
          granule_o = 8'(g) - 8'd1;
        end
    end
  end
endmodule
`default_nettype wire
