// C ABI: slices, one handle for the devices of all their chips.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "driver/abi/abi.hpp"
#include "driver/device/slice_place.hpp"
#include "driver/transport/device_name.hpp"
#include "driver/transport/registers.hpp"
#include "driver/transport/sim_process.hpp"
#include "driver/transport/transport_vfio_user.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

struct weft_slice {
  struct Chip {
    std::unique_ptr<weft_device> device;
    SlicePlace place;
  };
  std::vector<Chip> chips;
  bool held = false;

  [[nodiscard]] Transport& transport(size_t chip) const { return chips[chip].device->device->transport(); }
};

namespace weft::driver::abi {

inline bool inherited(const weft_slice* handle) {
  return handle != nullptr && !handle->chips.empty() && inherited(handle->chips.front().device.get());
}

}  // namespace weft::driver::abi

namespace {

constexpr uint32_t kDefaultDrainMs = 1000;

/// The last one opened first: the simulator ends with chip 0, when nobody else uses it. The first error.
Status close_chips(weft_slice& slice, uint32_t drain_ms) {
  Status first;
  while (!slice.chips.empty()) {
    Status s = slice.chips.back().device->device->close(drain_ms);
    if (first.ok()) first = std::move(s);
    slice.chips.pop_back();
  }
  return first;
}

std::string socket_of(const std::string& directory, uint32_t chip, uint32_t function = 0) {
  return fmt::format("{}/chip{}-function{}.sock", directory, chip, function);
}

/// While another chip is held by other functions, launches here wait for it without progress: each of the others may
/// hold it for MAX_HOLD_KCYCLES. 0: the chips have one function each.
uint64_t watchdog_beside_others(const std::string& directory) {
  uint32_t functions = 1;
  std::error_code ignored;
  while (functions < WEFT_LIMIT_FUNCTIONS && std::filesystem::exists(socket_of(directory, 0, functions), ignored))
    functions++;
  constexpr uint64_t kHoldCycles = uint64_t{WEFT_CORE_MAX_HOLD_KCYCLES} * 1000;
  return functions == 1 ? 0 : (functions - 1) * kHoldCycles + WEFT_CORE_WATCHDOG_DEFAULT_CYCLES;
}

/// Boots the chip behind the transport and adds it; it must be the next one of the slice.
Status add_chip(weft_slice& slice, Result<std::unique_ptr<Transport>> transport, const std::string& name) {
  if (!transport.ok()) return transport.status();
  const auto place = read_slice_place(*transport.value());
  if (!place.ok()) return place.status();
  const auto number = static_cast<uint32_t>(slice.chips.size());
  if (place.value().chip != number)
    return failure(WEFT_ERROR_INVALID_STATE, "chip {} of '{}' says that it is chip {}", number, name,
                   place.value().chip);
  auto opened = Device::open(std::move(transport.value()));
  if (!opened.ok()) return opened.status();
  opened.value()->set_name(name);
  auto device = std::make_unique<weft_device>();
  device->device = std::move(opened.value());
  device->slice = true;
  slice.chips.push_back({std::move(device), place.value()});
  return {};
}

Status open_simulator(weft_slice& slice, const DeviceName& name, const std::string& text) {
  auto started = SimProcess::start(name);
  if (!started.ok()) return started.status();
  auto& [process, sockets] = started.value();
  for (uint32_t chip = 0; chip < name.chips; chip++) {
    auto transport = VfioUserTransport::connect(std::move(sockets[chip]), chip == 0 ? std::move(process) : nullptr);
    if (Status s = add_chip(slice, std::move(transport), text); !s.ok()) {
      sockets.clear();  // of the others: so the simulator ends
      return s;
    }
  }
  return {};
}

Status open_directory(weft_slice& slice, const DeviceName& name, const std::string& text) {
  uint32_t chips = 1;
  for (uint32_t chip = 0; chip < chips; chip++) {
    auto transport = VfioUserTransport::connect_path(socket_of(name.target, chip));
    if (Status s = add_chip(slice, std::move(transport), text); !s.ok()) return s;
    chips = slice.chips.front().place.chips;
  }
  const uint64_t watchdog = watchdog_beside_others(name.target);
  if (watchdog == 0) return {};
  for (const auto& chip : slice.chips) {
    chip.device->watchdog_default = watchdog;
    if (Status s = set_watchdog(*chip.device, 0); !s.ok()) return s;
  }
  return {};
}

Status check_chip(const weft_slice& slice, uint32_t chip) {
  if (chip < slice.chips.size()) return {};
  return failure(WEFT_ERROR_INVALID_ARGUMENT, "there is no chip {}: the slice has chips 0 to {}", chip,
                 slice.chips.size() - 1);
}

}  // namespace

weft_status weft_slice_open(const char* name, weft_slice** slice) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(slice);
    *slice = nullptr;
    WEFT_REQUIRE(name);
    auto parsed = parse_slice_name(name);
    if (!parsed.ok()) return parsed.status();
    if (Status s = apply_environment(parsed.value()); !s.ok()) return s;
    auto opened = std::make_unique<weft_slice>();
    Status status = parsed.value().kind == DeviceKind::kSimulator ? open_simulator(*opened, parsed.value(), name)
                                                                  : open_directory(*opened, parsed.value(), name);
    if (!status.ok()) {
      (void)close_chips(*opened, kDefaultDrainMs);
      return status;
    }
    *slice = opened.release();
    return {};
  });
}

