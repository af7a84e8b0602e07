// C ABI: which devices there are.
#include <vector>

#include "driver/abi/abi.hpp"
#include "driver/device/device_list.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

weft_status weft_enumerate(const char* folder, weft_device_entry* entries, uint32_t capacity, uint32_t* count) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(count);
    if (capacity != 0) {
      if (Status s = check_size(entries, "entries"); !s.ok()) return s;
    }
    const auto listed = list_devices(folder);
    if (!listed.ok()) return listed.status();
    const size_t stride = capacity != 0 ? entries->size : 0;
    for (size_t i = 0; i < listed.value().size() && i < capacity; i++) {
      const ListedDevice& device = listed.value()[i];
      weft_device_entry out = WEFT_INIT(weft_device_entry);
      put_text(out.name, device.name);
      put_text(out.preset, device.preset);
      out.core = device.core;
      out.busy = device.busy ? 1 : 0;
      out.owner = device.owner_pid;
      put_text(out.obstacle, device.obstacle);
      auto* entry = reinterpret_cast<weft_device_entry*>(reinterpret_cast<std::byte*>(entries) + i * stride);
      entry->size = stride;
      give(out, entry);
    }
    *count = static_cast<uint32_t>(listed.value().size());
    return {};
  });
}
