// The report as JSON.
#include "driver/hang/hang_report.hpp"
#include "driver/report/json_writer.hpp"
#include "driver/report/log_text.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

using Json = JsonWriter;

/// A name; a number where there is none.
void named_value(Json& out, std::string_view name, uint64_t value) {
  if (name.empty()) {
    out.value(value);
  } else {
    out.value(name);
  }
}

void named(Json& out, std::string_view key, std::string_view name, uint64_t value) {
  out.key(key);
  named_value(out, name, value);
}

void registers(Json& out, const RegisterSnapshot& r) {
  out.object([&] {
    out.field("cycle", r.cycle);
    named(out, "device_state", spec::device_state_name(r.device_state), r.device_state);
    named(out, "boot_stage", spec::boot_stage_name(r.boot_stage), r.boot_stage);
    named(out, "boot_error", spec::error_name(r.boot_error), r.boot_error);
    out.field("generation", r.generation);
    named(out, "first_error", spec::error_name(r.first_error), r.first_error);
    out.field("pending_errors", r.pending_errors);
    out.field("interrupt_status", r.interrupt_status);
    out.field("interrupt_mask", r.interrupt_mask);
    named(out, "wait_status", spec::wait_status_name(r.wait_status), r.wait_status);
    out.field("heartbeat", r.heartbeat);
    out.field("progress", r.progress);
    named(out, "waypoint", spec::waypoint_name(r.waypoint()), r.waypoint());
    out.field("asleep", r.asleep());
    out.field("core_busy", r.core_busy());
    out.field("core_faulted", r.core_faulted());
    out.field("copy_busy", r.copy_busy());
    out.field("halted", r.halted());
  });
}

void command_fields(Json& out, uint8_t opcode, uint32_t id, uint32_t tag) {
  const std::string_view name = spec::queue_opcode_name(opcode);
  named(out, "opcode", name.empty() ? spec::admin_opcode_name(opcode) : name, opcode);
  out.field("id", id);
  out.field("tag", tag);
}

void command(Json& out, std::string_view key, uint8_t opcode, uint32_t id, uint32_t tag) {
  out.key(key);
  out.object([&] { command_fields(out, opcode, id, tag); });
}

/// {"timeline", "value"}
void timeline_value(Json& out, std::string_view key, uint64_t timeline, uint64_t value) {
  out.key(key);
  out.object([&] {
    out.field("timeline", timeline);
    out.field("value", value);
  });
}

void queue_record(Json& out, const weft_state_queue& q) {
  out.object([&] {
    out.field("id", q.queue);
    named(out, "state", spec::queue_state_name(q.state), q.state);
    named(out, "waits_for", spec::queue_wait_name(q.wait), q.wait);
    out.field("entries", q.entries);
    out.field("head", q.head);
    out.field("tail", q.tail);
    out.field("doorbell", q.doorbell);
    out.field("completion_entries", q.completion_entries);
    out.field("completion_head", q.completion_head);
    out.field("completion_tail", q.completion_tail);
    out.field("fetched", q.fetched);
    out.field("priority", q.priority);
    out.field("function", q.function);
    if (q.opcode != 0) command(out, "oldest", q.opcode, q.command_id, q.tag);
    if (q.wait_id != 0) timeline_value(out, "wait", q.wait_id, q.wait_value);
    if (q.signal_id != 0) timeline_value(out, "signal", q.signal_id, q.signal_value);
  });
}

void engine_record(Json& out, const weft_state_engine& e) {
  out.object([&] {
    named(out, "name", spec::engine_name(e.engine), e.engine);
    out.field("active", e.active != 0);
    out.field("lost", e.lost != 0);
    if (e.active == 0) return;
    out.field("queue", e.queue);
    command(out, "command", static_cast<uint8_t>(e.opcode), e.command_id, e.tag);
    out.field("start_cycle", e.start_cycle);
    out.field("progress_cycle", e.progress_cycle);
    if (e.deadline_cycle != UINT64_MAX) out.field("deadline_cycle", e.deadline_cycle);
    out.field("remaining", e.remaining);
    if (e.engine != WEFT_ENGINE_CORE) return;
    out.field("program", e.program_id);
    out.field("kernel", e.kernel);
  });
}

