// Reads what the chips' link registers tell.
#include "model/server/management_links.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <variant>
#include <vector>

#include "model/chip/chip.hpp"
#include "model/server/management_reply.hpp"
#include "weft/spec/names.hpp"

namespace weft::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, chip::kLinkPorts> kPortNames{"+x", "-x", "+y", "-y", "+z", "-z"};
constexpr unsigned kAxes = 3;
constexpr unsigned kFieldBits = 16;
constexpr uint64_t kField = 0xffff;

Json slice_json(const spec::Chip& preset, const chip::SliceRegisters& slice) {
  constexpr unsigned kWrapBit = 48, kTwistBit = 51;
  Json size, wraps;
  for (unsigned axis = 0; axis < kAxes; axis++) {
    const std::string name(1, "xyz"[axis]);
    size[name] = slice.shape >> kFieldBits * axis & kField;
    wraps[name] = (slice.shape >> (kWrapBit + axis) & 1) != 0;
  }
  return {{"preset", preset.name},
          {"chips", slice.chip >> kFieldBits},
          {"size", size},
          {"wraps", wraps},
          {"twisted", (slice.shape >> kTwistBit & 1) != 0},
          {"link_bytes_per_second", slice.link_bytes_per_second},
          {"clock_hz", preset.clock_hz},
          {"pid", ::getpid()}};
}

Json link_json(uint32_t chip, unsigned port, const chip::SliceRegisters& slice) {
  const uint64_t ports = port < 4 ? slice.neighbors : slice.neighbors_z;
  const uint64_t neighbor = ports >> kFieldBits * (port % 4) & kField;
  const weft_ici_link link = slice.link(port);
  return {{"chip", chip},
          {"port", port},
          {"neighbor", neighbor == kField ? Json() : Json(neighbor)},
          {"state", spec::link_state_name(link.state)},
          {"downs", link.downs},
          {"packets", link.packets},
          {"payload_bytes", link.payload_bytes},
          {"wire_bytes", link.wire_bytes},
          {"frame_errors", link.frame_errors},
          {"busy_cycles", link.busy_cycles},
          {"replay_cycles", link.replay_cycles}};
}

}  // namespace

std::string links_reply(chip::Simulation& simulation) {
  const chip::SliceRegisters& first = simulation.chip(0).function(0).registers().slice();
  if (!first.link)
    return error_reply("UNSUPPORTED", "the chip stands alone and has no links; weft-sim --slice has chips with links");
  Json reply = {{"weft_management", kManagementVersion},
                {"slice", slice_json(simulation.chip(0).preset(), first)},
                {"cycle", simulation.cycle()},
                {"links", Json::array()}};
  for (uint32_t chip = 0; chip < simulation.slice_chips(); chip++) {
    const chip::SliceRegisters slice = simulation.slice_registers(chip);
    for (unsigned port = 0; port < chip::kLinkPorts; port++) reply["links"].push_back(link_json(chip, port, slice));
  }
  return reply.dump() + "\n";
}

std::string replace_reply(chip::Simulation& simulation, const ManagementRequest& request) {
  const auto chips = simulation.replace_cube(request.cube);
  if (const auto* why = std::get_if<std::string>(&chips)) return error_reply("INVALID_ARGUMENT", *why);
  const Json reply = {{"weft_management", kManagementVersion},
                      {"replaced", {{"cube", request.cube}, {"chips", std::get<std::vector<uint32_t>>(chips)}}}};
  return reply.dump() + "\n";
}

std::string inject_reply(chip::Simulation& simulation, const ManagementRequest& request) {
  chip::FaultInjector& faults = simulation.chip(request.chip).function(0).faults();
  if (!faults.arm({.kind = request.kind_of_fault,
                   .target = request.port,
                   .nth = request.nth,
                   .count = request.count,
                   .value = {request.value}},
                  chip::FaultInjector::By::kObserver))
    return error_reply(
        "INVALID_ARGUMENT",
        fmt::format("chip {} refused {} at port {} with value {}: it has no link there, {} faults are "
                    "armed ({} at most), or the value is outside of its range "
                    "(docs/reference/host_interface.md, injected_fault)",
                    simulation.first_chip() + request.chip, spec::injected_fault_name(request.kind_of_fault),
                    kPortNames[request.port], request.value, faults.armed(), chip::FaultInjector::kMaxArmed));
  const Json reply = {{"weft_management", kManagementVersion},
                      {"injected", {{"chip", simulation.first_chip() + request.chip}, {"armed", faults.armed()}}}};
  return reply.dump() + "\n";
}

}  // namespace weft::server
