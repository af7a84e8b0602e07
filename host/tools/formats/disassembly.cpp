// Field names and enumerations come from the specification's tables; nothing here knows a command.
#include "host/tools/formats/disassembly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "driver/program/executable_loader.hpp"
#include "host/compiler/executable/control_list.hpp"
#include "host/compiler/executable/debug_section.hpp"
#include "host/tools/formats/json_text.hpp"
#include "weft/spec/command_fields.hpp"
#include "weft/spec/names.hpp"

namespace weft::tools {
namespace {

/// A checked executable with what is needed to name things.
struct Loaded {
  driver::Executable executable;
  std::string chip;
  std::map<uint16_t, std::string> tags;
};

Result<Loaded> load(const std::vector<std::byte>& file) {
  weft_executable_header header{};
  std::memcpy(&header, file.data(), std::min(file.size(), sizeof header));
  header.chip_name[sizeof header.chip_name - 1] = 0;
  const std::string name(reinterpret_cast<const char*>(header.chip_name));
  const auto* chip = spec::find_chip(name);
  // A file that is no executable is refused by the loader whatever the chip; one for an unknown chip is refused here.
  if (header.magic == WEFT_EXECUTABLE_MAGIC && !chip)
    return Error{WEFT_ERROR_EXECUTABLE_INVALID,
                 fmt::format("it is for chip '{}', which is no preset of this build", name)};
  auto executable = driver::load_executable(file, chip ? *chip : spec::kChips.front());
  if (!executable.ok()) return Error{executable.status().code(), executable.status().message()};
  return Loaded{std::move(executable.value()), name, compiler::read_tags(file)};
}

spec::Command command_at(const driver::Executable& executable, uint64_t index) {
  spec::Command command;
  std::memcpy(command.bytes.data(), &executable.commands[index * sizeof command.bytes], sizeof command.bytes);
  return command;
}

/// A field's value as a number, or as the name that its enumeration gives it.
nlohmann::ordered_json field_value(const spec::Command& command, const spec::FieldInfo& field) {
  uint64_t value = spec::load_le(command, field.offset, field.bytes);
  for (const auto& named : spec::enum_values(field.enum_name))
    if (named.value == value) return std::string(named.name);
  if (field.is_signed) return static_cast<int64_t>(value << (64 - 8 * field.bytes)) >> (64 - 8 * field.bytes);
  return value;
}

nlohmann::ordered_json command_json(const spec::Command& command, const std::map<uint16_t, std::string>& tags) {
  nlohmann::ordered_json json;
  const auto header = spec::decode_header(command);
  const auto* opcode = spec::find_opcode(header.opcode);
  json["opcode"] = opcode ? std::string(opcode->name) : fmt::format("{:#04x}", header.opcode);
  json["tag"] = header.tag;
  if (const auto text = tags.find(header.tag); text != tags.end()) json["text"] = text->second;
  const auto semaphore = [&json](const char* kind, uint8_t number, uint16_t count) {
    if (number != WEFT_NO_SEMAPHORE) json[kind].push_back({{"semaphore", number}, {"count", count}});
  };
  semaphore("wait", header.wait_sem0, header.wait_count0);
  semaphore("wait", header.wait_sem1, header.wait_count1);
  semaphore("post", header.post_sem0, header.post_count0);
  semaphore("post", header.post_sem1, header.post_count1);
  if (opcode)
    for (const auto& field : spec::body_fields(opcode->body))
      json["fields"][std::string(field.name)] = field_value(command, field);
  return json;
}

std::string command_text(const spec::Command& command, const std::map<uint16_t, std::string>& tags) {
  const auto json = command_json(command, tags);
  std::string text = fmt::format("{:<12}", json["opcode"].get<std::string>());
  for (const char* kind : {"wait", "post"})
    if (json.contains(kind))
      for (const auto& s : json[kind])
        text += fmt::format(" {}(s{} {} {})", kind, s["semaphore"].get<int>(),
                            kind[0] == 'w' ? ">=" : "+=", s["count"].get<int>());
  if (json.contains("fields"))
    for (const auto& [name, value] : json["fields"].items())
      if (value != 0 && value != "none")
        text += fmt::format(" {}={}", name, value.is_string() ? value.get<std::string>() : json_text(value, -1));
  if (json.contains("text")) text += "  ; " + json["text"].get<std::string>();
  return text;
}

/// The commands of a kernel, or of a block of its control list.
struct Commands {
  std::string title;  ///< empty: the kernel's own
  std::array<uint32_t, WEFT_CORE_QUEUES> first, count;
};

std::vector<Commands> commands_of(const driver::ExecutableKernel& kernel) {
  if (!kernel.control) return {{{}, kernel.queue_first, kernel.queue_count}};
  std::vector<Commands> blocks;
  for (const weft_control_block& block : kernel.control->blocks) {
    blocks.push_back({fmt::format("block {}", blocks.size()), {}, {}});
    std::ranges::copy(block.queue_first, blocks.back().first.begin());
    std::ranges::copy(block.queue_count, blocks.back().count.begin());
  }
  return blocks;
}

std::string list_text(const driver::ControlList& list) {
  return compiler::control_text({.blocks = {}, .bindings = list.bindings, .entries = list.entries});
}

nlohmann::ordered_json queues_json(const driver::Executable& executable, const Commands& commands,
                                   const std::map<uint16_t, std::string>& tags) {
  nlohmann::ordered_json queues;
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
    auto& list = queues[std::string(spec::queue_name(q))] = nlohmann::ordered_json::array();
    for (uint32_t i = 0; i < commands.count[q]; i++)
      list.push_back(command_json(command_at(executable, commands.first[q] + i), tags));
  }
  return queues;
}

}  // namespace

