// The report as JSON.
#include <nlohmann/json.hpp>

#include "driver/report/hang_report.hpp"
#include "driver/report/log_text.hpp"
#include "weft/spec/names.hpp"

namespace weft::driver {
namespace {

using Json = nlohmann::ordered_json;

/// A name; a number where there is none.
Json named(std::string_view name, uint64_t value) { return name.empty() ? Json(value) : Json(name); }

Json registers(const RegisterSnapshot& r) {
  return {{"cycle", r.cycle},
          {"device_state", named(spec::device_state_name(r.device_state), r.device_state)},
          {"boot_stage", named(spec::boot_stage_name(r.boot_stage), r.boot_stage)},
          {"boot_error", named(spec::error_name(r.boot_error), r.boot_error)},
          {"generation", r.generation},
          {"first_error", named(spec::error_name(r.first_error), r.first_error)},
          {"pending_errors", r.pending_errors},
          {"interrupt_status", r.interrupt_status},
          {"interrupt_mask", r.interrupt_mask},
          {"wait_status", named(spec::wait_status_name(r.wait_status), r.wait_status)},
          {"heartbeat", r.heartbeat},
          {"progress", r.progress},
          {"waypoint", named(spec::waypoint_name(r.waypoint()), r.waypoint())},
          {"asleep", r.asleep()},
          {"core_busy", r.core_busy()},
          {"core_faulted", r.core_faulted()},
          {"copy_busy", r.copy_busy()},
          {"halted", r.halted()}};
}

Json command(uint8_t opcode, uint32_t id, uint32_t tag) {
  const std::string_view name = spec::queue_opcode_name(opcode);
  return {{"opcode", named(name.empty() ? spec::admin_opcode_name(opcode) : name, opcode)}, {"id", id}, {"tag", tag}};
}

Json queue_record(const weft_state_queue& q) {
  Json out = {{"id", q.queue},
              {"state", named(spec::queue_state_name(q.state), q.state)},
              {"waits_for", named(spec::queue_wait_name(q.wait), q.wait)},
              {"entries", q.entries},
              {"head", q.head},
              {"tail", q.tail},
              {"doorbell", q.doorbell},
              {"completion_entries", q.completion_entries},
              {"completion_head", q.completion_head},
              {"completion_tail", q.completion_tail},
              {"fetched", q.fetched},
              {"priority", q.priority},
              {"function", q.function}};
  if (q.opcode != 0) out["oldest"] = command(q.opcode, q.command_id, q.tag);
  if (q.wait_id != 0) out["wait"] = {{"timeline", q.wait_id}, {"value", q.wait_value}};
  if (q.signal_id != 0) out["signal"] = {{"timeline", q.signal_id}, {"value", q.signal_value}};
  return out;
}

Json engine_record(const weft_state_engine& e) {
  Json out = {{"name", named(spec::engine_name(e.engine), e.engine)}, {"active", e.active != 0}, {"lost", e.lost != 0}};
  if (e.active == 0) return out;
  out["queue"] = e.queue;
  out["command"] = command(static_cast<uint8_t>(e.opcode), e.command_id, e.tag);
  out["start_cycle"] = e.start_cycle;
  out["progress_cycle"] = e.progress_cycle;
  if (e.deadline_cycle != UINT64_MAX) out["deadline_cycle"] = e.deadline_cycle;
  out["remaining"] = e.remaining;
  if (e.engine == WEFT_ENGINE_CORE) {
    out["program"] = e.program_id;
    out["kernel"] = e.kernel;
  }
  return out;
}

Json core_queue_record(const weft_state_core_queue& q, const StatePage& page) {
  Json posts = Json::array();
  for (uint32_t s = 0; s < WEFT_SEMAPHORES; s++) {
    if ((q.posts >> s & 1) != 0) posts.push_back(s);
  }
  return {{"name", spec::queue_name(q.queue)},
          {"level", q.level},
          {"pushed", q.pushed},
          {"total", q.total},
          {"retired", q.retired},
          {"running", q.running},
          {"head", core_command_text(q, page)},
          {"posts", posts}};
}

Json page_json(const StatePage& page) {
  Json out = {{"cycle", page.header.cycle}, {"watchdog_cycles", page.header.watchdog_cycles}};
  for (const auto& q : page.queues) {
    if (q.state != WEFT_QUEUE_STATE_DELETED) out["queues"].push_back(queue_record(q));
  }
  for (const auto& e : page.engines) out["engines"].push_back(engine_record(e));
  for (const auto& q : page.core_queues) out["core_queues"].push_back(core_queue_record(q, page));
  out["semaphores"] = page.semaphores;
  out["timelines"] = Json::array();
  for (const auto& t : page.timelines) out["timelines"].push_back({{"id", t.semaphore}, {"value", t.value}});
  return out;
}

Json graph_json(const WaitGraph& graph) {
  Json edges = Json::array();
  for (const WaitEdge& e : graph.edges) edges.push_back({{"from", e.from}, {"to", e.to}, {"why", e.why}});
  return {{"edges", edges}, {"cycle", graph.cycle}};
}

}  // namespace

std::string report_json(const HangReport& r) {
  Json queues = Json::array(), outstanding = Json::array(), log = Json::array();
  for (const QueueView& q : r.queues) {
    queues.push_back({{"id", q.id},
                      {"state", q.state},
                      {"entries", q.entries},
                      {"head", q.head},
                      {"tail", q.tail},
                      {"in_flight", q.in_flight}});
  }
  for (const OutstandingCommand& c : r.outstanding) {
    Json entry = command(c.opcode, c.command_id, c.tag);
    entry["queue"] = c.queue;
    outstanding.push_back(std::move(entry));
  }
  for (const weft_log_record& record : r.log) log.push_back(log_text(record));
  const Json out = {
      {"weft_hang_report", 1},
      {"code", named(spec::error_name(r.code), r.code)},
      {"why", r.why},
      {"command", {{"queue", r.queue}, {"id", r.command_id}, {"tag", r.tag}}},
      {"device", r.device},
      {"chip", r.chip},
      {"core", r.core},
      {"firmware", {{"health", health_name(r.health)}, {"text", health_text(r.health, r.before, r.after)}}},
      {"registers", {{"before", registers(r.before)}, {"after", registers(r.after)}}},
      {"driver_queues", queues},
      {"outstanding", outstanding},
      {"state_source", r.page_source},
      {"state", r.page ? page_json(*r.page) : Json()},
      {"waits", graph_json(r.graph)},
      {"log", log},
      {"faults", r.faults},
      {"rerun", r.rerun},
      {"recording", r.recording}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft::driver
