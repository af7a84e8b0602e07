// From the chip's own structures to JSON. What lies in a host's memory is only copied, never believed.
#include "model/server/management_reply.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "firmware/state.hpp"
#include "model/chip/chip.hpp"
#include "model/chip/image_processor.hpp"
#include "weft/spec/names.hpp"

namespace weft::server {
namespace {

using Json = nlohmann::ordered_json;

Json named(std::string_view name, uint64_t value) { return name.empty() ? Json(value) : Json(name); }

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<size_t>(byte) >> 4];
    text += kDigits[static_cast<size_t>(byte) & 0xf];
  }
  return text;
}

std::string line_of(const Json& reply) { return reply.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json header() { return {{"weft_management", kManagementVersion}}; }

/// Records of a ring in the function's host memory; those that are not mapped are left out.
template <typename Record>
std::vector<Record> read_records(chip::Function& function, uint64_t iova, size_t count) {
  std::vector<Record> records;
  for (size_t i = 0; i < count && iova != 0; i++) {
    Record record;
    if (function.host_memory().peek(iova + i * sizeof record, std::as_writable_bytes(std::span(&record, 1))))
      records.push_back(record);
  }
  return records;
}

const char* state_name(fw::QueueState state) {
  switch (state) {
    case fw::QueueState::kFree:
      return "deleted";
    case fw::QueueState::kActive:
      return "active";
    case fw::QueueState::kHalted:
      return "halted";
    case fw::QueueState::kQuiescing:
      return "quiescing";
  }
  return "?";
}

Json queue_json(chip::Function& function, const fw::Queue& queue, const fw::CompletionRing& ring) {
  return {{"id", queue.id},
          {"state", state_name(queue.state)},
          {"priority", named(spec::queue_priority_name(queue.priority), queue.priority)},
          {"entries", queue.entries},
          {"head", queue.head},
          {"tail", queue.tail},
          {"doorbell", function.submission_tail(queue.id)},
          {"fetched", queue.batch_count - queue.batch_next + (queue.in_flight ? 1 : 0)},
          {"completion_ring", ring.id},
          {"completion_entries", ring.entries},
          {"completion_head", ring.head()},
          {"completion_tail", ring.tail}};
}

/// What GET_LOG tells: how often each error came, and the newest; with the core's fault if its record is still there.
Json last_errors(chip::Function& function, const fw::Function& known) {
  const auto records = read_records<weft_fault_record>(function, known.faults.iova, WEFT_LIMIT_FAULT_ENTRIES);
  Json out = Json::array();
  for (uint32_t error = 0; error < fw::kErrorCodes; error++) {
    const weft_error_log_entry entry = fw::error_log_entry(known.errors, error);
    if (entry.count == 0) continue;
    Json one = {{"error", named(spec::error_name(error), error)},
                {"count", entry.count},
                {"queue", entry.queue_id},
                {"command", entry.command_id},
                {"cycle", entry.cycle}};
    const weft_fault_record* newest = nullptr;
    for (const weft_fault_record& record : records) {
      const bool of_it = record.record_number != 0 && record.error == error && record.queue_id == entry.queue_id &&
                         record.command_id == entry.command_id;
      if (of_it && (newest == nullptr || record.record_number > newest->record_number)) newest = &record;
    }
    if (newest != nullptr && newest->fault_code != WEFT_FAULT_NONE)
      one["fault"] = named(spec::fault_name(newest->fault_code), newest->fault_code);
    out.push_back(std::move(one));
  }
  return out;
}

/// HBM of the function, and its use if the driver tells it.
Json hbm_json(chip::Function& function, const fw::Function& known) {
  chip::Registers& registers = function.registers();
  Json out = {{"bytes", registers.firmware_read(WEFT_REG_HBM_BYTES)},
              {"reserved_bytes", registers.firmware_read(WEFT_REG_HBM_RESERVED_BYTES)},
              {"used_bytes", nullptr},
              {"largest_free_bytes", nullptr}};
  weft_parameter_page page{};
  if (known.state != fw::FunctionState::kReady ||
      !function.host_memory().peek(registers.firmware_read(WEFT_REG_PARAMETER_PAGE),
                                   std::as_writable_bytes(std::span(&page, 1))) ||
      page.driver_tells_hbm != 1)
    return out;
  out["used_bytes"] = page.driver_hbm_used_bytes;
  out["largest_free_bytes"] = page.driver_hbm_largest_bytes;
  return out;
}

Json owner_json(const FunctionOwner& owner) {
  return !owner.owned ? Json() : Json{{"pid", owner.pid}, {"process", owner.process}};
}

Json function_json(chip::Function& function, const fw::Function& known, const FunctionOwner& owner) {
  chip::Registers& r = function.registers();
  const auto read = [&r](uint32_t offset) { return r.firmware_read(offset); };
  Json out = {{"function", function.index()}, {"owner", owner_json(owner)}};
  if (r.gone()) {
    out["state"] = "gone";
    return out;
  }
  out["state"] = named(spec::device_state_name(read(WEFT_REG_DEVICE_STATE)), read(WEFT_REG_DEVICE_STATE));
  out["boot_stage"] = named(spec::boot_stage_name(read(WEFT_REG_BOOT_STAGE)), read(WEFT_REG_BOOT_STAGE));
  out["boot_error"] = named(spec::error_name(read(WEFT_REG_BOOT_ERROR)), read(WEFT_REG_BOOT_ERROR));
  out["reset_generation"] = read(WEFT_REG_RESET_GENERATION);
  out["heartbeat"] = read(WEFT_REG_HEARTBEAT);
  out["progress"] = read(WEFT_REG_PROGRESS);
  out["first_error"] = named(spec::error_name(read(WEFT_REG_FIRST_ERROR)), read(WEFT_REG_FIRST_ERROR));
  out["pending_errors"] = read(WEFT_REG_PENDING_ERRORS);
  out["hbm"] = hbm_json(function, known);
  out["programs"] = std::popcount(known.programs.loaded[0]) + std::popcount(known.programs.loaded[1]);
  out["timelines"] = std::ranges::count_if(known.timelines, [](const fw::Timeline& t) { return t.created(); });
  out["log_records"] = known.log.sequence;
  out["fault_records"] = known.faults.written;
  out["queues"] = Json::array();
  for (const fw::Queue& queue : known.queues) {
    if (queue.state != fw::QueueState::kFree)
      out["queues"].push_back(queue_json(function, queue, known.rings[queue.completion_ring]));
  }
  out["last_errors"] = last_errors(function, known);
  return out;
}

Json command_json(bool active, uint32_t function, uint32_t queue, const weft_submission_entry& entry) {
  if (!active) return nullptr;
  return {{"function", function},
          {"queue", queue},
          {"opcode", named(spec::queue_opcode_name(entry.opcode), entry.opcode)},
          {"command", entry.command_id},
          {"tag", entry.tag}};
}

Json chip_json(chip::Simulation& simulation, uint32_t number) {
  const spec::Chip& preset = simulation.chip(number).preset();
  constexpr std::array<std::string_view, 4> kCores{"unknown", "rtl", "fast", "lockstep"};
  const uint64_t kind = WEFT_FIELD(
      WEFT_REG_CAPABILITIES_CORE, simulation.chip(number).function(0).registers().firmware_read(WEFT_REG_CAPABILITIES));
  return {{"preset", preset.name},
          {"core", kind < kCores.size() ? kCores[kind] : kCores[0]},
          {"clock_hz", preset.clock_hz},
          {"num_mxu", preset.num_mxu},
          {"hbm_bytes", preset.hbm_bytes},
          {"hbm_bytes_per_second", preset.hbm_bytes_per_second},
          {"peak_macs_per_cycle", preset.peak_macs_per_cycle},
          {"number", simulation.first_chip() + number},
          {"chips", simulation.slice_chips()},
          {"pid", ::getpid()}};
}

/// The manager's processor, if it runs an image.
Json processor_json(const chip::Manager& manager) {
  const chip::ImageProcessor* processor = manager.processor();
  if (processor == nullptr) return nullptr;
  const rv32::Processor& hart = processor->processor();
  Json registers = Json::array(), backtrace = Json::array();
  for (const uint32_t x : hart.x()) registers.push_back(x);
  std::istringstream lines(chip::image_backtrace(processor->image(), hart));
  for (std::string line; std::getline(lines, line);)
    backtrace.push_back(line.substr(std::min(line.size(), line.find_first_not_of(' '))));
  return {{"kind", hart.engine() == rv32::Engine::kIbex ? "ibex" : "rv32"},
          {"image", processor->image().crc},
          {"pc", hart.pc()},
          {"registers", std::move(registers)},
          {"backtrace", std::move(backtrace)},
          {"cycles", hart.cycles()},
          {"instructions", hart.instructions()}};
}

Json firmware_json(chip::Manager& manager, const fw::State& state) {
  const uint32_t status = manager.status();
  const uint32_t waypoint = status & 0xff;
  const auto bit = [status](unsigned at) { return (status >> at & 1) != 0; };
  return {{"waypoint", named(spec::waypoint_name(waypoint), waypoint)},
          {"asleep", bit(8)},
          {"halted", bit(12)},
          {"panicked", state.panicked},
          {"passes", state.passes},
          {"awake_cycles", manager.awake_cycles()},
          {"processor", processor_json(manager)}};
}

Json engines_json(chip::Chip& chip, const fw::State& state) {
  const chip::BusTraffic& traffic = chip.bus().traffic();
  const uint32_t status = chip.manager().status();
  return {
      {"core",
       {{"busy", (status >> 9 & 1) != 0},
        {"faulted", (status >> 10 & 1) != 0},
        {"command", command_json(state.launch.active, state.launch.function, state.launch.queue, state.launch.entry)}}},
      {"copy",
       {{"busy", chip.copy_engine().busy()},
        {"lost", state.copy.engine_lost},
        {"busy_cycles", chip.copy_engine().busy_cycles()},
        {"bytes", chip.copy_engine().moved_bytes()},
        {"command", command_json(state.copy.active, state.copy.function, state.copy.queue, state.copy.entry)}}},
      {"traffic",
       {{"hbm_read_bytes", traffic.hbm_read_bytes},
        {"hbm_written_bytes", traffic.hbm_written_bytes},
        {"host_read_bytes", traffic.host_read_bytes},
        {"host_written_bytes", traffic.host_written_bytes}}}};
}

/// `count` entries of a ring that end before free-running index `end`.
template <typename Entry>
Json ring_json(chip::Function& function, uint64_t iova, uint32_t entries, uint32_t end, uint32_t count) {
  count = std::min({count, entries, end});
  Json out = {{"first", end - count}, {"entries", Json::array()}};
  for (uint32_t i = end - count; i != end; i++) {
    Entry entry;
    const auto bytes = std::as_writable_bytes(std::span(&entry, 1));
    const bool mapped = function.host_memory().peek(iova + uint64_t{i & (entries - 1)} * sizeof entry, bytes);
    out["entries"].push_back(mapped ? Json(hex(bytes)) : Json());
  }
  return out;
}

template <typename Record>
Json records_json(const std::vector<Record>& records) {
  Json out = Json::array();
  for (const Record& record : records) out.push_back(hex(std::as_bytes(std::span(&record, 1))));
  return out;
}

}  // namespace

