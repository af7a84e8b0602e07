#include "testbench/synthesis/pin_trace.hpp"

#include <cstring>
#include <string_view>

#include "Vweft_core_nano.h"
#include "Vweft_core_nano___024root.h"
#include "model/core/rtl/verilated_core.hpp"

namespace weft::gates {
namespace {

PinTrace* current_trace = nullptr;  // of the core that is being made: a Verilated class takes no further argument

/// The model that core::VerilatedCore drives, with its pins written down. A cycle is some evaluations with the clock
/// low and one with it high.
class Traced : public Vweft_core_nano {
 public:
  Traced(VerilatedContext* context, const char* name)
      : Vweft_core_nano(context, name), trace_(*current_trace), chip_(*spec::find_chip("nano")) {
    trace_ = {};
    for_each_port([&](bool output, const char* port, const auto& value, unsigned bits) {
      auto& ports = output ? trace_.outputs : trace_.inputs;
      const uint32_t first = ports.empty() ? 0 : ports.back().first + (ports.back().bits + 7) / 8 * 8;
      ports.push_back({port, first, bits});
      (void)value;
    });
  }

  void eval() {
    if (clk_i != 0) {
      if (!trace_.records.empty()) trace_.records.back().edge = true;
      Vweft_core_nano::eval();
      return;
    }
    Vweft_core_nano::eval();
    PinRecord& record = trace_.records.emplace_back();
    record.cycle = contextp()->time();
    for_each_port([&](bool output, const char* port, const auto& value, unsigned bits) {
      auto& bytes = output ? record.outputs : record.inputs;
      const size_t at = bytes.size(), size = (bits + 7) / 8;
      bytes.resize(at + size);
      std::memcpy(bytes.data() + at, &value, size);
      if (output) record.meant.resize(at + size, meant(port) ? 0xff : 0);
      // bytes of a beat above its length mean nothing
      if (output && std::string_view(port) == "mwr_data_o" && mwr_bytes_o < size)
        std::memset(record.meant.data() + at + mwr_bytes_o, 0, size - mwr_bytes_o);
    });
  }

  void final() {
    Vweft_core_nano::final();
    const core::VmemBanks vmem(*contextp(), "weft_core.weft_core.u_units.u_vmem.u_storage", chip_.word_bytes);
    for (uint64_t granule = 0; granule < chip_.vmem_bytes / 8; granule++) {
      trace_.vmem.push_back(vmem.granule_value(granule));
      trace_.vmem_check.push_back(vmem.check(granule));
    }
    const core::AccColumns acc(*contextp(), "weft_core.weft_core.u_units.u_mxus.gen_unit[0].u_mxu.u_acc.u_memory",
                               chip_.n, chip_.acc_bank_rows, chip_.vpu_sublanes);
    for (uint32_t row = 0; row < 2 * chip_.acc_bank_rows; row++)
      for (uint32_t lane = 0; lane < chip_.n; lane++) {
        trace_.acc.push_back(acc.data(row, lane));
        trace_.acc_check.push_back(acc.check(row, lane));
      }
  }

 private:
  /// The output means something now.
  [[nodiscard]] bool meant(std::string_view port) const {
    if (!rst_ni) return false;
    if (port == "csr_rdata_o") return csr_valid_i && !csr_write_i;
    if (port.starts_with("mrd_") && port != "mrd_valid_o") return mrd_valid_o;
    if (port == "mwr_space_o") return mwr_valid_o;
    if (port.starts_with("mwr_") && port != "mwr_valid_o") return mwr_valid_o || ici_valid_o;
    if (port == "ici_last_o") return ici_valid_o;
    if (port == "ici_open_channel_o" || port == "ici_open_cmd_o") return ici_open_valid_o;
    if (port == "ici_barrier_cmd_o") return ici_barrier_valid_o;
    if (port == "fetch_cmd_o") return fetch_push_o != 0;
    return true;
  }

