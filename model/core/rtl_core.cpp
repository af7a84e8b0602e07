// The parts of the RTL core that do not depend on the preset, and the choice of the preset.
#include "model/core/rtl_core.hpp"

#include "model/core/rtl_presets.hpp"

namespace weft::core {

RtlCore::RtlCore(const spec::Chip& chip, MemoryBus& bus, RemotePort* remote) : chip_(chip), memory_(bus) {
  if (remote != nullptr) slice_.emplace(*this, bus, *remote);
}

bool RtlCore::push(unsigned queue, const spec::Command& command) {
  if (queue >= WEFT_CORE_QUEUES || reset_pending_ || held_in_reset()) return false;
  if (queued_[queue].size() + pending_pushes_[queue] >= WEFT_CORE_QUEUE_DEPTH) return false;
  pending_.push_back({.is_push = true, .queue = queue, .offset = 0, .value = 0, .command = command});
  pending_pushes_[queue]++;
  return true;
}

void RtlCore::write_csr(uint32_t offset, uint64_t value) {
  if (offset == WEFT_CSR_CONTROL && (value & 1) != 0) reset_pending_ = true;
  pending_.push_back({.is_push = false, .queue = 0, .offset = offset, .value = value, .command = {}});
}

void RtlCore::command_accepted(const Pending& push) {
  pending_pushes_[push.queue]--;
  queued_[push.queue].push_back(push.command);
}

void RtlCore::csr_clocked(const Pending& write) {
  injected_ = injected_ || write.offset == WEFT_CSR_INJECT_ARM;
  if (write.offset == WEFT_CSR_CONTROL && (write.value & 1) != 0)
    reset_clocked_ = true;
  else if (tap_ != nullptr)
    tap_->csr_written(write.offset, write.value);
}

void RtlCore::core_was_reset() {
  if (tap_ != nullptr) tap_->core_reset();
  for (auto& queue : queued_) queue.clear();
  for (auto& unit : started_) unit.clear();
  memory_.clear();
  if (slice_) slice_->reset();
  reset_pending_ = false;
  reset_clocked_ = false;
  reset_until_ = cycle_ + WEFT_CORE_CORE_RESET_CYCLES;
}

void RtlCore::command_events(uint32_t start, uint32_t retire) {
  for (unsigned unit = 0; unit < WEFT_CORE_UNITS; unit++) {
    if ((retire >> unit & 1) != 0) {
      const spec::Command command = started_[unit].front();
      started_[unit].pop_front();
      if (observer_ != nullptr) observer_->command_retired(static_cast<weft_unit_index>(unit), command, cycle_);
    }
    if ((start >> unit & 1) != 0) {
      auto& queue = queued_[queue_of_unit(unit)];
      started_[unit].push_back(queue.front());
      queue.pop_front();
      if (observer_ != nullptr)
        observer_->command_started(static_cast<weft_unit_index>(unit), started_[unit].back(), cycle_);
    }
  }
}

std::string rtl_not_built(const spec::Chip& chip) {
  const std::string name(chip.name), possible = WEFT_RTL_POSSIBLE;
  std::string text = "the RTL core of chip '" + name +
                     "' is not in this build, which has those of " WEFT_RTL_BUILT
                     ": take one of these, or the fast core";
  if ((", " + possible + ",").find(", " + name + ",") != std::string::npos)
    return text + ", or build it: cmake --preset release -DWEFT_RTL_CHIPS='nano;" + name + "' && scripts/build";
  return text + " (presets with RTL: " + possible + ")";
}

std::unique_ptr<RtlCore> make_rtl_core(const spec::Chip& chip, MemoryBus& bus, const CoreOptions& options,
                                       std::string& error) {
  if (chip.name == "nano") return make_rtl_core_nano(chip, bus, options, error);
  if (chip.name == "nano-4mxu") return make_rtl_core_nano_4mxu(chip, bus, options, error);
  if (chip.name == "mini") return make_rtl_core_mini(chip, bus, options, error);
  if (chip.name == "small") return make_rtl_core_small(chip, bus, options, error);
  if (chip.name == "v5e-1mxu") return make_rtl_core_v5e_1mxu(chip, bus, options, error);
  if (chip.name == "v5e") return make_rtl_core_v5e(chip, bus, options, error);
  error = rtl_not_built(chip);
  return nullptr;
}

}  // namespace weft::core
