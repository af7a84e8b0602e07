// One question to a management socket per chip, a look at sysfs, and one for weft-sim.
#include "driver/device/device_list.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "driver/transport/device_name.hpp"
#include "driver/transport/management_state.hpp"
#include "driver/transport/pci_functions.hpp"
#include "driver/transport/sim_process.hpp"
#include "weft/spec/chips.hpp"

namespace weft::driver {
namespace {

weft_core_kind core_kind(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, weft_core_kind>, 3> kKinds{
      {{"rtl", WEFT_CORE_KIND_RTL}, {"fast", WEFT_CORE_KIND_FAST}, {"lockstep", WEFT_CORE_KIND_LOCKSTEP}}};
  for (const auto& [text, kind] : kKinds) {
    if (text == name) return kind;
  }
  return WEFT_CORE_KIND_UNKNOWN;
}

void add_functions(std::vector<ListedDevice>& list, const std::string& folder, const ManagedChip& chip,
                   uint32_t number) {
  const std::string prefix =
      fmt::format("vfio-user:{}/{}", folder, chip.chips > 1 ? fmt::format("chip{}-", number) : std::string());
  for (const ManagedChip::Function& function : chip.functions)
    list.push_back({fmt::format("{}function{}.sock", prefix, function.index),
                    chip.preset,
                    core_kind(chip.core),
                    function.owned,
                    function.owner_pid,
                    {}});
}

void add_pci_functions(std::vector<ListedDevice>& list, const VfioKernel& kernel) {
  for (const PciFunction& function : weft_functions(kernel)) {
    const Status status = obstacle(kernel, function);
    const uint32_t owner = owner_of(kernel, function);
    list.push_back({"pci:" + function.address,
                    {},
                    WEFT_CORE_KIND_UNKNOWN,
                    owner != 0,
                    owner,
                    status.ok() ? std::string() : status.message()});
  }
}

}  // namespace

Result<std::vector<ListedDevice>> list_devices(const char* folder, const VfioKernel& kernel) {
  std::vector<ListedDevice> list;
  const std::string place = folder != nullptr ? folder : kListenFolder;
  if (auto socket = ManagementSocket::connect(place); socket.ok()) {
    uint32_t chips = 1;
    for (uint32_t number = 0; number < chips; number++) {
      const auto chip = socket.value().chip(number);
      if (!chip.ok()) return chip.status();
      chips = std::min(chip.value().chips, kMaxSimulatedChips);
      add_functions(list, place, chip.value(), number);
    }
  } else if (folder != nullptr || socket.status().code() != WEFT_ERROR_DEVICE_LOST) {
    return socket.status();
  }
  add_pci_functions(list, kernel);
  if (!find_simulator().ok()) return list;
  for (const auto& chip : spec::kChips)
    list.push_back({fmt::format("sim:{}", chip.name), std::string(chip.name), WEFT_CORE_KIND_UNKNOWN, false, 0, {}});
  return list;
}

}  // namespace weft::driver
