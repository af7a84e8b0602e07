// Fault records: reading, and text.
#include "driver/report/fault_log.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "driver/program/control_list.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

std::string name_or_number(std::string_view name, uint64_t value) {
  return name.empty() ? std::to_string(value) : std::string(name);
}

std::string_view opcode_name(uint8_t opcode) {
  const std::string_view name = spec::queue_opcode_name(opcode);
  return name.empty() ? spec::admin_opcode_name(opcode) : name;
}

std::string progress_text(const weft_fault_record& r) {
  std::string text;
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    if (r.queue_total[q] == 0) continue;
    text += fmt::format("{}{} {} of {}", text.empty() ? "; commands issued: " : ", ", spec::queue_name(q),
                        r.queue_pushed[q], r.queue_total[q]);
  }
  if (r.control_entry != 0) text += "; in " + control_place_text(r.control_entry, r.control_block, r.control_turn);
  return text;
}

}  // namespace

std::optional<weft_fault_record> FaultLog::read(uint32_t place) const {
  const std::byte* p = memory_ + size_t{place} * sizeof(weft_fault_record);
  // Acquire: pairs with the device's store of the number, which it writes last.
  const uint64_t number = __atomic_load_n(reinterpret_cast<const uint64_t*>(p), __ATOMIC_ACQUIRE);
  if (number == 0) return std::nullopt;
  weft_fault_record record;
  std::memcpy(&record, p, sizeof record);
  record.record_number = number;
  return record;
}

std::optional<weft_fault_record> FaultLog::find(uint16_t queue, uint16_t command_id) const {
  std::optional<weft_fault_record> newest;
  for (uint32_t place = 0; place < WEFT_LIMIT_FAULT_ENTRIES; place++) {
    const auto record = read(place);
    if (!record || record->queue_id != queue || record->command_id != command_id) continue;
    if (!newest || record->record_number > newest->record_number) newest = record;
  }
  return newest;
}

std::vector<weft_fault_record> FaultLog::last(size_t count) const {
  std::vector<weft_fault_record> records;
  for (uint32_t place = 0; place < WEFT_LIMIT_FAULT_ENTRIES; place++) {
    if (auto record = read(place)) records.push_back(*record);
  }
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return a.record_number < b.record_number; });
  if (records.size() > count) records.erase(records.begin(), records.end() - static_cast<std::ptrdiff_t>(count));
  return records;
}

std::optional<weft_log_record> read_log_record(const std::byte* ring, size_t place) {
  return settled<weft_log_record>([&] {
    weft_log_record record;
    std::memcpy(&record, ring + place * sizeof record, sizeof record);
    return record;
  });
}

std::vector<weft_log_record> last_log(const std::byte* ring, size_t count) {
  std::vector<weft_log_record> records;
  for (size_t place = 0; place < WEFT_LIMIT_LOG_ENTRIES; place++) {
    const auto record = read_log_record(ring, place);
    if (record && record->sequence != 0) records.push_back(*record);
  }
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
  if (records.size() > count) records.erase(records.begin(), records.end() - static_cast<std::ptrdiff_t>(count));
  return records;
}

std::optional<weft_fault_record> FaultLog::next() {
  const auto record = read(static_cast<uint32_t>(read_ % WEFT_LIMIT_FAULT_ENTRIES));
  if (!record || record->record_number <= read_) return std::nullopt;
  read_ = record->record_number;
  return record;
}

namespace {

/// The parts of the address of fault ICI (spec/faults.toml); nothing for others.
std::string ici_text(const weft_fault_record& r) {
  if (r.fault_code != WEFT_FAULT_ICI) return {};
  const uint64_t cause = r.fault_address >> 56, chip = r.fault_address >> 32 & 0xffff;
  return fmt::format(" (cause {}, chip {}, detail {:#x})", name_or_number(spec::ici_cause_name(cause), cause), chip,
                     r.fault_address & 0xffffffff);
}

}  // namespace

