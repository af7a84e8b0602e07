// A command as a person reads it.
#include "model/core/command/command_text.hpp"

#include <fmt/format.h>

#include <span>

#include "weft/spec/command_fields.hpp"
#include "weft/spec/names.hpp"

namespace weft::core {
namespace {

std::string value_text(const spec::FieldInfo& field, uint64_t value) {
  for (const auto& named : spec::enum_values(field.enum_name))
    if (named.value == value) return std::string(named.name);
  if (field.is_signed) {
    const unsigned unused_bits = 64 - 8u * field.bytes;
    return fmt::format("{}", static_cast<int64_t>(value << unused_bits) >> unused_bits);
  }
  return fmt::format("{}", value);
}

void append_fields(std::string& text, std::span<const spec::FieldInfo> fields, const spec::Command& command) {
  for (const auto& field : fields) {
    const uint64_t value = spec::load_le(command, field.offset, field.bytes);
    const bool semaphore = field.name.find("_sem") != std::string_view::npos;
    if (field.name == "opcode" || field.name == "tag" || value == (semaphore ? uint64_t{WEFT_NO_SEMAPHORE} : 0))
      continue;
    text += fmt::format(", {} {}", field.name, value_text(field, value));
  }
}

}  // namespace

std::string command_text(const spec::Command& command) {
  const spec::CommandHeader header = spec::decode_header(command);
  const spec::OpcodeInfo* opcode = spec::find_opcode(header.opcode);
  std::string text = fmt::format(
      "{} tag {}", opcode == nullptr ? fmt::format("opcode {:#04x}", header.opcode) : std::string(opcode->name),
      header.tag);
  append_fields(text, spec::kHeaderFields, command);
  if (opcode != nullptr) append_fields(text, spec::body_fields(opcode->body), command);
  return text;
}

}  // namespace weft::core