void core_queue_record(Json& out, const weft_state_core_queue& q, const StatePage& page) {
  out.object([&] {
    out.field("name", spec::queue_name(q.queue));
    out.field("level", q.level);
    out.field("pushed", q.pushed);
    out.field("total", q.total);
    out.field("retired", q.retired);
    out.field("running", q.running);
    out.field("head", core_command_text(q, page));
    out.key("posts");
    out.array([&] {
      for (uint32_t s = 0; s < WEFT_SEMAPHORES; s++) {
        if ((q.posts >> s & 1) != 0) out.value(s);
      }
    });
  });
}

/// A field that is an array with what `write` makes of each element.
template <typename Elements, typename Write>
void list(Json& out, std::string_view key, const Elements& elements, Write&& write) {
  out.key(key);
  out.array([&] {
    for (const auto& element : elements) write(element);
  });
}

void page_fields(Json& out, const StatePage& page) {
  out.field("cycle", page.header.cycle);
  out.field("watchdog_cycles", page.header.watchdog_cycles);
  list(out, "queues", page.queues, [&](const weft_state_queue& q) {
    if (q.state != WEFT_QUEUE_STATE_DELETED) queue_record(out, q);
  });
  list(out, "engines", page.engines, [&](const weft_state_engine& e) { engine_record(out, e); });
  list(out, "core_queues", page.core_queues, [&](const weft_state_core_queue& q) { core_queue_record(out, q, page); });
  list(out, "semaphores", page.semaphores, [&](uint16_t value) { out.value(value); });
  list(out, "timelines", page.timelines, [&](const weft_state_timeline& t) {
    out.object([&] {
      out.field("id", t.semaphore);
      out.field("value", t.value);
    });
  });
}

void graph_fields(Json& out, const WaitGraph& graph) {
  list(out, "edges", graph.edges, [&](const WaitEdge& e) {
    out.object([&] {
      out.field("from", e.from);
      out.field("to", e.to);
      out.field("why", e.why);
    });
  });
  list(out, "cycle", graph.cycle, [&](const std::string& node) { out.value(node); });
}

/// What the driver knows: its queues and the commands in flight.
void driver_fields(Json& out, const HangReport& r) {
  list(out, "driver_queues", r.queues, [&](const QueueView& q) {
    out.object([&] {
      out.field("id", q.id);
      out.field("state", q.state);
      out.field("entries", q.entries);
      out.field("head", q.head);
      out.field("tail", q.tail);
      out.field("in_flight", q.in_flight);
    });
  });
  list(out, "outstanding", r.outstanding, [&](const OutstandingCommand& c) {
    out.object([&] {
      command_fields(out, c.opcode, c.command_id, c.tag);
      out.field("queue", c.queue);
    });
  });
}

void report_fields(Json& out, const HangReport& r) {
  const auto object = [&](std::string_view key, auto&& members) {
    out.key(key);
    out.object(members);
  };
  out.field("weft_hang_report", 1u);
  named(out, "code", spec::error_name(r.code), r.code);
  out.field("why", r.why);
  object("command", [&] {
    out.field("queue", r.queue);
    out.field("id", r.command_id);
    out.field("tag", r.tag);
  });
  out.field("device", r.device);
  out.field("chip", r.chip);
  out.field("core", r.core);
  object("firmware", [&] {
    out.field("health", health_name(r.health));
    out.field("text", health_text(r.health, r.before, r.after));
  });
  object("registers", [&] {
    out.key("before");
    registers(out, r.before);
    out.key("after");
    registers(out, r.after);
  });
  driver_fields(out, r);
  out.field("state_source", r.page_source);
  if (r.page) {
    object("state", [&] { page_fields(out, *r.page); });
  } else {
    out.key("state");
    out.null();
  }
  object("waits", [&] { graph_fields(out, r.graph); });
  list(out, "log", r.log, [&](const weft_log_record& record) { out.value(log_text(record)); });
  list(out, "faults", r.faults, [&](const std::string& fault) { out.value(fault); });
  out.field("rerun", r.rerun);
  out.field("recording", r.recording);
}

}  // namespace

std::string report_json(const HangReport& r) {
  Json out;
  out.object([&] { report_fields(out, r); });
  return std::move(out).take();
}

}  // namespace weft::driver
