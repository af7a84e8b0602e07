`default_nettype none
// Keeps the first fault since reset, counts all, and stops the core.
//
// Sources of the same cycle: the one with the lowest index is the first, all are counted. The core
// stops in the cycle after the fault; units that did not fault finish what they have. Every fault
// that arises here stops the core (spec/faults.toml; the one that only counts, SEMAPHORE_LEAK, is
// raised by firmware).
module fault_capture #(
  parameter int unsigned Sources = 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,        // core reset
  input  logic [63:0]         cycle_i,
  input  control_pkg::fault_t fault_i [Sources],
  input  logic                clear_count_i,
  output control_pkg::fault_t first_o,       // valid: a fault was captured
  output logic [63:0]         first_cycle_o,
  output logic [63:0]         count_o,
  output logic                raised_o,      // a fault in this cycle
  output logic                stop_o
);
  control_pkg::fault_t first_q, selected;
  logic [63:0] first_cycle_q, count_q;
  logic [Sources-1:0] valid;
  logic [7:0] raised;

  for (genvar i = 0; i < Sources; i++) begin : gen_valid
    assign valid[i] = fault_i[i].valid;
  end

  always_comb begin
    selected = '0;
    raised = '0;
    if (valid != 0) begin
      for (int unsigned i = 0; i < Sources; i++) begin
        if (valid[i]) begin
          if (raised == 0) selected = fault_i[i];
          raised = raised + 8'd1;
        end
      end
    end
  end

  assign raised_o = valid != 0;
  assign first_o = first_q;
  assign first_cycle_o = first_cycle_q;
  assign count_o = count_q;
  assign stop_o = first_q.valid;

  always_ff @(posedge clk_i) begin
    if (raised_o && !first_q.valid) begin
      first_q <= selected;
      first_cycle_q <= cycle_i;
    end
    if (clear_count_i) count_q <= 64'(raised);
    else if (raised_o) count_q <= count_q + 64'(raised);
    if (!rst_ni) begin
      first_q <= '0;
      first_cycle_q <= '0;
      count_q <= '0;
    end
  end
endmodule
`default_nettype wire
