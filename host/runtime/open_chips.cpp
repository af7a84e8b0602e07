// Calls of weft.h, with our errors.
#include "host/runtime/open_chips.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "host/runtime/driver_error.hpp"

namespace weft::runtime {

Error on_chip(uint32_t number, Error error) {
  error.message = fmt::format("chip {}: {}", number, error.message);
  return error;
}

Result<compiler::SliceShape> shape_of(weft_slice* slice) {
  weft_slice_info info = WEFT_INIT(weft_slice_info);
  if (const auto status = weft_slice_get_info(slice, &info); status != WEFT_ERROR_OK) return driver_error(status);
  compiler::SliceShape shape;
  for (unsigned axis = 0; axis < 3; axis++) {
    shape.size[axis] = info.dimensions[axis];
    shape.wraps[axis] = info.wraps[axis] != 0;
  }
  shape.link_bytes_per_second = info.link_bytes_per_second;
  return shape;
}

Result<const spec::Chip*> preset_of(weft_device* device) {
  weft_device_info info = WEFT_INIT(weft_device_info);
  if (const auto status = weft_device_get_info(device, &info); status != WEFT_ERROR_OK) return driver_error(status);
  if (const spec::Chip* chip = spec::find_chip(info.preset); chip != nullptr) return chip;
  return Error{WEFT_ERROR_UNSUPPORTED,
               fmt::format("a chip of fingerprint {:#x}, which is no preset of this build", info.fingerprint)};
}

Result<ProgramHandle> load_kernel(weft_device* device, const spec::Chip& chip, const compiler::Kernel& kernel) {
  const auto bytes = compiler::write_executable(chip, kernel);
  if (!bytes.ok()) return bytes.error();
  weft_program* program = nullptr;
  if (const auto status = weft_program_load(device, bytes.value().data(), bytes.value().size(), &program);
      status != WEFT_ERROR_OK)
    return driver_error(status);
  return ProgramHandle(program);
}

bool is_idle(const compiler::Kernel& kernel) {
  return kernel.control.entries.empty() &&
         std::ranges::all_of(kernel.queues, [](const auto& queue) { return queue.empty(); });
}

}  // namespace weft::runtime
