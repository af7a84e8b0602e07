// A collective as the programs of its chips.
#include "host/runtime/slice_collectives.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "host/runtime/driver_error.hpp"
#include "host/runtime/open_chips.hpp"

namespace weft::runtime {
namespace {

std::string key_of(const compiler::Collective& c) {
  std::string key =
      fmt::format("collective {} {} {} {} {} {} {} {} {}", static_cast<int>(c.kind), c.axes[0], c.axes[1], c.axes[2],
                  static_cast<int>(c.dtype), c.bytes, c.root, c.shift, static_cast<int>(c.algorithm));
  for (const auto& group : c.groups) key += fmt::format(" {}", group);
  return key;
}

Result<SlicePrograms::Executables> executables_of(weft_slice* slice, const compiler::Collective& collective) {
  const auto shape = shape_of(slice);
  if (!shape.ok()) return shape.error();
  SlicePrograms::Executables executables(shape.value().chips());
  for (uint32_t number = 0; number < executables.size(); number++) {
    if (!compiler::takes_part(collective, number)) continue;
    weft_device* device = nullptr;
    if (const auto status = weft_slice_get_device(slice, number, &device); status != WEFT_ERROR_OK)
      return driver_error(status);
    const auto chip = preset_of(device);
    if (!chip.ok()) return on_chip(number, chip.error());
    const auto kernel = compiler::compile_collective(*chip.value(), shape.value(), number, collective);
    if (!kernel.ok()) return on_chip(number, kernel.error());
    if (is_idle(kernel.value())) continue;
    auto executable = compiler::write_executable(*chip.value(), kernel.value());
    if (!executable.ok()) return on_chip(number, executable.error());
    executables[number] = std::move(executable.value());
  }
  return executables;
}

}  // namespace

Result<std::vector<std::vector<std::byte>>> run_collective(SlicePrograms& programs,
                                                           const compiler::Collective& collective,
                                                           const std::vector<std::vector<std::byte>>& inputs,
                                                           const std::vector<weft_queue*>& queues,
                                                           std::vector<ChipWindow>& windows) {
  return programs.run(
      key_of(collective), [&] { return executables_of(programs.slice(), collective); }, inputs, queues, windows);
}

}  // namespace weft::runtime
