`default_nettype none
// Test top: one function of vpu_lane_pkg on 64 sets of operands at once, without a clock.
module vpu_lane_probe (
  input  logic [7:0]       function_i,   // lane_vectors.hpp: LaneFunction
  input  logic [64*32-1:0] a_i,
  input  logic [64*32-1:0] b_i,
  input  logic [64*32-1:0] c_i,
  output logic [64*32-1:0] y_o
);
  import vpu_lane_pkg::*;

  function automatic logic [31:0] apply(input logic [31:0] a, input logic [31:0] b,
                                        input logic [31:0] c);
    unique case (function_i)
      8'd0:    return f32_add(a, b);
      8'd1:    return f32_mul(a, b);
      8'd2:    return f32_min(a, b);
      8'd3:    return f32_max(a, b);
      8'd4:    return relu(f32_canonical(a));
      8'd5:    return f32_to_bf16(a);
      8'd6:    return bf16_to_f32(a);
      8'd7:    return i32_to_f32(a);
      8'd8:    return f32_to_i32(a);
      8'd9:    return f32_canonical(a);
      8'd10:   return i32_min(a, b);
      8'd11:   return i32_max(a, b);
      8'd12:   return f32_fma(a, b, c);
      8'd13:   return f32_less(a, b);
      8'd14:   return f32_equal(a, b);
      8'd15:   return i32_less(a, b);
      8'd16:   return leaky(f32_canonical(a), b);
      8'd17:   return f32_to_i8(a, 32'(signed'(b[7:0])));
      8'd18:   return u32_less(a, b);
      8'd19:   return shift_left(a, b);
      8'd20:   return shift_right(a, b);
      8'd21:   return shift_right_signed(a, b);
      default: return '0;
    endcase
  endfunction

  always_comb
    for (int unsigned i = 0; i < 64; i++) y_o[32*i +: 32] = apply(a_i[32*i +: 32], b_i[32*i +: 32],
                                                                 c_i[32*i +: 32]);
endmodule
`default_nettype wire
