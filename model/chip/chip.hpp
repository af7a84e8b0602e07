/// One chip: HBM, manager, tensor core, PCIe functions, and what joins them.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "model/chip/chip_bus.hpp"
#include "model/chip/chip_options.hpp"
#include "model/chip/copy_engine.hpp"
#include "model/chip/core_clock.hpp"
#include "model/chip/core_host.hpp"
#include "model/chip/function.hpp"
#include "model/chip/link_faults.hpp"
#include "model/chip/manager.hpp"
#include "model/chip/time_base.hpp"
#include "model/chip/trace.hpp"

namespace weft::chip {

/// Owns all of it. Made before simulated time starts; one thread.
class Chip final : public sc_core::sc_module, private FunctionEvents, private CoreHostEvents {
 public:
  /// nullptr and a message in `error` if HBM or the core cannot be had.
  /// `clock` drives its core and outlives it.
  static std::unique_ptr<Chip> make(const char* name, const ChipOptions& options, CoreClock& clock, std::string& error);

  /// What the loop of simulated time asks of it is told there from now on, its functions from `first_function` on; it
  /// outlives this object.
  void tell(Attention& attention, size_t first_function);

  [[nodiscard]] const TimeBase& time() const { return time_; }
  [[nodiscard]] size_t functions() const { return functions_.size(); }
  [[nodiscard]] Function& function(size_t index) { return *functions_[index]; }
  [[nodiscard]] ChipBus& bus() { return bus_; }
  [[nodiscard]] CoreHost& core() { return *core_; }
  [[nodiscard]] Manager& manager() { return *manager_; }
  [[nodiscard]] const CopyEngine& copy_engine() const { return *copy_; }
  [[nodiscard]] const spec::Chip& preset() const { return preset_; }
  [[nodiscard]] uint64_t cycle() const { return core_->cycle(); }
  /// What injected faults do to a packet that leaves by `port` now.
  [[nodiscard]] ici::LinkTrouble link_trouble(unsigned port) { return chip::link_trouble(functions_, port, time_); }
  /// Hears what passes between the chip and its hosts; nullptr: nobody. Outlives this object or is removed before.
  void set_boundary(Boundary* boundary);

 private:
  Chip(sc_core::sc_module_name name, const ChipOptions& options, std::unique_ptr<SparseMemory> hbm);
  [[nodiscard]] std::vector<std::unique_ptr<Function>> make_functions(const ChipOptions& options);
  [[nodiscard]] bool attach_core(const ChipOptions& options, CoreClock& clock, std::string& error);

  // FunctionEvents
  [[nodiscard]] uint64_t device_cycle() const override { return cycle(); }
  void wake_manager() override { manager_->wake(); }
  void function_reset(unsigned function) override;
  void function_left(unsigned function) override;
  /// The firmware takes back one function and goes on with the others. Otherwise what happens to one happens to the
  /// device: the function is the only one, or the firmware has failed.
  [[nodiscard]] bool shared() const { return functions_.size() > 1 && !manager_->failed(); }
  /// Everything starts anew; `function` has reset itself already.
  void device_reset(unsigned function);
  void snapshot(std::array<uint64_t, WEFT_COUNTERS>& counters) override { core_->snapshot(counters); }
  [[nodiscard]] uint32_t firmware_status() override { return manager_->status(); }
  void simulator_exits() override;
  // CoreHostEvents
  void core_interrupt() override { manager_->wake(); }
  void core_mismatch(const core::Mismatch& mismatch) override;

  const spec::Chip preset_;
  const TimeBase time_;
  std::unique_ptr<SparseMemory> hbm_;
  std::vector<std::unique_ptr<Function>> functions_;
  ChipBus bus_;
  std::function<void(const std::string&)> report_mismatch_;
  Boundary* boundary_ = nullptr;
  std::unique_ptr<TraceWriter> trace_;
  std::unique_ptr<CoreHost> core_;
  std::unique_ptr<CopyEngine> copy_;
  std::unique_ptr<Manager> manager_;
};

}  // namespace weft::chip
