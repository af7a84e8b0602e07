// The client: chips that are open, as devices of the framework. WEFT_CHIPS names the chip, WEFT_CORE the core.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "host/pjrt/objects.hpp"

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

Error* create_client(ClientCreateArguments& a) {
  auto client = std::make_unique<Client>();
  runtime::Target target;
  target.chip = setting("WEFT_CHIPS", "v5e-1mxu");
  target.core = setting("WEFT_CORE", "fast");
  if (spec::find_chip(target.chip) == nullptr)
    return made(
        ErrorCode::kInvalidArgument,
        fmt::format("WEFT_CHIPS names '{}'; it names one chip's preset, as `weft info` lists them", target.chip));
  auto chip = Chip::open(target);
  if (!chip.ok()) return made(chip.error());
  auto device = std::make_unique<Device>();
  device->client = client.get();
  device->chip = std::move(chip.value());
  describe(*device, 0);
  client->version = fmt::format("weft {}, chip {}, core {}", WEFT_PROJECT_VERSION, target.chip, target.core);
  client->devices.push_back(device.get());
  client->memories.push_back(&device->memory);
  client->topology.client = client.get();
  client->topology.descriptions.push_back(&device->description);
  client->owned.push_back(std::move(device));
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
