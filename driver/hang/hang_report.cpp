// The report as text.
#include "driver/hang/hang_report.hpp"

#include <algorithm>
#include <map>

#include "driver/hang/rerun_line.hpp"
#include "driver/program/control_list.hpp"
#include "driver/report/log_text.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

using Out = std::string;

template <typename... Args>
void line(Out& out, fmt::format_string<Args...> text, Args&&... args) {
  out += fmt::format(text, std::forward<Args>(args)...);
  out += '\n';
}

std::string name_or_number(std::string_view name, uint64_t value) {
  return name.empty() ? std::to_string(value) : std::string(name);
}

std::string cycle_text(uint64_t cycle) { return cycle == UINT64_MAX ? "none" : std::to_string(cycle); }

void head_lines(Out& out, const HangReport& r) {
  line(out, "Weft hang report: {}", spec::error_name(r.code));
  line(out, "why       {}", r.why);
  line(out, "device    {} ({}, {} core), state {}, generation {}, cycle {}", r.device.empty() ? "?" : r.device,
       r.chip.empty() ? "unknown chip" : r.chip, r.core,
       name_or_number(spec::device_state_name(r.after.device_state), r.after.device_state), r.after.generation,
       r.after.cycle);
  line(out, "firmware  {}", health_text(r.health, r.before, r.after));
  line(out, "          heartbeat {} -> {}, progress {} -> {}, waypoint {}, {}", r.before.heartbeat, r.after.heartbeat,
       r.before.progress, r.after.progress,
       name_or_number(spec::waypoint_name(r.before.waypoint()), r.before.waypoint()),
       r.before.asleep() ? "asleep" : "awake");
  line(out, "          core {}{}, copy engine {}, first error {}, {} pending", r.before.core_busy() ? "busy" : "idle",
       r.before.core_faulted() ? ", stopped by a fault" : "", r.before.copy_busy() ? "busy" : "idle",
       name_or_number(spec::error_name(r.after.first_error), r.after.first_error), r.after.pending_errors);
  line(out, "state     {}", r.page_source);
  line(out, "rerun     {}", r.rerun);
  if (!r.recording.empty()) line(out, "recorded  {}", replay_line(r.recording));
}

/// The oldest command of a queue as the driver knows it; nullptr: nothing is in flight.
const OutstandingCommand* oldest(const HangReport& r, uint32_t queue) {
  for (const OutstandingCommand& command : r.outstanding) {
    if (command.queue == queue) return &command;
  }
  return nullptr;
}

std::string oldest_text(const HangReport& r, uint32_t queue) {
  const OutstandingCommand* command = oldest(r, queue);
  return command == nullptr ? "-" : command_text(command->opcode, command->command_id, command->tag);
}

/// One row: what the page says of the queue, else what the driver knows.
void queue_line(Out& out, const HangReport& r, uint32_t id, const QueueView* view, const weft_state_queue* q) {
  constexpr const char* kRow = "{:<6} {:<12} {:>8} {:>10} {:>10} {:>10} {:>10} {:>9}  {:<26} {}\n";
  const std::string in_flight = view != nullptr ? std::to_string(view->in_flight) : "?";
  if (q == nullptr) {
    out += fmt::format(fmt::runtime(kRow), id, view->state, view->entries, view->head, view->tail, "?", "?", in_flight,
                       oldest_text(r, id), "?");
    return;
  }
  std::string waits = name_or_number(spec::queue_wait_name(q->wait), q->wait);
  if (q->wait == WEFT_QUEUE_WAIT_SEMAPHORE) waits += fmt::format(" {} >= {}", q->wait_id, q->wait_value);
  const std::string state = view != nullptr && view->state != "active"
                                ? view->state
                                : name_or_number(spec::queue_state_name(q->state), q->state);
  out += fmt::format(fmt::runtime(kRow), id, state, q->entries, q->head, q->tail, q->doorbell, q->completion_tail,
                     in_flight, q->opcode != 0 ? command_text(q->opcode, q->command_id, q->tag) : oldest_text(r, id),
                     waits);
}

void queue_lines(Out& out, const HangReport& r) {
  out +=
      "\nqueue  state         entries       head       tail   doorbell  completed in flight  oldest command            "
      " waits for\n";
  std::map<uint32_t, std::pair<const QueueView*, const weft_state_queue*>> rows;
  for (const QueueView& view : r.queues) rows[view.id].first = &view;
  if (r.page) {
    for (const weft_state_queue& q : r.page->queues) {
      if (q.state != WEFT_QUEUE_STATE_DELETED) rows[q.queue].second = &q;
    }
  }
  for (const auto& [id, row] : rows) queue_line(out, r, id, row.first, row.second);
}

