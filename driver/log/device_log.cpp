// Merging by cycle.
#include "driver/log/device_log.hpp"

#include <algorithm>
#include <utility>

#include "driver/report/fault_log.hpp"
#include "driver/report/log_text.hpp"

namespace weft::driver {

void DeviceLog::set_device(std::string name) {
  const std::lock_guard lock(mutex_);
  device_ = std::move(name);
}

void DeviceLog::set_ring(const std::byte* ring) {
  const std::lock_guard lock(mutex_);
  if (ring_ != nullptr) take_records();  // of the one that goes
  ring_ = ring;
  read_ = 0;
}

void DeviceLog::add(LogModule module, LogLevel level, std::optional<uint64_t> cycle, std::string text) {
  const std::lock_guard lock(mutex_);
  if (cycle) last_cycle_ = std::max(last_cycle_, *cycle);
  pending_.push_back({cycle.value_or(last_cycle_), cycle.has_value(), level, module, std::move(text)});
  if (pending_.size() >= kMaxPending) flush_locked();
}

void DeviceLog::flush() {
  const std::lock_guard lock(mutex_);
  if (!device_.empty()) flush_locked();
}

void DeviceLog::close() {
  const std::lock_guard lock(mutex_);
  flush_locked();
  ring_ = nullptr;
}

/// The mutex is held.
void DeviceLog::take_records() {
  const LogLevels levels = log_levels();
  if (levels.firmware() == LogLevel::kOff) return;
  for (const weft_log_record& record : last_log(ring_, WEFT_LIMIT_LOG_ENTRIES)) {
    if (record.sequence <= read_) continue;
    if (const uint32_t lost = record.sequence - read_ - 1; lost != 0)
      records_.push_back(
          {record.cycle, true, LogLevel::kWarning, LogModule::kFirmwareDevice,
           fmt::format("{} records of the firmware's log were overwritten before they were read", lost)});
    read_ = record.sequence;
    const auto level = static_cast<LogLevel>(std::min<uint16_t>(record.level, static_cast<uint16_t>(LogLevel::kDebug)));
    const LogModule module = log_module_of(record.event);
    if (levels.wants(module, level)) records_.push_back({record.cycle, true, level, module, log_event_text(record)});
  }
}

/// The mutex is held.
void DeviceLog::flush_locked() {
  if (ring_ != nullptr) take_records();
  if (pending_.empty() && records_.empty()) return;
  std::vector<LogLine> lines = std::exchange(records_, {});
  // A line without a cycle belongs behind the driver's line before it, wherever that stands now.
  std::move(pending_.begin(), pending_.end(), std::back_inserter(lines));
  pending_.clear();
  std::stable_sort(lines.begin(), lines.end(), [](const LogLine& a, const LogLine& b) { return a.cycle < b.cycle; });
  for (const LogLine& line : lines) {
    last_cycle_ = std::max(last_cycle_, line.cycle);
    hand_out(device_, line);
  }
}

}  // namespace weft::driver
