// The client: chips that are open, as devices of the framework. WEFT_CHIPS names the chip, WEFT_CORE the core,
// WEFT_TRACE the file of a slice's trace.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "host/pjrt/objects.hpp"
#include "host/runtime/driver_error.hpp"
#include "host/runtime/open_chips.hpp"

namespace weft::pjrt {
namespace {

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : otherwise;
}

void describe(Device& device, int id) {
  DeviceDescription& description = device.description;
  description.id = id;
  description.kind = fmt::format("Weft {}", device.chip->preset().name);
  description.text = fmt::format("WeftDevice(id={})", id);
  description.debug = fmt::format("weft:{} ({})", id, device.chip->preset().name);
  description.attributes = {named("coords", description.coordinates.data(), description.coordinates.size()),
                            named("core_on_chip", int64_t{0}), named("num_cores", int64_t{1})};
  device.memory.id = id;
  device.memory.device = &device;
  device.memory.text = fmt::format("WeftMemory(id={}, HBM)", id);
}

}  // namespace

NamedValue named(const char* name, const int64_t* values, size_t count) {
  NamedValue made{};
  made.size = sizeof made;
  made.name = name;
  made.name_size = std::strlen(name);
  made.kind = NamedValue::kIntegers;
  made.integers = values;
  made.value_size = count;
  return made;
}

NamedValue named(const char* name, int64_t value) {
  NamedValue made = named(name, nullptr, 1);
  made.kind = NamedValue::kInteger;
  made.integer = value;
  return made;
}

NamedValue named(const char* name, float value) {
  NamedValue made = named(name, nullptr, 1);
  made.kind = NamedValue::kFloat;
  made.number = value;
  return made;
}

namespace {

void add(Client& client, std::unique_ptr<Chip> chip, const std::array<int64_t, 3>& coordinates) {
  auto device = std::make_unique<Device>();
  device->client = &client;
  device->chip = std::move(chip);
  device->description.coordinates = coordinates;
  describe(*device, static_cast<int>(client.owned.size()));
  client.devices.push_back(device.get());
  client.memories.push_back(&device->memory);
  client.topology.descriptions.push_back(&device->description);
  client.owned.push_back(std::move(device));
}

Status open_slice(Client& client, const runtime::Target& target) {
  weft_slice* slice = nullptr;
  std::string name = fmt::format("sim:{}?core={}", target.chip, target.core);
  if (const auto trace = setting("WEFT_TRACE", ""); !trace.empty()) name += "&trace=" + trace;
  if (const auto status = weft_slice_open(name.c_str(), &slice); status != WEFT_ERROR_OK)
    return runtime::driver_error(status);
  client.slice.reset(slice);
  client.programs = std::make_unique<runtime::SlicePrograms>(slice);
  const auto shape = runtime::shape_of(slice);
  if (!shape.ok()) return shape.error();
  client.shape = shape.value();
  weft_slice_info info = WEFT_INIT(weft_slice_info);
  if (const auto status = weft_slice_get_info(slice, &info); status != WEFT_ERROR_OK)
    return runtime::driver_error(status);
  for (uint32_t number = 0; number < info.chips; number++) {
    weft_device* device = nullptr;
    weft_chip_place place = WEFT_INIT(weft_chip_place);
    for (const auto status :
         {weft_slice_get_device(slice, number, &device), weft_slice_get_chip(slice, number, &place)})
      if (status != WEFT_ERROR_OK) return runtime::driver_error(status);
    auto chip = Chip::open(device);
    if (!chip.ok()) return chip.error();
    add(client, std::move(chip.value()), {place.coordinates[0], place.coordinates[1], place.coordinates[2]});
  }
  return Ok{};
}

}  // namespace

Error* create_client(ClientCreateArguments& a) {
  auto client = std::make_unique<Client>();
  runtime::Target target;
  target.chip = setting("WEFT_CHIPS", "v5e-1mxu");
  target.core = setting("WEFT_CORE", "fast");
  client->topology.client = client.get();
  if (spec::find_chip(target.chip) != nullptr) {
    auto chip = Chip::open(target);
    if (!chip.ok()) return made(chip.error());
    add(*client, std::move(chip.value()), {});
  } else if (auto status = open_slice(*client, target); !status.ok()) {
    return made(code_of(status.error().code),
                fmt::format("WEFT_CHIPS names '{}'; it names a chip's preset, as `weft info` lists them, or a slice of "
                            "one, as in nano-2x2: {}",
                            target.chip, status.error().message));
  }
  client->version = fmt::format("weft {}, chip {}, core {}", WEFT_PROJECT_VERSION, target.chip, target.core);
  a.client = client.release();
  return nullptr;
}

Error* memory_statistics(MemoryStatisticsArguments& a) {
  const auto info = a.device->chip->info();
  if (!info.ok()) return made(info.error());
  const MemoryUse use = a.device->chip->memory_use();
  const auto known = [](uint64_t value) {
    return MemoryStatisticsArguments::Number{static_cast<int64_t>(value), true};
  };
  a.bytes_in_use = static_cast<int64_t>(use.in_use);
  a.peak_bytes = known(use.peak);
  a.allocations = known(use.allocations);
  a.largest_allocation = known(use.largest);
  a.limit = known(info.value().hbm_bytes);
  a.largest_free = known(info.value().hbm_largest_bytes);
  for (auto* number : {&a.reserved, &a.peak_reserved, &a.reservable, &a.pool, &a.peak_pool}) *number = {0, false};
  return nullptr;
}

}  // namespace weft::pjrt