void engine_lines(Out& out, const HangReport& r) {
  if (!r.page) return;
  out += "\nengines\n";
  for (const weft_state_engine& e : r.page->engines) {
    const std::string name = name_or_number(spec::engine_name(e.engine), e.engine);
    if (e.active == 0) {
      line(out, "  {:<7} idle{}", name, e.lost != 0 ? ", lost: it did not stop when it was told to" : "");
      continue;
    }
    const std::string since = e.start_cycle == 0
                                  ? std::string()
                                  : fmt::format(", since cycle {}, last progress at {}, budget ends at {}",
                                                e.start_cycle, e.progress_cycle, cycle_text(e.deadline_cycle));
    const std::string place = e.control_entry == 0
                                  ? std::string()
                                  : ", in " + control_place_text(e.control_entry, e.control_block, e.control_turn);
    line(out, "  {:<7} {} of queue {}{}, {} {} left{}", name,
         command_text(static_cast<uint8_t>(e.opcode), e.command_id, e.tag), e.queue, since, e.remaining,
         e.engine == WEFT_ENGINE_CORE ? "commands" : "bytes", place);
  }
  for (const weft_state_core_queue& q : r.page->core_queues) {
    if (q.total == 0) continue;
    line(out, "    {:<8} {} of {} retired, {} running, {} in its queue, {} not pushed; head: {}",
         spec::queue_name(q.queue), q.retired, q.total, q.running, q.level, q.total - std::min(q.total, q.pushed),
         core_command_text(q, *r.page));
  }
  std::string semaphores;
  for (size_t i = 0; i < r.page->semaphores.size(); i++) {
    if (r.page->semaphores[i] != 0)
      semaphores += fmt::format("{}{} = {}", semaphores.empty() ? "" : ", ", i, r.page->semaphores[i]);
  }
  line(out, "  semaphores that are not 0: {}", semaphores.empty() ? "none" : semaphores);
  for (const weft_state_timeline& t : r.page->timelines) line(out, "  timeline {} = {}", t.semaphore, t.value);
}

void wait_lines(Out& out, const HangReport& r) {
  out += "\nwho waits for whom\n";
  for (const WaitEdge& e : r.graph.edges) line(out, "  {} -> {}: {}", e.from, e.to, e.why);
  if (r.graph.edges.empty()) out += "  nobody\n";
  if (r.graph.cycle.empty()) {
    out += "  no cycle\n";
    return;
  }
  std::string cycle;
  for (const std::string& node : r.graph.cycle) cycle += node + " -> ";
  line(out, "  CYCLE: {}{}", cycle, r.graph.cycle.front());
}

void history_lines(Out& out, const HangReport& r) {
  out += "\nlast log lines\n";
  for (const weft_log_record& record : r.log) line(out, "  {}", log_text(record));
  if (r.log.empty()) out += "  none\n";
  out += "\nlast fault records\n";
  for (const std::string& fault : r.faults) line(out, "  {}", fault);
  if (r.faults.empty()) out += "  none\n";
}

}  // namespace

std::string command_text(uint8_t opcode, uint32_t command_id, uint32_t tag) {
  if (opcode == 0) return "-";
  const std::string_view queue_name = spec::queue_opcode_name(opcode);
  const std::string name = name_or_number(queue_name.empty() ? spec::admin_opcode_name(opcode) : queue_name, opcode);
  return fmt::format("{} {:#x} (tag {})", name, command_id, tag);
}

std::string core_command_text(const weft_state_core_queue& queue, const StatePage& page) {
  constexpr size_t kTag = 2, kWaitSemaphore = 4, kWaitCount = 8;
  if (queue.head_valid == 0) {
    return (queue.head_tag & WEFT_CSR_QUEUE_HEAD_TAG_VALID) != 0
               ? fmt::format("tag {}", queue.head_tag & WEFT_CSR_QUEUE_HEAD_TAG_TAG)
               : "-";
  }
  std::string text = fmt::format("{}, tag {}", name_or_number(spec::core_opcode_name(queue.head[0]), queue.head[0]),
                                 queue.head[kTag] | queue.head[kTag + 1] << 8);
  for (size_t i = 0; i < 2; i++) {
    const uint32_t semaphore = queue.head[kWaitSemaphore + i];
    if (semaphore >= WEFT_SEMAPHORES) continue;
    const uint32_t needed = queue.head[kWaitCount + 2 * i] | uint32_t{queue.head[kWaitCount + 2 * i + 1]} << 8;
    text += fmt::format("{} semaphore {} >= {} (is {})", page.semaphores[semaphore] >= needed ? ", has" : ", waits for",
                        semaphore, needed, page.semaphores[semaphore]);
  }
  return text;
}

std::string state_text(const HangReport& report) {
  Out out;
  queue_lines(out, report);
  engine_lines(out, report);
  wait_lines(out, report);
  return out;
}

std::string report_text(const HangReport& report) {
  Out out;
  head_lines(out, report);
  out += state_text(report);
  history_lines(out, report);
  return out;
}

}  // namespace weft::driver
