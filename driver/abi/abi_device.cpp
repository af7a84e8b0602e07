// C ABI: errors, devices.
#include <algorithm>

#include "driver/abi/abi.hpp"
#include "driver/mock/transport_mock.hpp"
#include "driver/transport/device_name.hpp"
#include "driver/transport/sim_process.hpp"
#include "driver/transport/transport_vfio.hpp"
#include "driver/transport/transport_vfio_user.hpp"
#include "weft/spec/names.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

namespace {

/// `recording` gets the file that a simulator of our own writes.
Result<std::unique_ptr<Transport>> connect(const DeviceName& name, std::string& recording) {
  switch (name.kind) {
    case DeviceKind::kMock:
      return std::unique_ptr<Transport>(std::make_unique<MockTransport>(*weft::spec::find_chip(name.target)));
    case DeviceKind::kVfioUser:
      return VfioUserTransport::connect_path(name.target);
    case DeviceKind::kPci:
      return VfioTransport::open(name.target);
    case DeviceKind::kSimulator:
      break;
  }
  auto started = SimProcess::start(name);
  if (!started.ok()) return started.status();
  recording = started.value().process->record_file();
  return VfioUserTransport::connect(std::move(started.value().sockets.front()), std::move(started.value().process));
}

}  // namespace

weft_status weft_last_error(weft_error_info* info) {
  if (info == nullptr || !is_size_of<weft_error_info>(info->size)) return WEFT_ERROR_INVALID_ARGUMENT;
  weft_error_info out = WEFT_INIT(weft_error_info);
  copy_last_error(out);
  give(out, info);
  return WEFT_ERROR_OK;
}

const char* weft_status_name(weft_status status) {
  const auto name = weft::spec::error_name(weft::driver::abi::number_of(status));
  return name.empty() ? "UNKNOWN" : name.data();  // the names are string literals
}

weft_status weft_open(const char* name, weft_device** device) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    *device = nullptr;
    WEFT_REQUIRE(name);
    auto parsed = parse_device_name(name);
    if (!parsed.ok()) return parsed.status();
    if (Status s = apply_environment(parsed.value()); !s.ok()) return s;
    std::string recording;
    auto transport = connect(parsed.value(), recording);
    if (!transport.ok()) return transport.status();
    auto opened = Device::open(std::move(transport.value()));
    if (!opened.ok()) return opened.status();
    opened.value()->set_name(name);
    opened.value()->set_recording(std::move(recording));
    *device = new weft_device{std::move(opened.value())};
    return {};
  });
}

weft_status weft_close(weft_device* device, const weft_close_options* options) {
  return guard([&]() -> Status {
    if (put_aside(device, inherited(device))) return {};
    WEFT_REQUIRE(device);
    if (device->slice)
      return failure(WEFT_ERROR_INVALID_STATE, "the device belongs to a slice: weft_slice_close closes it");
    const auto chosen = options_or_default(options);
    if (!chosen.ok()) return chosen.status();
    constexpr uint32_t kDefaultDrainMs = 1000;
    if (Status s = device->device->close(chosen.value().drain_ms != 0 ? chosen.value().drain_ms : kDefaultDrainMs);
        !s.ok())
      return s;
    delete device;
    return {};
  });
}

weft_status weft_device_get_info(weft_device* device, weft_device_info* info) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    if (Status s = check_size(info, "info"); !s.ok()) return s;
    Device& d = *device->device;
    const auto state = d.state();
    if (!state.ok()) return state.status();
    d.collect();  // what was released while its last launch was in flight
    const auto usage = d.hbm()->usage();
    constexpr uint32_t kCoreShift = 16;
    const uint32_t core = d.identity().capabilities >> kCoreShift & 0xf;
    weft_device_info out = WEFT_INIT(weft_device_info);
    put_text(out.preset, d.chip().name);
    out.fingerprint = d.identity().fingerprint;
    out.clock_hz = d.identity().clock_hz;
    out.hbm_bytes = usage.total_bytes;
    out.hbm_free_bytes = usage.free_bytes;
    out.hbm_largest_bytes = usage.largest_bytes;
    out.state = state.value();
    out.core = core <= WEFT_CORE_KIND_LOCKSTEP ? static_cast<weft_core_kind>(core) : WEFT_CORE_KIND_UNKNOWN;
    out.abi_version = d.identity().abi_version;
    out.generation = d.generation();
    out.max_queues = Device::kUserQueues;
    out.max_queue_entries = Device::kMaxQueueEntries;
    give(out, info);
    return {};
  });
}

weft_status weft_device_cycle(weft_device* device, uint64_t* cycle) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    WEFT_REQUIRE(cycle);
    const auto value = device->device->cycle();
    if (value.ok()) *cycle = value.value();
    return value.status();
  });
}

weft_status weft_device_get_descriptor(weft_device* device, int* descriptor) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    WEFT_REQUIRE(descriptor);
    const auto found = device->device->loop_descriptor();
    if (found.ok()) *descriptor = found.value();
    return found.status();
  });
}

weft_status weft_device_process(weft_device* device) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    return device->device->process();
  });
}

weft_status weft_device_counters(weft_device* device, uint64_t* values, uint32_t count) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    WEFT_REQUIRE(values);
    if (count == 0 || count > WEFT_COUNTERS)
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "{} counters: 1 to {} are possible", count, WEFT_COUNTERS);
    std::vector<uint64_t> snapshot(count);
    if (Status s = device->device->counters(snapshot); !s.ok()) return s;
    std::copy(snapshot.begin(), snapshot.end(), values);
    return {};
  });
}

weft_status weft_device_get_statistics(weft_device* device, weft_device_statistics* statistics) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    if (Status s = check_size(statistics, "statistics"); !s.ok()) return s;
    const auto s = device->device->statistics();
    const weft_device_statistics out{sizeof out,    s.counts.submitted, s.counts.completed,
                                     s.interrupts,  s.lost_interrupts,  s.counts.duplicate,
                                     s.counts.late, s.counts.unknown,   s.counts.bad};
    give(out, statistics);
    return {};
  });
}

weft_status weft_device_read_log(weft_device* device, weft_log_record* records, uint32_t capacity, uint32_t* count,
                                 uint64_t* lost) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    WEFT_REQUIRE(records);
    WEFT_REQUIRE(count);
    *count = device->device->read_log({records, capacity}, lost);
    return {};
  });
}

namespace {

Status run_admin(Device& device, uint8_t opcode, uint64_t size) {
  if (Status s = device.check(); !s.ok()) return s;
  Command command;
  command.opcode = opcode;
  command.size = size;
  const auto ending = device.admin(command, device.generation());
  return ending.ok() ? ending.value().status : ending.status();
}

}  // namespace

Status weft::driver::abi::set_watchdog(weft_device& device, uint64_t cycles) {
  return run_admin(*device.device, WEFT_ADMIN_OPCODE_SET_TIMEOUT, cycles != 0 ? cycles : device.watchdog_default);
}

weft_status weft_device_set_log_level(weft_device* device, uint32_t level) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    constexpr uint32_t kDebug = 3;
    if (level > kDebug)
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "log level {}: 0 to {} are possible", level, kDebug);
    return run_admin(*device->device, WEFT_ADMIN_OPCODE_SET_LOG_LEVEL, level);
  });
}

weft_status weft_device_set_watchdog(weft_device* device, uint64_t cycles) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    return set_watchdog(*device, cycles);
  });
}

weft_status weft_device_reset(weft_device* device) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(device);
    if (Status s = device->device->reset(); !s.ok()) return s;
    return device->watchdog_default == 0 ? Status{} : set_watchdog(*device, 0);
  });
}
