`default_nettype none
// Walks the 4-D box of a job and cuts each run into beats of up to BeatBytes; memory and VMEM
// address share the loop counters.
//
//   for i3 < size3, i2 < size2, i1 < size1:  for b = 0; b < size0; b += BeatBytes:
//     beat at  base + i3 stride3 + i2 stride2 + i1 stride1 + b,  min(BeatBytes, size0 - b) bytes
//
// The trick: no multiplier. Each side keeps where the current run, the current row of runs and the
// current plane began; the next beat is one addition away from one of the four. A beat a cycle,
// also across run ends. Load in cycle t: first beat in t + 1; load may fall on the advance of the
// last beat, so boxes follow each other without a gap. Readable by Yosys 0.23.
module dma_addrgen #(
  parameter int unsigned BeatBytes = 64
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  // the job: taken when load_i is 1
  input  logic          load_i,
  input  dma_pkg::job_t job_i,
  // the beat: goes on to the next one when advance_i is 1
  output logic          valid_o,
  input  logic          advance_i,
  input  logic          pass_i,      // with advance_i: to the next run at once
  output logic [63:0]   mem_o,       // bus address
  output logic [63:0]   vmem_o,      // byte offset in VMEM
  output logic [15:0]   bytes_o,
  output logic          run_last_o,  // of its run
  output logic          last_o,      // of the job
  output dma_pkg::job_t job_o        // the job that is walked
);
  logic valid_q;
  dma_pkg::job_t job_q;
  logic [31:0] left_q;                         // bytes of this run from this beat on
  logic [15:0] runs1_q, runs2_q, runs3_q;      // still to come along each dimension, after this one
  logic [63:0] mem_q, mem_run_q, mem_row_q, mem_plane_q;
  logic [63:0] vmem_q, vmem_run_q, vmem_row_q, vmem_plane_q;

  wire in_run = left_q > BeatBytes && !pass_i;
  wire in_row = runs1_q != 16'd0;
  wire in_plane = runs2_q != 16'd0;
  wire in_box = runs3_q != 16'd0;

  assign valid_o = valid_q;
  assign mem_o = mem_q;
  assign vmem_o = vmem_q;
  assign bytes_o = in_run ? BeatBytes[15:0] : left_q[15:0];
  assign run_last_o = !in_run;
  assign last_o = !in_run && !in_row && !in_plane && !in_box;
  assign job_o = job_q;

  function automatic [63:0] extend(input [31:0] stride);
    extend = {{32{stride[31]}}, stride};
  endfunction

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      job_q        <= job_i;
      left_q       <= job_i.size0;
      runs1_q      <= job_i.size1 - 16'd1;
      runs2_q      <= job_i.size2 - 16'd1;
      runs3_q      <= job_i.size3 - 16'd1;
      mem_q        <= job_i.mem_address;
      mem_run_q    <= job_i.mem_address;
      mem_row_q    <= job_i.mem_address;
      mem_plane_q  <= job_i.mem_address;
      vmem_q       <= job_i.vmem_address;
      vmem_run_q   <= job_i.vmem_address;
      vmem_row_q   <= job_i.vmem_address;
      vmem_plane_q <= job_i.vmem_address;
    end else if (advance_i) begin
      if (in_run) begin
        left_q <= left_q - BeatBytes;
        mem_q  <= mem_q + {32'd0, BeatBytes};
        vmem_q <= vmem_q + {32'd0, BeatBytes};
      end else begin
        left_q <= job_q.size0;
        if (in_row) begin
          runs1_q    <= runs1_q - 16'd1;
          mem_q      <= mem_run_q + extend(job_q.mem_stride1);
          mem_run_q  <= mem_run_q + extend(job_q.mem_stride1);
          vmem_q     <= vmem_run_q + extend(job_q.vmem_stride1);
          vmem_run_q <= vmem_run_q + extend(job_q.vmem_stride1);
        end else if (in_plane) begin
          runs1_q    <= job_q.size1 - 16'd1;
          runs2_q    <= runs2_q - 16'd1;
          mem_q      <= mem_row_q + extend(job_q.mem_stride2);
          mem_run_q  <= mem_row_q + extend(job_q.mem_stride2);
          mem_row_q  <= mem_row_q + extend(job_q.mem_stride2);
          vmem_q     <= vmem_row_q + extend(job_q.vmem_stride2);
          vmem_run_q <= vmem_row_q + extend(job_q.vmem_stride2);
          vmem_row_q <= vmem_row_q + extend(job_q.vmem_stride2);
        end else begin
          runs1_q      <= job_q.size1 - 16'd1;
          runs2_q      <= job_q.size2 - 16'd1;
          runs3_q      <= runs3_q - 16'd1;
          mem_q        <= mem_plane_q + extend(job_q.mem_stride3);
          mem_run_q    <= mem_plane_q + extend(job_q.mem_stride3);
          mem_row_q    <= mem_plane_q + extend(job_q.mem_stride3);
          mem_plane_q  <= mem_plane_q + extend(job_q.mem_stride3);
          vmem_q       <= vmem_plane_q + extend(job_q.vmem_stride3);
          vmem_run_q   <= vmem_plane_q + extend(job_q.vmem_stride3);
          vmem_row_q   <= vmem_plane_q + extend(job_q.vmem_stride3);
          vmem_plane_q <= vmem_plane_q + extend(job_q.vmem_stride3);
        end
      end
    end
    if (!rst_ni) valid_q <= 1'b0;
    else if (load_i) valid_q <= 1'b1;
    else if (advance_i && last_o) valid_q <= 1'b0;
  end
endmodule
`default_nettype wire
