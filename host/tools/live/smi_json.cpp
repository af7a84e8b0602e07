// weft smi for programs.
#include <nlohmann/json.hpp>

#include "host/tools/live/processor_json.hpp"
#include "host/tools/live/smi_view.hpp"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

Json command_json(const std::optional<EngineCommand>& command) {
  if (!command) return nullptr;
  return {{"function", command->function},
          {"queue", command->queue},
          {"opcode", command->opcode},
          {"command", command->command},
          {"tag", command->tag}};
}

Json utilisation_json(const std::optional<Utilisation>& use) {
  if (!use) return nullptr;
  return {{"cycles", use->cycles},
          {"seconds", use->seconds},
          {"mxu", use->mxu},
          {"mxu_of_peak", use->macs_of_peak},
          {"vpu", use->vpu},
          {"dma_in", use->dma_in},
          {"dma_out", use->dma_out},
          {"sync", use->sync},
          {"copy", use->copy},
          {"firmware", use->firmware},
          {"hbm", use->hbm},
          {"hbm_read_bytes_per_second", use->hbm_read_rate},
          {"hbm_written_bytes_per_second", use->hbm_write_rate},
          {"host_read_bytes_per_second", use->host_read_rate},
          {"host_written_bytes_per_second", use->host_write_rate}};
}

Json function_json(const FunctionSnapshot& f) {
  Json out = {{"function", f.function},
              {"state", f.state},
              {"owner", f.owner_pid == 0 ? Json() : Json{{"pid", f.owner_pid}, {"process", f.owner_process}}},
              {"reset_generation", f.reset_generation},
              {"heartbeat", f.heartbeat},
              {"completed", f.progress},
              {"first_error", f.first_error},
              {"pending_errors", f.pending_errors},
              {"hbm",
               {{"bytes", f.hbm_bytes},
                {"reserved_bytes", f.hbm_reserved_bytes},
                {"used_bytes", or_null(f.hbm_used_bytes)},
                {"largest_free_bytes", or_null(f.hbm_largest_free_bytes)}}},
              {"programs", f.programs},
              {"timelines", f.timelines},
              {"queues", Json::array()},
              {"last_errors", Json::array()}};
  for (const QueueSnapshot& q : f.queues)
    out["queues"].push_back({{"id", q.id},
                             {"priority", q.priority},
                             {"state", q.state},
                             {"entries", q.entries},
                             {"head", q.head},
                             {"tail", q.tail},
                             {"fetched", q.fetched},
                             {"completion_entries", q.completion_entries},
                             {"completion_head", q.completion_head},
                             {"completion_tail", q.completion_tail}});
  for (const LastError& e : f.last_errors)
    out["last_errors"].push_back({{"error", e.error},
                                  {"count", e.count},
                                  {"queue", e.queue},
                                  {"command", e.command},
                                  {"cycle", e.cycle},
                                  {"fault", e.fault.empty() ? Json() : Json(e.fault)}});
  return out;
}

}  // namespace

std::string smi_json(const ChipSnapshot& before, const ChipSnapshot& chip, int indent) {
  Json out = {
      {"folder", chip.folder},
      {"number", chip.number},
      {"chips", chip.chips},
      {"chip", chip.preset},
      {"core", chip.core},
      {"pid", chip.pid},
      {"clock_hz", chip.clock_hz},
      {"hbm_bytes", chip.hbm_bytes},
      {"cycle", chip.cycle},
      {"firmware",
       {{"waypoint", chip.waypoint},
        {"asleep", chip.asleep},
        {"halted", chip.halted},
        {"panicked", chip.panicked},
        {"charged", !chip.processor},
        {"processor", processor_json(chip.processor)}}},
      {"engines",
       {{"core",
         {{"busy", chip.core_busy}, {"faulted", chip.core_faulted}, {"command", command_json(chip.core_command)}}},
        {"copy", {{"busy", chip.copy_busy}, {"lost", chip.copy_lost}, {"command", command_json(chip.copy_command)}}}}},
      {"utilisation", utilisation_json(utilisation(before, chip))},
      {"functions", Json::array()}};
  for (const FunctionSnapshot& f : chip.functions) out["functions"].push_back(function_json(f));
  return out.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft::tools
