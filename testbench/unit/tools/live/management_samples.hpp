/// Replies of a management socket, as a weft-sim would send them, and ways to spoil them.
#pragma once
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "weft/spec/names.hpp"

namespace weft::test {

inline nlohmann::json sample_function() {
  return {
      {"function", 0},
      {"owner", {{"pid", 4711}, {"process", "trainer"}}},
      {"state", "ready"},
      {"boot_stage", "ready"},
      {"boot_error", "OK"},
      {"reset_generation", 2},
      {"heartbeat", 1000},
      {"progress", 50},
      {"first_error", "DMA_FAULT"},
      {"pending_errors", 3},
      {"hbm",
       {{"bytes", 16u << 20}, {"reserved_bytes", 65536}, {"used_bytes", 1u << 20}, {"largest_free_bytes", 15u << 20}}},
      {"programs", 1},
      {"timelines", 0},
      {"queues",
       {{{"id", 0},
         {"state", "active"},
         {"priority", "normal"},
         {"entries", 32},
         {"head", 9},
         {"tail", 9},
         {"doorbell", 9},
         {"fetched", 0},
         {"completion_entries", 32},
         {"completion_head", 0},
         {"completion_tail", 9}},
        {{"id", 3},
         {"state", "halted"},
         {"priority", "high"},
         {"entries", 64},
         {"head", 100},
         {"tail", 102},
         {"doorbell", 102},
         {"fetched", 1},
         {"completion_entries", 128},
         {"completion_head", 0},
         {"completion_tail", 99}}}},
      {"last_errors",
       {{{"error", "COMPUTE_FAULT"},
         {"count", 2},
         {"record", 7},
         {"queue", 3},
         {"command", 4096},
         {"cycle", 123456},
         {"fault", "ECC_DOUBLE"}}}}};
}

inline nlohmann::json sample_chip() {
  return {{"preset", "nano"},
          {"core", "fast"},
          {"clock_hz", 1000000000},
          {"num_mxu", 1},
          {"hbm_bytes", 32u << 20},
          {"hbm_bytes_per_second", 16000000000},
          {"peak_macs_per_cycle", 64},
          {"pid", 99},
          {"number", 0},
          {"chips", 1}};
}

/// Of a chip that runs the firmware's image.
inline nlohmann::json sample_processor() {
  std::vector<uint32_t> registers(32);
  for (uint32_t i = 0; i < 32; i++) registers[i] = 0x1000'0000 + i;
  return {{"kind", "rv32"},
          {"image", 0xc86c406e},
          {"pc", 0x81b8},
          {"registers", registers},
          {"backtrace", {"0x081b8 wait_for_event+0xc", "from 0x0009e _start+0x1e"}},
          {"cycles", 90670},
          {"instructions", 54956}};
}

/// {"request":"state"} at device cycle `cycle`; every counter is `counter`.
inline nlohmann::json sample_state(uint64_t cycle, uint64_t counter) {
  nlohmann::json state = {
      {"weft_management", 1},
      {"chip", sample_chip()},
      {"cycle", cycle},
      {"counters_cycle", cycle},
      {"firmware",
       {{"waypoint", "idle"}, {"asleep", true}, {"halted", false}, {"panicked", false}, {"awake_cycles", counter}}},
      {"engines",
       {{"core",
         {{"busy", true},
          {"faulted", false},
          {"command", {{"function", 0}, {"queue", 3}, {"opcode", "LAUNCH"}, {"command", 4096}, {"tag", 7}}}}},
        {"copy", {{"busy", false}, {"lost", false}, {"busy_cycles", 0}, {"bytes", 0}, {"command", nullptr}}},
        {"traffic",
         {{"hbm_read_bytes", counter}, {"hbm_written_bytes", 0}, {"host_read_bytes", 0}, {"host_written_bytes", 0}}}}},
      {"functions", {sample_function()}}};
  for (const auto& row : spec::kCounterNames) state["counters"][std::string(row.name)] = counter;
  return state;
}

/// A few bytes of the text changed, taken out or doubled.
inline std::string spoilt(std::string text, std::mt19937_64& random) {
  for (uint64_t changes = 1 + random() % 4; changes != 0 && !text.empty(); changes--) {
    const size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, 1 + random() % 16);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), random() % 32));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

inline uint64_t seed_of_run() {
  const uint64_t seed = Catch::rngSeed() != 0 ? Catch::rngSeed() : 20'261'122;
  WARN("seed " << seed << " (rerun with --rng-seed)");
  return seed;
}

}  // namespace weft::test
