// Names where the specification has one, numbers elsewhere.
#include "host/tools/live/ring_entries.hpp"

#include <fmt/format.h>

#include "base/crc32c.hpp"
#include "weft/spec/names.hpp"

namespace weft::tools {
namespace {

std::string address_text(uint64_t address) {
  const bool hbm = (address & WEFT_LIMIT_ADDRESS_FLAG_HBM) != 0;
  return fmt::format("{:#x} ({})", address & ~WEFT_LIMIT_ADDRESS_FLAG_HBM, hbm ? "HBM" : "host");
}

std::string queue_arguments_text(const weft_submission_entry& e) {
  switch (static_cast<weft_queue_opcode>(e.opcode)) {
    case WEFT_QUEUE_OPCODE_LAUNCH:
      return fmt::format("program {}, kernel {}, argument list at {:#x}", e.arg0, e.size, e.arg1);
    case WEFT_QUEUE_OPCODE_COPY:
      return fmt::format("{} to {}, {} bytes", address_text(e.arg0), address_text(e.arg1), e.size);
    case WEFT_QUEUE_OPCODE_FILL:
      return fmt::format("pattern {:#010x} to {}, {} bytes", e.arg0, address_text(e.arg1), e.size);
    case WEFT_QUEUE_OPCODE_SIGNAL:
    case WEFT_QUEUE_OPCODE_WAIT:
    case WEFT_QUEUE_OPCODE_FENCE:
    case WEFT_QUEUE_OPCODE_TIMESTAMP:
    case WEFT_QUEUE_OPCODE_NOP:
    case WEFT_QUEUE_OPCODE_COLLECTIVE:
      return "";
  }
  return "";
}

std::string plain_arguments_text(const weft_submission_entry& e) {
  return fmt::format("arg0 {:#x}, arg1 {:#x}, size {:#x}", e.arg0, e.arg1, e.size);
}

}  // namespace

CompletionStatus completion_status(const weft_completion_entry& entry) {
  return {WEFT_STATUS_PHASE(entry.status), WEFT_STATUS_CLASS(entry.status), WEFT_STATUS_CODE(entry.status),
          WEFT_STATUS_RETRYABLE(entry.status) != 0, WEFT_STATUS_MORE(entry.status) != 0};
}

std::string opcode_text(uint8_t opcode) {
  std::string_view name = spec::queue_opcode_name(opcode);
  if (name.empty()) name = spec::admin_opcode_name(opcode);
  return name.empty() ? fmt::format("opcode {}", opcode) : std::string(name);
}

std::string error_text(uint32_t code) {
  const std::string_view name = spec::error_name(code);
  return name.empty() ? fmt::format("error {}", code) : std::string(name);
}

std::string flags_text(uint8_t flags) {
  std::string text;
  for (unsigned bit = 1; bit < 256; bit <<= 1) {
    if ((flags & bit) == 0) continue;
    const std::string_view name = spec::submission_flag_name(bit);
    text += (text.empty() ? "" : "+") + (name.empty() ? fmt::format("{:#x}", bit) : std::string(name));
  }
  return text.empty() ? "-" : text;
}

std::string arguments_text(const weft_submission_entry& entry) {
  std::string text =
      spec::queue_opcode_name(entry.opcode).empty() ? plain_arguments_text(entry) : queue_arguments_text(entry);
  const auto add = [&text](std::string more) { text += (text.empty() ? "" : "; ") + std::move(more); };
  if (entry.wait_id != 0) add(fmt::format("waits for timeline {} >= {}", entry.wait_id, entry.wait_value));
  if (entry.signal_id != 0) add(fmt::format("raises timeline {} to {}", entry.signal_id, entry.signal_value));
  if (entry.budget_kcycles != 0) add(fmt::format("budget {} kcycles", entry.budget_kcycles));
  return text;
}

bool crc_matches(const weft_submission_entry& entry, uint32_t index, uint32_t entries) {
  const uint32_t lap = entries == 0 ? 0 : index / entries;
  return (crc32c(&entry, offsetof(weft_submission_entry, crc32c)) ^ lap) == entry.crc32c;
}

}  // namespace weft::tools
