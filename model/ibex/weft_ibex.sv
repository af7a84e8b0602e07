// The manager's processor: Ibex as the chip would have it, with the ports that model/ibex/ibex.cpp
// drives. RV32IMC, no PMP, no cache, no branch prediction, two stages; every request is granted at
// once and answered in the next cycle. What retires is told by Ibex's RVFI port, behind the edge
// that ends the instruction. The driver gives no clock edge while sleep_o is 1.
`default_nettype none
module weft_ibex
  import ibex_pkg::*;
(
  input  wire logic        clk_i,
  input  wire logic        rst_ni,
  input  wire logic [31:0] boot_address_i,

  // instruction fetches
  output      logic        fetch_o,
  output      logic [31:0] fetch_address_o,
  input  wire logic        fetched_i,
  input  wire logic [31:0] fetched_word_i,
  input  wire logic        fetch_error_i,

  // loads and stores
  output      logic        access_o,
  output      logic        store_o,
  output      logic [3:0]  bytes_o,
  output      logic [31:0] address_o,
  output      logic [31:0] store_word_o,
  input  wire logic        answered_i,
  input  wire logic [31:0] load_word_i,
  input  wire logic        access_error_i,

  // events
  input  wire logic        interrupt_i,
  output      logic        sleep_o,

  // the instruction that has retired, or trapped, and the register that it has written (0: none)
  output      logic        retired_o,
  output      logic        trapped_o,
  output      logic [31:0] instruction_o,
  output      logic [31:0] pc_o,
  output      logic [31:0] next_pc_o,
  output      logic [4:0]  register_o,
  output      logic [31:0] value_o
);

  ibex_top #(
    .PMPEnable      (1'b0),
    .RV32E          (1'b0),
    .RV32M          (RV32MSingleCycle),
    .RV32B          (RV32BNone),
    .RegFile        (RegFileFF),
    .BranchTargetALU(1'b0),
    .WritebackStage (1'b0),
    .ICache         (1'b0),
    .BranchPredictor(1'b0),
    .SecureIbex     (1'b0)
  ) u_ibex (
    .clk_i,
    .rst_ni,
    .test_en_i             (1'b0),
    .ram_cfg_i             ('0),
    .hart_id_i             ('0),
    .boot_addr_i           (boot_address_i),

    .instr_req_o           (fetch_o),
    .instr_gnt_i           (1'b1),
    .instr_rvalid_i        (fetched_i),
    .instr_addr_o          (fetch_address_o),
    .instr_rdata_i         (fetched_word_i),
    .instr_rdata_intg_i    ('0),
    .instr_err_i           (fetch_error_i),

    .data_req_o            (access_o),
    .data_gnt_i            (1'b1),
    .data_rvalid_i         (answered_i),
    .data_we_o             (store_o),
    .data_be_o             (bytes_o),
    .data_addr_o           (address_o),
    .data_wdata_o          (store_word_o),
    .data_wdata_intg_o     (),
    .data_rdata_i          (load_word_i),
    .data_rdata_intg_i     ('0),
    .data_err_i            (access_error_i),

    .irq_software_i        (1'b0),
    .irq_timer_i           (1'b0),
    .irq_external_i        (interrupt_i),
    .irq_fast_i            ('0),
    .irq_nm_i              (1'b0),

    .scramble_key_valid_i  (1'b0),
    .scramble_key_i        ('0),
    .scramble_nonce_i      ('0),
    .scramble_req_o        (),
    .debug_req_i           (1'b0),
    .crash_dump_o          (),
    .double_fault_seen_o   (),

    .rvfi_valid            (retired_o),
    .rvfi_order            (),
    .rvfi_insn             (instruction_o),
    .rvfi_trap             (trapped_o),
    .rvfi_halt             (),
    .rvfi_intr             (),
    .rvfi_mode             (),
    .rvfi_ixl              (),
    .rvfi_rs1_addr         (),
    .rvfi_rs2_addr         (),
    .rvfi_rs3_addr         (),
    .rvfi_rs1_rdata        (),
    .rvfi_rs2_rdata        (),
    .rvfi_rs3_rdata        (),
    .rvfi_rd_addr          (register_o),
    .rvfi_rd_wdata         (value_o),
    .rvfi_pc_rdata         (pc_o),
    .rvfi_pc_wdata         (next_pc_o),
    .rvfi_mem_addr         (),
    .rvfi_mem_rmask        (),
    .rvfi_mem_wmask        (),
    .rvfi_mem_rdata        (),
    .rvfi_mem_wdata        (),
    .rvfi_ext_pre_mip      (),
    .rvfi_ext_post_mip     (),
    .rvfi_ext_nmi          (),
    .rvfi_ext_nmi_int      (),
    .rvfi_ext_debug_req    (),
    .rvfi_ext_debug_mode   (),
    .rvfi_ext_rf_wr_suppress(),
    .rvfi_ext_mcycle       (),
    .rvfi_ext_mhpmcounters (),
    .rvfi_ext_mhpmcountersh(),
    .rvfi_ext_ic_scr_key_valid(),
    .rvfi_ext_irq_valid    (),

    .fetch_enable_i        (IbexMuBiOn),
    .alert_minor_o         (),
    .alert_major_internal_o(),
    .alert_major_bus_o     (),
    .core_sleep_o          (sleep_o),
    .scan_rst_ni           (1'b1)
  );

endmodule
`default_nettype wire