  /// Calls visit(is an output, name, value, bits) for each port but the clock. gate_programs compares the list with
  /// the netlist's.
  template <typename Visit>
  void for_each_port(const Visit& visit) const {
#define WEFT_IN(port, bits) visit(false, #port, port, bits##u)
#define WEFT_OUT(port, bits) visit(true, #port, port, bits##u)
    WEFT_IN(rst_ni, 1);
    WEFT_IN(place_i, 32);
    WEFT_IN(csr_valid_i, 1);
    WEFT_IN(csr_write_i, 1);
    WEFT_IN(csr_addr_i, 16);
    WEFT_IN(csr_wdata_i, 64);
    WEFT_OUT(csr_rdata_o, 64);
    WEFT_IN(cmd_valid_i, 1);
    WEFT_IN(cmd_queue_i, 3);
    WEFT_IN(cmd_i, 512);
    WEFT_OUT(queue_full_o, 5);
    WEFT_OUT(mem_reset_o, 1);
    WEFT_OUT(mrd_valid_o, 1);
    WEFT_IN(mrd_ready_i, 1);
    WEFT_OUT(mrd_space_o, 2);
    WEFT_OUT(mrd_addr_o, 64);
    WEFT_OUT(mrd_bytes_o, 16);
    WEFT_OUT(mrd_channel_o, 2);
    WEFT_IN(mrsp_valid_i, 1);
    WEFT_OUT(mrsp_ready_o, 1);
    WEFT_IN(mrsp_channel_i, 2);
    WEFT_IN(mrsp_error_i, 1);
    WEFT_IN(mrsp_data_i, 512);
    WEFT_OUT(mwr_valid_o, 1);
    WEFT_IN(mwr_ready_i, 1);
    WEFT_OUT(mwr_space_o, 2);
    WEFT_OUT(mwr_addr_o, 64);
    WEFT_OUT(mwr_bytes_o, 16);
    WEFT_OUT(mwr_channel_o, 2);
    WEFT_OUT(mwr_data_o, 512);
    WEFT_OUT(ici_open_valid_o, 1);
    WEFT_OUT(ici_open_channel_o, 2);
    WEFT_OUT(ici_open_cmd_o, 512);
    WEFT_OUT(ici_valid_o, 1);
    WEFT_IN(ici_ready_i, 1);
    WEFT_OUT(ici_last_o, 1);
    WEFT_OUT(ici_barrier_valid_o, 1);
    WEFT_OUT(ici_barrier_cmd_o, 512);
    WEFT_IN(ici_ack_valid_i, 1);
    WEFT_IN(ici_ack_fault_i, 1);
    WEFT_IN(ici_ack_channel_i, 1);
    WEFT_IN(ici_ack_tag_i, 16);
    WEFT_IN(ici_ack_address_i, 64);
    WEFT_IN(ici_post_valid_i, 1);
    WEFT_OUT(ici_post_ready_o, 1);
    WEFT_IN(ici_post_sem_i, 8);
    WEFT_IN(ici_post_count_i, 16);
    WEFT_IN(ici_end_valid_i, 1);
    WEFT_IN(ici_end_fault_i, 1);
    WEFT_IN(ici_end_address_i, 64);
    WEFT_IN(mack_valid_i, 1);
    WEFT_IN(mack_channel_i, 2);
    WEFT_IN(mack_error_i, 1);
    WEFT_OUT(irq_o, 1);
    WEFT_OUT(busy_o, 1);
    WEFT_OUT(start_o, 7);
    WEFT_OUT(retire_o, 7);
    WEFT_OUT(fetching_o, 5);
    WEFT_OUT(fetch_push_o, 5);
    WEFT_OUT(fetch_cmd_o, 512);
    WEFT_IN(idle_credit_i, 64);
#undef WEFT_IN
#undef WEFT_OUT
  }

  PinTrace& trace_;
  const spec::Chip& chip_;
};

}  // namespace

std::unique_ptr<core::TensorCore> make_traced_core(const spec::Chip& chip, core::MemoryBus& bus,
                                                   const core::CoreOptions& options, std::string& error,
                                                   PinTrace& trace) {
  if (chip.name != "nano") {
    error = "the pins that are traced are those of nano";
    return nullptr;
  }
  current_trace = &trace;
  return core::make_verilated_core<Traced>(chip, bus, options, error);
}

}  // namespace weft::gates
