`default_nettype none
// Types of the core's control: what core/, sync/ and csr/ tell each other.
// Waived: a package: no block uses all of it.
// verilator lint_off UNUSEDPARAM
package control_pkg;
  // Units of this chip, numbered as weft_pkg::unit_e: MXU 1 and up follow the sync engine.
  localparam int unsigned NumMxu = chip_pkg::NumMxu;
  localparam int unsigned Units = 32'(weft_pkg::UnitSync) + NumMxu;
  // the same numbers as places in a vector of Units
  localparam int unsigned AtDma0 = 32'(weft_pkg::UnitDma0);
  localparam int unsigned AtDma1 = 32'(weft_pkg::UnitDma1);
  localparam int unsigned AtDma2 = 32'(weft_pkg::UnitDma2);
  localparam int unsigned AtDma3 = 32'(weft_pkg::UnitDma3);
  localparam int unsigned AtMxu = 32'(weft_pkg::UnitMxu);
  localparam int unsigned AtVpu = 32'(weft_pkg::UnitVpu);
  localparam int unsigned AtSync = 32'(weft_pkg::UnitSync);

  // What a queue does in a cycle: exactly one of these (spec/counters.toml, group queue).
  typedef enum logic [1:0] {
    QueueBusy = 2'd0,
    QueueWaiting = 2'd1,
    QueueBlocked = 2'd2,
    QueueEmpty = 2'd3
  } queue_state_e;

  // A fault, for one cycle. `code` is a weft_pkg::fault_e.
  typedef struct packed {
    logic        valid;
    logic [7:0]  code;
    logic [3:0]  unit_id;   // weft_pkg::unit_e
    logic [2:0]  queue_id;  // weft_pkg::queue_e
    logic [15:0] tag;
    logic [63:0] address;
  } fault_t;

  // Fault injection: what becomes of a command's end (spec: inject_kind).
  typedef struct packed {
    logic not_done;
    logic lost_done;
    logic lost_post;
  } marks_t;

  // What remains of a command while its unit works: its tag and what it posts.
  typedef struct packed {
    logic [15:0] tag;
    logic [15:0] count1;
    logic [15:0] count0;
    logic [7:0]  sem1;
    logic [7:0]  sem0;
  } post_t;

  // MXU and VPU: the state of a cycle, in the order of spec/counters.toml.
  localparam int unsigned MxuStates = 6;
  localparam int unsigned MxuBusy = 0;
  localparam int unsigned VpuStates = 3;
  localparam int unsigned VmemPorts = 4 + 2 * NumMxu;

  // What the units count in a cycle.
  typedef struct packed {
    // of each MXU, one hot: busy, weight_wait, acc_wait, vmem_wait, drain, idle
    logic [NumMxu*MxuStates-1:0] mxu_state;
    logic [31:0]          mxu_macs;       // of all
    logic                 int_overflow;
    logic [VpuStates-1:0] vpu_state;      // one hot: busy, stalled, idle
    logic [3:0]           vpu_rows;       // written in this cycle
    logic [15:0]          nan_results;
    logic [15:0]          inf_results;
    // x of each MXU, w of each MXU, vpu_read, vpu_write, dma_read, dma_write
    logic [VmemPorts-1:0] vmem_grant;
    logic [VmemPorts-1:0] vmem_conflict;
    logic [15:0]          dma_read_bytes;
    logic [15:0]          dma_write_bytes;
    logic                 dma_read_beat;
    logic                 dma_write_beat;
    logic                 dma_read_stall;
    logic                 dma_write_stall;
    logic [15:0]          vmem_corrected;   // granules that were read in the last cycle
    logic [15:0]          vmem_poison;
    logic [15:0]          acc_corrected;    // elements
    logic [15:0]          acc_poison;
  } unit_events_t;

  // The queue of a unit, and the unit that a fault of a queue names (its first one).
  function automatic logic [2:0] queue_of_unit(input logic [3:0] unit_id);
    unique case (unit_id)
      weft_pkg::UnitDma0, weft_pkg::UnitDma1: queue_of_unit = weft_pkg::QueueDmaIn;
      weft_pkg::UnitDma2, weft_pkg::UnitDma3: queue_of_unit = weft_pkg::QueueDmaOut;
      weft_pkg::UnitMxu, weft_pkg::UnitMxu1, weft_pkg::UnitMxu2,
      weft_pkg::UnitMxu3: queue_of_unit = weft_pkg::QueueMxu;
      weft_pkg::UnitVpu: queue_of_unit = weft_pkg::QueueVpu;
      default: queue_of_unit = weft_pkg::QueueSync;
    endcase
  endfunction

  function automatic logic [3:0] unit_of_queue(input logic [2:0] queue_id);
    unique case (queue_id)
      weft_pkg::QueueDmaIn: unit_of_queue = weft_pkg::UnitDma0;
      weft_pkg::QueueMxu: unit_of_queue = weft_pkg::UnitMxu;
      weft_pkg::QueueVpu: unit_of_queue = weft_pkg::UnitVpu;
      weft_pkg::QueueDmaOut: unit_of_queue = weft_pkg::UnitDma2;
      default: unit_of_queue = weft_pkg::UnitSync;
    endcase
  endfunction

  // The place of an MXU in a vector of Units.
  function automatic int unsigned place_of_mxu(input int unsigned mxu);
    place_of_mxu = mxu == 0 ? AtMxu : AtSync + mxu;
  endfunction
endpackage
// verilator lint_on UNUSEDPARAM
`default_nettype wire
