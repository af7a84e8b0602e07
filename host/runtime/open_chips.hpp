/// What a program needs to know of devices that are open, and a kernel on one of them.
#pragma once
#include <cstdint>

#include "host/compiler/collectives/collective.hpp"
#include "host/compiler/executable/executable_writer.hpp"
#include "host/compiler/result.hpp"
#include "host/runtime/driver_handles.hpp"

namespace weft::runtime {

/// "chip 3: " before what went wrong on one of several chips.
[[nodiscard]] Error on_chip(uint32_t number, Error error);

/// Any error of weft_slice_get_info.
[[nodiscard]] Result<compiler::SliceShape> shape_of(weft_slice* slice);

/// Never null. UNSUPPORTED: the device's fingerprint is of no preset of this build.
[[nodiscard]] Result<const spec::Chip*> preset_of(weft_device* device);

/// Writes the kernel's executable and loads it. Errors of write_executable and weft_program_load.
[[nodiscard]] Result<ProgramHandle> load_kernel(weft_device* device, const spec::Chip& chip,
                                                const compiler::Kernel& kernel);

/// A kernel without commands: there is nothing to launch.
[[nodiscard]] bool is_idle(const compiler::Kernel& kernel);

}  // namespace weft::runtime
