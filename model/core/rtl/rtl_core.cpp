// The parts of the RTL core that do not depend on the preset, and the choice of the preset.
#include "model/core/rtl/rtl_core.hpp"

#include "model/core/rtl/loaded_core.hpp"
#include "model/core/rtl/rtl_presets.hpp"

namespace weft::core {

namespace {

/// The queue whose fetch a write of this register starts; -1: none.
int starts_fetch(uint32_t offset) {
  const uint32_t at = offset - WEFT_CSR_PREFETCH_COUNT;
  return at % 8 == 0 && at / 8 < WEFT_CORE_QUEUES ? static_cast<int>(at / 8) : -1;
}

}  // namespace

RtlCore::RtlCore(const spec::Chip& chip, MemoryBus& bus, RemotePort* remote) : chip_(chip), memory_(bus) {
  if (remote != nullptr) slice_.emplace(*this, bus, *remote);
}

bool RtlCore::push(unsigned queue, const spec::Command& command) {
  if (queue >= WEFT_CORE_QUEUES || reset_pending_ || held_in_reset()) return false;
  if (fetching(queue) || pending_fetches_[queue] != 0) return false;
  if (queued_[queue].size() + pending_pushes_[queue] >= WEFT_CORE_QUEUE_DEPTH) return false;
  pending_.push_back({.is_push = true, .queue = queue, .offset = 0, .value = 0, .command = command});
  pending_pushes_[queue]++;
  return true;
}

void RtlCore::write_csr(uint32_t offset, uint64_t value) {
  if (offset == WEFT_CSR_CONTROL && (value & WEFT_CSR_CONTROL_CORE_RESET) != 0) reset_pending_ = true;
  if (const int queue = starts_fetch(offset); queue >= 0) pending_fetches_[static_cast<size_t>(queue)]++;
  pending_.push_back({.is_push = false, .queue = 0, .offset = offset, .value = value, .command = {}});
}

void RtlCore::command_accepted(const Pending& push) {
  pending_pushes_[push.queue]--;
  queued_[push.queue].push_back(push.command);
}

void RtlCore::csr_clocked(const Pending& write) {
  if (const int queue = starts_fetch(write.offset); queue >= 0) pending_fetches_[static_cast<size_t>(queue)]--;
  injected_ = injected_ || write.offset == WEFT_CSR_INJECT_ARM;
  if (write.offset == WEFT_CSR_CONTROL && (write.value & WEFT_CSR_CONTROL_CORE_RESET) != 0)
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

namespace {

/// The error of a preset whose RTL core is not in this build: names those that are, and what to do.
std::string rtl_not_built(const spec::Chip& chip, ArrayForm array) {
  std::string built;
  for (const RtlPreset& preset : rtl_presets())
    if (preset.array == array) built += (built.empty() ? "" : ", ") + std::string(preset.chip);
  const bool structural = array == ArrayForm::kStructural;
  const std::string why = why_no_module(chip.name, array);
  const std::string what = structural ? "the RTL core with the structural array" : "the RTL core";
  return what + " of chip '" + std::string(chip.name) + "' is not in this build, which has " +
         (built.empty() ? "none" : "those of " + built) + ": take one of these, or the " +
         (structural ? "fast array" : "fast core") + ", or build it: weft build-chip " + std::string(chip.name) +
         (structural ? " --array structural" : "") + (why.empty() ? "" : "; " + why);
}

}  // namespace

std::unique_ptr<RtlCore> make_rtl_core(const spec::Chip& chip, MemoryBus& bus, const CoreOptions& options,
                                       std::string& error) {
  for (const RtlPreset& preset : rtl_presets())
    if (preset.chip == chip.name && preset.array == options.array) return preset.make(chip, bus, options, error);
  if (RtlCoreMaker* const make = load_core(chip.name, options.array, error); make != nullptr)
    return make(chip, bus, options, error);
  if (error.empty()) error = rtl_not_built(chip, options.array);
  return nullptr;
}

}  // namespace weft::core
