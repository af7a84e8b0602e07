// Field by field; the first that is wrong is named with its path.
#include "host/tools/live/links_snapshot.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

#include "host/runtime/driver_error.hpp"
#include "host/runtime/fault_schedule.hpp"
#include "host/tools/formats/json_fields.hpp"
#include "host/tools/live/chip_snapshot.hpp"
#include "weft/spec/names.hpp"

namespace weft::tools {
namespace {

constexpr uint32_t kPorts = runtime::kPortNames.size();
constexpr std::array<const char*, 3> kAxes{"x", "y", "z"};

LinkSnapshot read_link(const JsonFields& fields) {
  LinkSnapshot link;
  fields.get("chip", link.chip);
  fields.get("port", link.port);
  fields.get("neighbor", link.neighbor);
  fields.get("state", link.state);
  fields.get("downs", link.downs);
  fields.get("packets", link.packets);
  fields.get("payload_bytes", link.payload_bytes);
  fields.get("wire_bytes", link.wire_bytes);
  fields.get("frame_errors", link.frame_errors);
  fields.get("busy_cycles", link.busy_cycles);
  fields.get("replay_cycles", link.replay_cycles);
  return link;
}

void read_slice(const JsonFields& fields, LinksSnapshot& out) {
  fields.get("preset", out.preset);
  fields.get("chips", out.chips);
  fields.get("twisted", out.twisted);
  fields.get("link_bytes_per_second", out.link_bytes_per_second);
  fields.get("clock_hz", out.clock_hz);
  fields.get("pid", out.pid);
  const auto size = fields.object("size"), wraps = fields.object("wraps");
  for (size_t axis = 0; axis < kAxes.size(); axis++) {
    if (size) size->get(kAxes[axis], out.size[axis]);
    if (wraps) wraps->get(kAxes[axis], out.wraps[axis]);
  }
}

}  // namespace

std::string link_name(uint32_t chip, uint32_t port) {
  return fmt::format("{} {}", chip, port < kPorts ? runtime::kPortNames[port] : "?");
}

Result<std::pair<uint32_t, uint32_t>> parse_link_name(std::string_view text) {
  uint32_t chip = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), chip);
  const auto rest = text.substr(static_cast<size_t>(end - text.data()));
  if (code == std::errc{} && rest.size() == 3 && (rest[0] == ':' || rest[0] == ','))
    for (uint32_t port = 0; port < kPorts; port++)
      if (rest.substr(1) == runtime::kPortNames[port]) return std::pair{chip, port};
  return Error{WEFT_ERROR_INVALID_ARGUMENT,
               fmt::format("'{}' is no link: a chip and one of its ports +x, -x, +y, -y, +z, -z, such as 0:+x", text)};
}

Result<LinksSnapshot> parse_links_snapshot(std::string_view reply) {
  const auto object = parse_management_reply(reply);
  if (!object.ok()) return object.error();
  std::string error;
  const JsonFields fields(object.value(), "", error);
  LinksSnapshot out;
  if (const auto slice = fields.object("slice"))
    read_slice(*slice, out);
  else if (error.empty())
    error = "'slice' is missing";
  fields.get("cycle", out.cycle);
  fields.array("links", [&](const JsonFields& link) { out.links.push_back(read_link(link)); });
  if (!error.empty()) return wrong_management_reply(error);
  return out;
}

Result<LinksSnapshot> links_of(weft_slice* slice, const std::string& name) {
  weft_slice_info info = WEFT_INIT(weft_slice_info);
  weft_device* device = nullptr;
  weft_device_info chip = WEFT_INIT(weft_device_info);
  auto status = weft_slice_get_info(slice, &info);
  if (status == WEFT_ERROR_OK) status = weft_slice_get_device(slice, 0, &device);
  if (status == WEFT_ERROR_OK) status = weft_device_get_info(device, &chip);
  LinksSnapshot out;
  out.place = name;
  out.preset = chip.preset;
  out.chips = info.chips;
  for (size_t axis = 0; axis < out.size.size(); axis++) {
    out.size[axis] = info.dimensions[axis];
    out.wraps[axis] = info.wraps[axis] != 0;
  }
  out.twisted = info.twisted != 0;
  out.link_bytes_per_second = info.link_bytes_per_second;
  out.clock_hz = chip.clock_hz;
  for (uint32_t number = 0; number < info.chips; number++)
    for (uint32_t port = 0; port < kPorts && status == WEFT_ERROR_OK; port++) {
      weft_link_info link = WEFT_INIT(weft_link_info);
      status = weft_slice_get_link(slice, number, port, &link);
      LinkSnapshot one{.chip = number, .port = port};
      if (link.neighbor != WEFT_NO_CHIP) one.neighbor = link.neighbor;
      one.state = spec::link_state_name(link.state);
      one.downs = link.downs;
      one.packets = link.packets;
      one.payload_bytes = link.payload_bytes;
      one.wire_bytes = link.wire_bytes;
      one.frame_errors = link.frame_errors;
      one.busy_cycles = link.busy_cycles;
      one.replay_cycles = link.replay_cycles;
      out.cycle = std::max(out.cycle, link.cycle);
      out.links.push_back(std::move(one));
    }
  if (status != WEFT_ERROR_OK) return runtime::driver_error(status);
  return out;
}

}  // namespace weft::tools