weft_status weft_slice_close(weft_slice* slice, const weft_close_options* options) {
  return guard([&]() -> Status {
    if (put_aside(slice, inherited(slice))) return {};
    WEFT_REQUIRE(slice);
    const auto chosen = options_or_default(options);
    if (!chosen.ok()) return chosen.status();
    if (slice->held) (void)!weft_slice_resume(slice);
    const std::unique_ptr<weft_slice> owned(slice);
    return close_chips(*owned, chosen.value().drain_ms != 0 ? chosen.value().drain_ms : kDefaultDrainMs);
  });
}

weft_status weft_slice_get_info(weft_slice* slice, weft_slice_info* info) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(slice);
    if (Status s = check_size(info, "info"); !s.ok()) return s;
    const SlicePlace& place = slice->chips.front().place;
    weft_slice_info out = WEFT_INIT(weft_slice_info);
    out.chips = place.chips;
    std::ranges::copy(place.dimensions, out.dimensions);
    std::ranges::copy(place.wraps, out.wraps);
    out.twisted = place.twisted ? 1 : 0;
    out.link_bytes_per_second = place.link_bytes_per_second;
    give(out, info);
    return {};
  });
}

weft_status weft_slice_get_chip(weft_slice* slice, uint32_t chip, weft_chip_place* place) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(slice);
    if (Status s = check_size(place, "place"); !s.ok()) return s;
    if (Status s = check_chip(*slice, chip); !s.ok()) return s;
    weft_chip_place out = WEFT_INIT(weft_chip_place);
    std::ranges::copy(slice->chips[chip].place.coordinates(), out.coordinates);
    std::ranges::copy(slice->chips[chip].place.neighbors, out.neighbors);
    give(out, place);
    return {};
  });
}

weft_status weft_slice_get_link(weft_slice* slice, uint32_t chip, uint32_t port, weft_link_info* info) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(slice);
    if (Status s = check_size(info, "info"); !s.ok()) return s;
    if (Status s = check_chip(*slice, chip); !s.ok()) return s;
    const auto& neighbors = slice->chips[chip].place.neighbors;
    if (port >= neighbors.size())
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "there is no port {}: a chip has ports 0 to 5, +x -x +y -y +z -z",
                     port);
    const auto link = read_link(slice->transport(chip), port);
    if (!link.ok()) return link.status();
    const weft_ici_link& l = link.value();
    weft_link_info out = WEFT_INIT(weft_link_info);
    out.state = static_cast<weft_link_state>(l.state);
    out.neighbor = neighbors[port] == kNoNeighbor ? WEFT_NO_CHIP : neighbors[port];
    out.downs = l.downs;
    out.packets = l.packets;
    out.payload_bytes = l.payload_bytes;
    out.wire_bytes = l.wire_bytes;
    out.frame_errors = l.frame_errors;
    out.busy_cycles = l.busy_cycles;
    out.replay_cycles = l.replay_cycles;
    out.cycle = l.cycle;
    give(out, info);
    return {};
  });
}

weft_status weft_slice_find_chip(weft_slice* slice, const uint32_t coordinates[3], uint32_t* chip) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(slice);
    WEFT_REQUIRE(coordinates);
    WEFT_REQUIRE(chip);
    const auto& size = slice->chips.front().place.dimensions;
    for (unsigned axis = 0; axis < kSliceAxes; axis++)
      if (coordinates[axis] >= size[axis])
        return failure(WEFT_ERROR_INVALID_ARGUMENT, "coordinate {} of axis {}: 0 to {} are possible", coordinates[axis],
                       "xyz"[axis], size[axis] - 1);
    *chip = coordinates[0] + size[0] * (coordinates[1] + size[1] * coordinates[2]);
    return {};
  });
}

weft_status weft_slice_get_device(weft_slice* slice, uint32_t chip, weft_device** device) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    *device = nullptr;
    WEFT_REQUIRE(slice);
    if (Status s = check_chip(*slice, chip); !s.ok()) return s;
    *device = slice->chips[chip].device.get();
    return {};
  });
}

weft_status weft_slice_hold(weft_slice* slice) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(slice);
    if (slice->held) return failure(WEFT_ERROR_INVALID_STATE, "time is held already");
    const Status s = write32(slice->transport(0), WEFT_REG_SIM_HOLD, 1);
    if (s.code() == WEFT_ERROR_UNSUPPORTED)
      return failure(s.code(),
                     "the simulator does not hold time while others use it, unless it was started with "
                     "--allow-hold ({})",
                     s.message());
    if (!s.ok()) return s;
    slice->held = true;
    return {};
  });
}

weft_status weft_slice_resume(weft_slice* slice) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(slice);
    if (!slice->held) return failure(WEFT_ERROR_INVALID_STATE, "time is not held");
    // a read of each chip comes back when its doorbells have arrived
    for (size_t chip = 0; chip < slice->chips.size(); chip++) {
      const auto magic = read32(slice->transport(chip), WEFT_REG_MAGIC);
      if (!magic.ok()) return magic.status();
    }
    if (Status s = write32(slice->transport(0), WEFT_REG_SIM_HOLD, 0); !s.ok()) return s;
    slice->held = false;
    return {};
  });
}
