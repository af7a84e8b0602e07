#include "model/chip/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "firmware/queue/queue.hpp"
#include "weft/spec/names.hpp"

namespace weft::chip {
namespace {

constexpr unsigned kManagerTrack = 0;
constexpr unsigned kFirstUnitTrack = 1;
constexpr unsigned kFirstQueueTrack = 300;  // links come before

/// The entry that a completion is of. It still stands in the firmware's memory, unless another batch of its queue has
/// taken its place: nullptr.
const weft_submission_entry* find_entry(std::span<const weft_submission_entry> batch,
                                        const weft_completion_entry& completion) {
  const auto found = std::ranges::find_if(batch, [&completion](const weft_submission_entry& entry) {
    return entry.command_id == completion.command_id && entry.tag == completion.tag;
  });
  return found == batch.end() ? nullptr : &*found;
}

std::string name_of(uint32_t queue, const weft_submission_entry* entry) {
  std::string_view name;
  if (entry != nullptr)
    name = queue == fw::kAdminQueue ? spec::admin_opcode_name(entry->opcode) : spec::queue_opcode_name(entry->opcode);
  return name.empty() ? "command" : std::string(name);
}

std::string status_name(uint32_t status) {
  const uint32_t code = WEFT_STATUS_CODE(status);
  const auto* error = spec::find_error(code);
  return error != nullptr ? std::string(error->name) : fmt::format("{}", code);
}

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
  file_->event(
      span(kFirstUnitTrack + unit, from, cycle),
      fmt::format(
          R"({{"ph":"X","pid":{},"tid":{},"name":"{}","ts":{:.4f},"dur":{:.4f},"args":{{"tag":{},"cycle_start":{},"cycle_end":{}}}}})",
          process_, kFirstUnitTrack + unit, name.empty() ? fmt::format("opcode {}", opcode) : std::string(name),
          microseconds(from), microseconds(cycle - from), spec::decode_header(command).tag, from, cycle));
  ended_ = Ended{kFirstUnitTrack + unit, from};
}

void TraceWriter::manager_awake(uint64_t from_cycle, uint64_t to_cycle) {
  if (!enabled_() || to_cycle <= from_cycle) return;
  file_->event(
      span(kManagerTrack, from_cycle, to_cycle),
      fmt::format(
          R"({{"ph":"X","pid":{},"tid":{},"name":"firmware","ts":{:.4f},"dur":{:.4f},"args":{{"cycle_start":{},"cycle_end":{}}}}})",
          process_, kManagerTrack, microseconds(from_cycle), microseconds(to_cycle - from_cycle), from_cycle,
          to_cycle));
}

uint32_t TraceWriter::queue_track(uint32_t function, uint32_t queue) {
  const uint32_t track = kFirstQueueTrack + function * fw::kQueues + queue;
  if (command_ended_.try_emplace(track, 0).second)
    file_->name_track(process_, track,
                      fmt::format("{}{}", function == 0 ? "" : fmt::format("function {} ", function),
                                  queue == fw::kAdminQueue ? "admin queue" : fmt::format("queue {}", queue)));
  return track;
}

void TraceWriter::arrow(const char* phase, uint64_t id, uint32_t track, uint64_t cycle) {
  auto place = mark(track, cycle);
  place.step = TracePlace::step_of(*phase);
  file_->event(
      place,
      fmt::format(R"({{"ph":"{}","pid":{},"tid":{},"id":{},"name":"completion","cat":"completion","ts":{:.4f}{}}})",
                  phase, process_, track, id, microseconds(cycle), *phase == 'f' ? R"(,"bp":"e")" : ""));
}

void TraceWriter::command_completed(const fw::Queue& queue, std::span<const weft_submission_entry> batch,
                                    const weft_completion_entry& completion, uint64_t cycle) {
  if (!enabled_()) return;
  const weft_submission_entry* entry = find_entry(batch, completion);
  const uint32_t track = queue_track(queue.function, queue.id);
  uint64_t& before = command_ended_[track];
  const uint64_t from = std::clamp(entry != nullptr ? queue.doorbell_cycle : cycle, std::min(before, cycle), cycle);
  before = cycle;
  file_->event(
      span(track, from, cycle),
      fmt::format(
          R"({{"ph":"X","pid":{},"tid":{},"name":"{}","ts":{:.4f},"dur":{:.4f},"args":{{"command":"{:#x}","host_tag":{},"status":"{}","cycle_start":{},"cycle_end":{}}}}})",
          process_, track, name_of(queue.id, entry), microseconds(from), microseconds(cycle - from),
          completion.command_id, completion.tag, status_name(completion.status), from, cycle));
  const uint64_t id = uint64_t{process_} << 32 | arrows_++;
  arrow("s", id, track, from);
  const bool launch = queue.id != fw::kAdminQueue && entry != nullptr && entry->opcode == WEFT_QUEUE_OPCODE_LAUNCH;
  if (launch && ended_ && ended_->cycle >= std::max(from, completion.start_cycle))
    arrow("t", id, ended_->track, ended_->cycle);
  arrow("f", id, kManagerTrack, cycle);
}

void TraceWriter::interrupt(uint32_t function, uint32_t vector, uint64_t cycle) {
  if (!enabled_()) return;
  file_->event(
      mark(kManagerTrack, cycle),
      fmt::format(
          R"({{"ph":"i","s":"t","pid":{},"tid":{},"name":"interrupt","ts":{:.4f},"args":{{"function":{},"vector":{}}}}})",
          process_, kManagerTrack, microseconds(cycle), function, vector));
}

}  // namespace weft::chip
