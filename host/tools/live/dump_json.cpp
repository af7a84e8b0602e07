// weft dump for programs.
#include <nlohmann/json.hpp>

#include "driver/report/fault_log.hpp"
#include "driver/report/log_text.hpp"
#include "host/tools/live/dump_view.hpp"
#include "host/tools/live/processor_json.hpp"
#include "host/tools/live/ring_entries.hpp"
#include "host/tools/live/state_document.hpp"
#include "weft/spec/names.hpp"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

Json submission_json(uint32_t index, uint32_t entries, const std::optional<weft_submission_entry>& e) {
  if (!e) return {{"index", index}, {"mapped", false}};
  return {{"index", index},
          {"opcode", opcode_text(e->opcode)},
          {"flags", flags_text(e->flags)},
          {"command", e->command_id},
          {"tag", e->tag},
          {"context", e->context},
          {"budget_kcycles", e->budget_kcycles},
          {"arg0", e->arg0},
          {"arg1", e->arg1},
          {"size", e->size},
          {"wait", {{"timeline", e->wait_id}, {"value", e->wait_value}}},
          {"signal", {{"timeline", e->signal_id}, {"value", e->signal_value}}},
          {"crc_ok", crc_matches(*e, index, entries)}};
}

Json completion_json(uint32_t index, const std::optional<weft_completion_entry>& e) {
  if (!e) return {{"index", index}, {"mapped", false}};
  const CompletionStatus status = completion_status(*e);
  return {{"index", index},
          {"command", e->command_id},
          {"tag", e->tag},
          {"status", error_text(status.code)},
          {"phase", status.phase},
          {"class", status.origin},
          {"retryable", status.retryable},
          {"more_information", status.more},
          {"queue", e->queue_id},
          {"queue_head", e->queue_head},
          {"start_cycle", e->start_cycle},
          {"end_cycle", e->end_cycle}};
}

Json fault_json(const weft_fault_record& r) {
  return {{"record", r.record_number},
          {"error", error_text(r.error)},
          {"queue", r.queue_id},
          {"command", r.command_id},
          {"cycle", r.fault_cycle},
          {"fault", r.fault_code == WEFT_FAULT_NONE ? Json() : Json(spec::fault_name(r.fault_code))},
          {"text", driver::describe_record(r)}};
}

Json log_json(const weft_log_record& r) {
  return {{"cycle", r.cycle},       {"level", r.level},         {"event", spec::log_event_name(r.event)},
          {"sequence", r.sequence}, {"args", {r.arg0, r.arg1}}, {"text", driver::log_text(r)}};
}

Json ring_json(const RingDump& ring) {
  Json out = {{"queue", ring.id}, {"submissions", Json::array()}, {"completions", Json::array()}};
  uint32_t index = ring.first_submission;
  for (const auto& entry : ring.submissions)
    out["submissions"].push_back(submission_json(index++, ring.entries, entry));
  index = ring.first_completion;
  for (const auto& entry : ring.completions) out["completions"].push_back(completion_json(index++, entry));
  return out;
}

}  // namespace

std::string dump_json(const FunctionDump& dump, const DumpSelection& selection) {
  const FunctionSnapshot& f = dump.function;
  Json out = {{"folder", dump.folder}, {"number", dump.chip}, {"chips", dump.chips},   {"chip", dump.preset},
              {"core", dump.core},     {"cycle", dump.cycle}, {"function", f.function}};
  Json log = Json::array(), faults = Json::array(), rings = Json::array();
  for (const auto& record : dump.log) log.push_back(log_json(record));
  if (!selection.log_only) {
    for (const auto& record : dump.faults) faults.push_back(fault_json(record));
    for (const RingDump& ring : dump.rings) {
      if (!selection.queue || *selection.queue == ring.id) rings.push_back(ring_json(ring));
    }
    out["device_state"] = f.state;
    out["owner"] = f.owner_pid == 0 ? Json() : Json{{"pid", f.owner_pid}, {"process", f.owner_process}};
    out["reset_generation"] = f.reset_generation;
    out["heartbeat"] = f.heartbeat;
    out["completed"] = f.progress;
    out["first_error"] = f.first_error;
    out["processor"] = processor_json(dump.processor);
    const auto state = state_document(dump.state_page, true);
    out["state"] = state.ok() ? Json::parse(state.value())["state"] : Json();
    out["rings"] = std::move(rings);
    out["faults"] = std::move(faults);
  }
  out["log"] = std::move(log);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weft::tools
