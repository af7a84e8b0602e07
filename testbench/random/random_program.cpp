// The file form of a program.
#include "testbench/random/random_program.hpp"

#include <fmt/format.h>

#include <istream>
#include <sstream>

#include "model/core/command/command_text.hpp"
#include "weft/spec/names.hpp"

namespace weft::random {
namespace {

std::string hex(const spec::Command& command) {
  std::string text;
  for (const uint8_t byte : command.bytes) text += fmt::format("{:02x}", byte);
  return text;
}

bool parse_hex(const std::string& text, spec::Command& command) {
  if (text.size() != 2 * command.bytes.size() || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return false;
  for (size_t i = 0; i < command.bytes.size(); i++)
    command.bytes[i] = static_cast<uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  return true;
}

/// Index of a name in a generated table.
template <class Table>
bool find_value(const Table& table, const std::string& name, unsigned& value) {
  for (const auto& row : table) {
    if (row.name != name) continue;
    value = static_cast<unsigned>(row.value);
    return true;
  }
  return false;
}

bool parse_segment(std::istream& in, golden::SegmentTable& table) {
  unsigned index = 0, space = 0;
  std::string name, rights;
  golden::Segment s;
  if (!(in >> index >> name >> std::hex >> s.base >> s.limit >> rights) || index >= WEFT_SEGMENTS) return false;
  if (!find_value(spec::kAddressSpaceNames, name, space)) return false;
  s.space = static_cast<weft_address_space>(space);
  s.readable = rights.find('r') != std::string::npos;
  s.writable = rights.find('w') != std::string::npos;
  table[index] = s;
  golden::copy_to_version1(table);
  return true;
}

bool parse_command(std::istream& in, std::vector<QueuedCommand>& commands) {
  std::string name, bytes;
  QueuedCommand command;
  if (!(in >> name >> bytes) || !find_value(spec::kQueueNames, name, command.queue) ||
      !parse_hex(bytes, command.command))
    return false;
  commands.push_back(command);
  return true;
}

bool parse_fault(std::istream& in, std::optional<ExpectedFault>& fault) {
  std::string code, queue;
  unsigned number = 0;
  ExpectedFault f;
  if (!(in >> code >> queue >> f.tag >> std::hex >> f.address)) return false;
  if (!find_value(spec::kFaultNames, code, number) || !find_value(spec::kQueueNames, queue, f.queue)) return false;
  f.code = static_cast<weft_fault>(number);
  fault = f;
  return true;
}

bool parse_line(const std::string& key, std::istream& in, Program& program) {
  if (key == "segment") return parse_segment(in, program.segments);
  if (key == "command") return parse_command(in, program.commands);
  if (key == "fault") return parse_fault(in, program.fault);
  if (key == "seed") return static_cast<bool>(in >> program.seed);
  if (key == "data_seed") return static_cast<bool>(in >> program.data_seed);
  if (key == "stall_percent") return static_cast<bool>(in >> program.stall_percent);
  if (key == "jitter") return static_cast<bool>(in >> program.jitter);
  if (key == "prefetch") return static_cast<bool>(in >> program.prefetch);
  if (key == "hbm_bytes") return static_cast<bool>(in >> program.hbm_bytes);
  if (key == "plain_data") return static_cast<bool>(in >> program.plain_data);
  if (key != "chip") return false;
  std::string name;
  in >> name;
  program.chip = spec::find_chip(name);
  return program.chip != nullptr;
}

}  // namespace

std::string program_text(const Program& program) {
  std::string text = fmt::format(
      "# run: random_programs --replay <this file>\nchip {}\nseed {}\ndata_seed {}\nstall_percent {}\njitter {}\n",
      program.chip->name, program.seed, program.data_seed, program.stall_percent, program.jitter ? 1 : 0);
  if (program.prefetch) text += "prefetch 1\n";
  if (program.hbm_bytes != 0) text += fmt::format("hbm_bytes {}\n", program.hbm_bytes);
  if (program.plain_data) text += "plain_data 1\n";
  for (unsigned i = 0; i < WEFT_SEGMENTS; i++) {
    const golden::Segment& s = program.segments[i];
    if (s.space == WEFT_ADDRESS_SPACE_NONE) continue;
    text += fmt::format("segment {} {} {:#x} {:#x} {}{}-\n", i, spec::address_space_name(s.space), s.base, s.limit,
                        s.readable ? "r" : "", s.writable ? "w" : "");
  }
  if (program.fault)
    text += fmt::format("fault {} {} {} {:#x}\n", spec::fault_name(program.fault->code),
                        spec::queue_name(program.fault->queue), program.fault->tag, program.fault->address);
  for (const auto& c : program.commands)
    text +=
        fmt::format("# {}\ncommand {} {}\n", core::command_text(c.command), spec::queue_name(c.queue), hex(c.command));
  return text;
}

std::optional<Program> parse_program(std::istream& text, std::string& error) {
  Program program;
  std::string line;
  for (unsigned number = 1; std::getline(text, line); number++) {
    std::istringstream in(line);
    std::string key;
    if (!(in >> key) || key[0] == '#') continue;
    if (parse_line(key, in, program)) continue;
    error = fmt::format("line {}: '{}' is no line of a program", number, line.substr(0, 60));
    return std::nullopt;
  }
  if (program.chip == nullptr) {
    error = "no line names the chip";
    return std::nullopt;
  }
  return program;
}

}  // namespace weft::random