size_t function_index(const chip::Simulation& simulation, const ManagementRequest& request) {
  return request.chip * simulation.functions_of_a_chip() + request.function;
}

std::string state_reply(chip::Simulation& simulation, const ManagementRequest& request,
                        std::span<const FunctionOwner> owners) {
  std::array<uint64_t, WEFT_COUNTERS> counters{};
  const uint64_t counters_cycle = simulation.observe_counters(request.chip, counters);
  chip::Chip& chip = simulation.chip(request.chip);
  const fw::State& state = chip.manager().sram();
  Json reply = header();
  reply["chip"] = chip_json(simulation, request.chip);
  reply["cycle"] = simulation.cycle();
  reply["firmware"] = firmware_json(chip.manager(), state);
  reply["engines"] = engines_json(chip, state);
  reply["counters_cycle"] = counters_cycle;
  for (const auto& row : spec::kCounterNames) reply["counters"][std::string(row.name)] = counters[row.value];
  owners = owners.subspan(request.chip * chip.functions(), chip.functions());
  for (size_t i = 0; i < chip.functions(); i++)
    reply["functions"].push_back(function_json(chip.function(i), state.functions[i], owners[i]));
  return line_of(reply);
}

std::string function_reply(chip::Simulation& simulation, const ManagementRequest& request, const FunctionOwner& owner) {
  chip::Chip& chip = simulation.chip(request.chip);
  chip::Function& function = chip.function(request.function);
  const fw::Function& known = chip.manager().sram().functions[request.function];
  Json reply = header();
  reply["chip"] = chip_json(simulation, request.chip);
  reply["cycle"] = simulation.cycle();
  reply["function"] = function_json(function, known, owner);
  reply["processor"] = processor_json(chip.manager());
  reply["state_page"] = hex(chip.manager().state_page(request.function));
  reply["log"] = records_json(read_records<weft_log_record>(function, known.log.iova, WEFT_LIMIT_LOG_ENTRIES));
  reply["faults"] =
      records_json(read_records<weft_fault_record>(function, known.faults.iova, WEFT_LIMIT_FAULT_ENTRIES));
  reply["rings"] = Json::array();
  for (const fw::Queue& queue : known.queues) {
    if (queue.state == fw::QueueState::kFree) continue;
    const fw::CompletionRing& ring = known.rings[queue.completion_ring];
    reply["rings"].push_back(
        {{"id", queue.id},
         {"submissions", ring_json<weft_submission_entry>(function, queue.submission_iova, queue.entries, queue.tail,
                                                          request.entries)},
         {"completions",
          ring_json<weft_completion_entry>(function, ring.iova, ring.entries, ring.tail, request.entries)}});
  }
  return line_of(reply);
}

std::string reset_reply(chip::Simulation& simulation, const ManagementRequest& request, const FunctionOwner& owner) {
  chip::Registers& registers = simulation.chip(request.chip).function(request.function).registers();
  Json reply = header();
  reply["reset"] = {{"chip", simulation.first_chip() + request.chip},
                    {"function", request.function},
                    {"owner", owner_json(owner)},
                    {"cycle", simulation.cycle()},
                    {"reset_generation", registers.firmware_read(WEFT_REG_RESET_GENERATION)}};
  return line_of(reply);
}

std::string error_reply(std::string_view code, std::string_view message) {
  Json reply = header();
  reply["error"] = code;
  reply["message"] = message;
  return line_of(reply);
}

}  // namespace weft::server