std::string describe_record(const weft_fault_record& r) {
  if (r.fault_code != WEFT_FAULT_NONE) {
    return fmt::format("core fault {} in unit {}, queue {}, command tag {}, address {:#x}{}, at cycle {}{}",
                       name_or_number(spec::fault_name(r.fault_code), r.fault_code),
                       name_or_number(spec::unit_name(r.fault_unit), r.fault_unit),
                       name_or_number(spec::queue_name(r.fault_queue), r.fault_queue), r.fault_tag, r.fault_address,
                       ici_text(r), r.fault_cycle, progress_text(r));
  }
  switch (r.error) {
    case WEFT_ERROR_BAD_DESCRIPTOR:
    case WEFT_ERROR_INVALID_ARGUMENT:
    case WEFT_ERROR_UNSUPPORTED:
    case WEFT_ERROR_EXECUTABLE_INVALID:
      if (r.error == WEFT_ERROR_UNSUPPORTED &&
          (r.detail1 == WEFT_ADMIN_OPCODE_BIND_CONTEXT || r.detail1 == WEFT_ADMIN_OPCODE_RELEASE_CONTEXT))
        return "a function is a context: opening it binds it, and leaving it releases all that it held";
      return fmt::format("the field at byte {} holds {:#x}{}", r.detail0, r.detail1, progress_text(r));
    case WEFT_ERROR_BAD_DOORBELL:
      return fmt::format("the doorbell was {}, the ring's head is {}", r.detail0, r.detail1);
    case WEFT_ERROR_DEPENDENCY_FAILED:
      return fmt::format("command {:#x} (tag {}) of queue {} failed first, with {}", r.detail0 & 0xffff,
                         r.detail0 >> 32, r.detail0 >> 16 & 0xffff,
                         name_or_number(spec::error_name(r.detail1), r.detail1));
    case WEFT_ERROR_SEMAPHORE_FAULT:
      return fmt::format("timeline semaphore {} had reached {} when the command was to raise it", r.detail0, r.detail1);
    case WEFT_ERROR_CANCELLED:
      return fmt::format("at the caller's wish, at cycle {}", r.fault_cycle);
    case WEFT_ERROR_FIRMWARE_PANIC:
      return fmt::format("the firmware stopped itself at waypoint {} with value {:#x}, cycle {}", r.detail0, r.detail1,
                         r.fault_cycle);
    default:
      return fmt::format("address {:#x}, details {:#x} and {:#x}, at cycle {}{}", r.fault_address, r.detail0, r.detail1,
                         r.fault_cycle, progress_text(r));
  }
}

Status describe_failure(const weft_completion_entry& completion, uint8_t opcode,
                        const std::optional<weft_fault_record>& record) {
  const uint32_t code = WEFT_STATUS_CODE(completion.status);
  const bool known = code != WEFT_ERROR_OK && spec::find_error(code) != nullptr;
  Detail detail;
  detail.queue = completion.queue_id;
  detail.command_id = completion.command_id;
  detail.tag = completion.tag;
  detail.cycle = completion.end_cycle;
  if (record) {
    detail.cycle = record->fault_cycle;
    detail.fault = record->fault_code;
    detail.fault_unit = record->fault_unit;
    detail.fault_queue = record->fault_queue;
    detail.fault_tag = record->fault_tag;
    detail.fault_address = record->fault_address;
  }
  const std::string what =
      known ? std::string(spec::error_name(code)) : fmt::format("the unknown status {:#010x}", completion.status);
  detail.message =
      fmt::format("{} on queue {} (command {:#x}, tag {}) ended with {}{}{}",
                  name_or_number(opcode_name(opcode), opcode), completion.queue_id, completion.command_id,
                  completion.tag, what, record ? ": " : "", record ? describe_record(*record) : std::string());
  return Status(known ? static_cast<weft_error>(code) : WEFT_ERROR_INTERNAL, std::move(detail));
}

}  // namespace weft::driver
