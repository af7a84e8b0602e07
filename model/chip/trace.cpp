#include "model/chip/trace.hpp"

#include <fmt/format.h>

#include "weft/spec/names.hpp"

namespace weft::chip {
namespace {

constexpr unsigned kManagerTrack = 0;
constexpr unsigned kFirstUnitTrack = 1;

}  // namespace

TraceWriter::TraceWriter(std::shared_ptr<TraceFile> file, uint32_t process, uint64_t clock_hz,
                         std::function<bool()> enabled)
    : file_(std::move(file)),
      process_(process),
      clock_hz_(static_cast<double>(clock_hz)),
      enabled_(std::move(enabled)) {
  file_->name_track(process, kManagerTrack, "manager");
  for (unsigned unit = 0; unit < WEFT_CORE_UNITS; unit++)
    file_->name_track(process, kFirstUnitTrack + unit, spec::unit_name(unit));
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
  file_->event(fmt::format(
      R"({{"ph":"X","pid":{},"tid":{},"name":"{}","ts":{:.4f},"dur":{:.4f},"args":{{"tag":{},"cycle_start":{},"cycle_end":{}}}}})",
      process_, kFirstUnitTrack + unit, name.empty() ? fmt::format("opcode {}", opcode) : std::string(name),
      microseconds(from), microseconds(cycle - from), spec::decode_header(command).tag, from, cycle));
  ended_ = Ended{kFirstUnitTrack + unit, from};
}

void TraceWriter::manager_awake(uint64_t from_cycle, uint64_t to_cycle) {
  if (!enabled_() || to_cycle <= from_cycle) return;
  file_->event(fmt::format(
      R"({{"ph":"X","pid":{},"tid":{},"name":"firmware","ts":{:.4f},"dur":{:.4f},"args":{{"cycle_start":{},"cycle_end":{}}}}})",
      process_, kManagerTrack, microseconds(from_cycle), microseconds(to_cycle - from_cycle), from_cycle, to_cycle));
}

void TraceWriter::interrupt(uint64_t cycle) {
  if (!enabled_() || !ended_) return;
  constexpr auto* kArrow =
      R"({{"ph":"{}","pid":{},"tid":{},"id":{},"name":"completion","cat":"completion","ts":{:.4f}{}}})";
  const uint64_t arrow = file_->new_arrow();
  file_->event(fmt::format(kArrow, "s", process_, ended_->track, arrow, microseconds(ended_->cycle), ""));
  file_->event(fmt::format(kArrow, "f", process_, kManagerTrack, arrow, microseconds(cycle), R"(,"bp":"e")"));
  ended_.reset();
}

}  // namespace weft::chip