Result<std::string> disassemble(const std::vector<std::byte>& file) {
  const auto loaded = load(file);
  if (!loaded.ok()) return loaded.error();
  const auto& [executable, chip, tags] = loaded.value();
  std::string text = fmt::format("; executable for {}: {} kernels, {} commands, {} bytes of constants\n", chip,
                                 executable.kernels.size(), executable.commands.size() / sizeof(spec::Command),
                                 executable.constants.size());
  for (const auto& kernel : executable.kernels) {
    text += fmt::format("\nkernel {}  ; {} MACs, at least {} cycles, {} bytes of VMEM, {} bytes of scratch\n",
                        kernel.name, kernel.macs, kernel.cycle_estimate, kernel.vmem_bytes, kernel.scratch_bytes);
    for (size_t i = 0; i < kernel.arguments.size(); i++) {
      const auto& a = kernel.arguments[i];
      const std::string segment = kernel.control ? std::string() : fmt::format(" (segment {})", i + 3);
      text += fmt::format("  argument {}{}: {} {} [{}, {}] {} {}, {} bytes\n", i, segment,
                          spec::argument_direction_name(a.direction), a.name, a.shape[0], a.shape[1],
                          spec::argument_dtype_name(a.dtype), spec::argument_layout_name(a.layout), a.size_bytes);
    }
    if (kernel.control)
      text +=
          fmt::format("\n  control list  ; {} entries\n{}", kernel.control->entries.size(), list_text(*kernel.control));
    for (const Commands& commands : commands_of(kernel)) {
      if (!commands.title.empty()) text += fmt::format("\n  {}\n", commands.title);
      for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
        text += fmt::format("\n  queue {}  ; {} commands\n", spec::queue_name(q), commands.count[q]);
        for (uint32_t i = 0; i < commands.count[q]; i++)
          text += fmt::format("  {:6}  {}\n", i, command_text(command_at(executable, commands.first[q] + i), tags));
      }
    }
  }
  return text;
}

Result<std::string> disassemble_json(const std::vector<std::byte>& file) {
  const auto loaded = load(file);
  if (!loaded.ok()) return loaded.error();
  const auto& [executable, chip, tags] = loaded.value();
  nlohmann::ordered_json json;
  json["chip"] = chip;
  for (const auto& kernel : executable.kernels) {
    nlohmann::ordered_json k = {{"name", kernel.name},
                                {"macs", kernel.macs},
                                {"cycle_estimate", kernel.cycle_estimate},
                                {"vmem_bytes", kernel.vmem_bytes},
                                {"scratch_bytes", kernel.scratch_bytes}};
    for (const auto& a : kernel.arguments)
      k["arguments"].push_back({{"name", a.name},
                                {"direction", spec::argument_direction_name(a.direction)},
                                {"dtype", spec::argument_dtype_name(a.dtype)},
                                {"layout", spec::argument_layout_name(a.layout)},
                                {"shape", a.shape},
                                {"size_bytes", a.size_bytes}});
    if (kernel.control) k["control"] = list_text(*kernel.control);
    for (const Commands& commands : commands_of(kernel)) {
      auto queues = queues_json(executable, commands, tags);
      if (kernel.control)
        k["blocks"].push_back({{"queues", std::move(queues)}});
      else
        k["queues"] = std::move(queues);
    }
    json["kernels"].push_back(std::move(k));
  }
  return json_text(json) + "\n";
}

}  // namespace weft::tools
