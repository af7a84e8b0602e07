// One line of JSON an event.
#include "model/chip/trace.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "weft/spec/names.hpp"

namespace weft::chip {
namespace {

constexpr unsigned kManagerTrack = 0;
constexpr unsigned kFirstUnitTrack = 1;

}  // namespace

std::unique_ptr<TraceWriter> TraceWriter::make(const std::string& path, uint64_t clock_hz,
                                               std::function<bool()> enabled, std::string& error) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    error = fmt::format("trace file '{}': {}", path, std::strerror(errno));
    return nullptr;
  }
  return std::unique_ptr<TraceWriter>(new TraceWriter(file, clock_hz, std::move(enabled)));
}

TraceWriter::TraceWriter(std::FILE* file, uint64_t clock_hz, std::function<bool()> enabled)
    : file_(file), clock_hz_(static_cast<double>(clock_hz)), enabled_(std::move(enabled)) {
  std::fputs("[\n", file_);
  name_track(kManagerTrack, "manager");
  for (unsigned unit = 0; unit < WEFT_CORE_UNITS; unit++) name_track(kFirstUnitTrack + unit, spec::unit_name(unit));
}

TraceWriter::~TraceWriter() {
  std::fputs("\n]\n", file_);
  std::fclose(file_);
}

void TraceWriter::event(const std::string& json) {
  if (!first_) std::fputs(",\n", file_);
  first_ = false;
  std::fputs(json.c_str(), file_);
}

void TraceWriter::name_track(unsigned track, std::string_view name) {
  event(fmt::format(R"({{"ph":"M","pid":0,"tid":{0},"name":"thread_name","args":{{"name":"{1}"}}}},)"
                    "\n"
                    R"({{"ph":"M","pid":0,"tid":{0},"name":"thread_sort_index","args":{{"sort_index":{0}}}}})",
                    track, name));
}

void TraceWriter::command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) {
  if (enabled_()) started_[unit].push_back({command, cycle});
}

void TraceWriter::command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) {
  auto& started = started_[unit];
  while (!started.empty() && !(started.front().command == command)) started.pop_front();  // cut off by a core reset
  if (started.empty()) return;
  const uint64_t from = started.front().cycle;
  started.pop_front();
  const uint8_t opcode = command.bytes[0];
  const std::string_view name = spec::core_opcode_name(opcode);
  event(fmt::format(
      R"({{"ph":"X","pid":0,"tid":{},"name":"{}","ts":{:.4f},"dur":{:.4f},"args":{{"tag":{},"cycle_start":{},"cycle_end":{}}}}})",
      kFirstUnitTrack + unit, name.empty() ? fmt::format("opcode {}", opcode) : std::string(name), microseconds(from),
      microseconds(cycle - from), spec::decode_header(command).tag, from, cycle));
}

void TraceWriter::manager_awake(uint64_t from_cycle, uint64_t to_cycle) {
  if (!enabled_() || to_cycle <= from_cycle) return;
  event(fmt::format(
      R"({{"ph":"X","pid":0,"tid":{},"name":"firmware","ts":{:.4f},"dur":{:.4f},"args":{{"cycle_start":{},"cycle_end":{}}}}})",
      kManagerTrack, microseconds(from_cycle), microseconds(to_cycle - from_cycle), from_cycle, to_cycle));
}

}  // namespace weft::chip
