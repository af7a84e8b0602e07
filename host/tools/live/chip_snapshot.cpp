// Field by field; the first that is wrong is named with its path.
#include "host/tools/live/chip_snapshot.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "host/tools/formats/json_fields.hpp"
#include "weft/spec/names.hpp"

namespace weft::tools {
namespace {

constexpr uint32_t kVersion = 1;

QueueSnapshot read_queue(const JsonFields& fields) {
  QueueSnapshot q;
  fields.get("id", q.id);
  fields.get("state", q.state);
  fields.get("priority", q.priority);
  fields.get("entries", q.entries);
  fields.get("head", q.head);
  fields.get("tail", q.tail);
  fields.get("fetched", q.fetched);
  fields.get("completion_entries", q.completion_entries);
  fields.get("completion_head", q.completion_head);
  fields.get("completion_tail", q.completion_tail);
  return q;
}

LastError read_error(const JsonFields& fields) {
  LastError e;
  fields.get("error", e.error);
  fields.get("count", e.count);
  fields.get("queue", e.queue);
  fields.get("command", e.command);
  fields.get("cycle", e.cycle);
  if (fields.has("fault")) fields.get("fault", e.fault);
  return e;
}

std::optional<EngineCommand> read_command(const JsonFields& engine) {
  const auto fields = engine.object("command");
  if (!fields) return std::nullopt;
  EngineCommand c;
  fields->get("function", c.function);
  fields->get("queue", c.queue);
  fields->get("opcode", c.opcode);
  fields->get("command", c.command);
  fields->get("tag", c.tag);
  return c;
}

void read_engines(const JsonFields& engines, ChipSnapshot& chip) {
  if (const auto core = engines.object("core")) {
    core->get("busy", chip.core_busy);
    core->get("faulted", chip.core_faulted);
    chip.core_command = read_command(*core);
  }
  if (const auto copy = engines.object("copy")) {
    copy->get("busy", chip.copy_busy);
    copy->get("lost", chip.copy_lost);
    copy->get("busy_cycles", chip.copy_busy_cycles);
    copy->get("bytes", chip.copy_bytes);
    chip.copy_command = read_command(*copy);
  }
  if (const auto traffic = engines.object("traffic")) {
    traffic->get("hbm_read_bytes", chip.hbm_read_bytes);
    traffic->get("hbm_written_bytes", chip.hbm_written_bytes);
    traffic->get("host_read_bytes", chip.host_read_bytes);
    traffic->get("host_written_bytes", chip.host_written_bytes);
  }
}

void read_chip(const JsonFields& fields, ChipSnapshot& chip) {
  if (const auto c = fields.object("chip")) {
    c->get("preset", chip.preset);
    c->get("core", chip.core);
    c->get("number", chip.number);
    c->get("chips", chip.chips);
    c->get("pid", chip.pid);
    c->get("clock_hz", chip.clock_hz);
    c->get("num_mxu", chip.num_mxu);
    c->get("hbm_bytes", chip.hbm_bytes);
    c->get("hbm_bytes_per_second", chip.hbm_bytes_per_second);
    c->get("peak_macs_per_cycle", chip.peak_macs_per_cycle);
  }
  fields.get("cycle", chip.cycle);
  fields.get("counters_cycle", chip.counters_cycle);
  if (const auto firmware = fields.object("firmware")) {
    firmware->get("waypoint", chip.waypoint);
    firmware->get("asleep", chip.asleep);
    firmware->get("halted", chip.halted);
    firmware->get("panicked", chip.panicked);
    firmware->get("awake_cycles", chip.awake_cycles);
    chip.processor = read_processor(*firmware);
  }
  if (const auto engines = fields.object("engines")) read_engines(*engines, chip);
  chip.counters.resize(WEFT_COUNTERS);
  if (const auto counters = fields.object("counters")) {
    for (const auto& row : spec::kCounterNames) counters->get(std::string(row.name).c_str(), chip.counters[row.value]);
  }
}

}  // namespace

std::optional<ProcessorSnapshot> read_processor(const JsonFields& fields) {
  if (!fields.has("processor")) return std::nullopt;  // of a weft-sim that does not tell
  const auto object = fields.object("processor");
  if (!object) return std::nullopt;
  ProcessorSnapshot p;
  p.kind = "rv32";  // of a weft-sim that knows no other
  if (object->has("kind")) object->get("kind", p.kind);
  object->get("image", p.image);
  object->get("pc", p.pc);
  object->get("registers", p.registers);
  object->get("backtrace", p.backtrace);
  object->get("cycles", p.cycles);
  object->get("instructions", p.instructions);
  return p;
}

FunctionSnapshot read_function(const JsonFields& fields) {
  FunctionSnapshot f;
  fields.get("function", f.function);
  fields.get("state", f.state);
  if (const auto owner = fields.object("owner")) {
    owner->get("pid", f.owner_pid);
    owner->get("process", f.owner_process);
  }
  if (f.state == "gone") return f;
  fields.get("reset_generation", f.reset_generation);
  fields.get("heartbeat", f.heartbeat);
  fields.get("progress", f.progress);
  fields.get("first_error", f.first_error);
  fields.get("pending_errors", f.pending_errors);
  if (const auto hbm = fields.object("hbm")) {
    hbm->get("bytes", f.hbm_bytes);
    hbm->get("reserved_bytes", f.hbm_reserved_bytes);
    hbm->get("used_bytes", f.hbm_used_bytes);
    hbm->get("largest_free_bytes", f.hbm_largest_free_bytes);
  }
  fields.get("programs", f.programs);
  fields.get("timelines", f.timelines);
  fields.array("queues", [&](const JsonFields& queue) { f.queues.push_back(read_queue(queue)); });
  fields.array("last_errors", [&](const JsonFields& error) { f.last_errors.push_back(read_error(error)); });
  return f;
}

std::string management_request(std::string_view kind, uint32_t chip, std::string_view fields) {
  return fmt::format(R"({{"weft_management":{},"request":"{}","chip":{}{}}})", kVersion, kind, chip, fields);
}

Result<nlohmann::json> parse_management_reply(std::string_view reply) {
  auto object = JsonFields::parse(reply);
  if (!object.is_object()) return wrong_management_reply("it is no JSON object");
  std::string error;
  uint32_t version = 0;
  JsonFields(object, "", error).get("weft_management", version);
  if (!error.empty()) return wrong_management_reply(error);
  if (version == kVersion) return object;
  return Error{WEFT_ERROR_ABI_MISMATCH,
               fmt::format("the management socket speaks version {}, this tool {}", version, kVersion)};
}

Error wrong_management_reply(std::string_view why) {
  return Error{WEFT_ERROR_DEVICE_LOST, fmt::format("the reply of the management socket: {}", why)};
}

Result<ChipSnapshot> parse_chip_snapshot(std::string_view reply) {
  const auto object = parse_management_reply(reply);
  if (!object.ok()) return object.error();
  std::string error;
  const JsonFields fields(object.value(), "", error);
  ChipSnapshot chip;
  read_chip(fields, chip);
  fields.array("functions", [&](const JsonFields& function) { chip.functions.push_back(read_function(function)); });
  if (!error.empty()) return wrong_management_reply(error);
  return chip;
}

}  // namespace weft::tools
