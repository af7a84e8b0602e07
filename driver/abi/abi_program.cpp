// C ABI: programs and kernels.
#include "driver/abi/abi.hpp"

using namespace weft::driver;
using namespace weft::driver::abi;

namespace {

/// The program is neither closed with its device nor gone with a reset.
Status check_alive(const Program& program, const Device& device) {
  if (Status s = device.check_not_closed(); !s.ok()) return s;
  if (program.generation() == device.generation()) return {};
  return failure(WEFT_ERROR_INVALID_STATE, "the program went with the reset of generation {}: load it again",
                 program.generation());
}

/// The kernel's program, which must still be there.
Result<std::shared_ptr<const Program>> program_of(const weft_kernel& kernel) {
  auto program = kernel.program.lock();
  if (program == nullptr) return Status(WEFT_ERROR_INVALID_STATE, "the kernel's program is released");
  if (Status s = check_alive(*program, *kernel.device); !s.ok()) return s;
  return program;
}

Status no_kernel(const Program& program, const std::string& wanted) {
  std::string names;
  for (const auto& kernel : program.kernels()) names += (names.empty() ? "" : ", ") + kernel.name;
  return failure(WEFT_ERROR_INVALID_ARGUMENT, "the program has no kernel {}: it has {}", wanted, names);
}

}  // namespace

weft_status weft_program_load(weft_device* device, const void* bytes, size_t size, weft_program** program) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(program);
    *program = nullptr;
    WEFT_REQUIRE(device);
    WEFT_REQUIRE(bytes);
    auto loaded = Program::load(device->device, {static_cast<const std::byte*>(bytes), size});
    if (!loaded.ok()) return loaded.status();
    auto handle = std::make_unique<weft_program>();
    handle->device = device->device;
    handle->program = std::move(loaded.value());
    for (uint32_t i = 0; i < handle->program->kernels().size(); i++)
      handle->kernels.push_back({handle->device, handle->program, i});
    *program = handle.release();
    return {};
  });
}

void weft_program_release(weft_program* program) {
  if (program == nullptr || put_aside(program, inherited(program))) return;
  const auto device = program->device;
  delete program;
  (void)guard([&]() -> Status {
    device->collect();
    return {};
  });
}

weft_status weft_program_kernel_count(weft_program* program, uint32_t* count) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(program);
    WEFT_REQUIRE(count);
    if (Status s = check_alive(*program->program, *program->device); !s.ok()) return s;
    *count = static_cast<uint32_t>(program->kernels.size());
    return {};
  });
}

weft_status weft_program_get_kernel(weft_program* program, uint32_t index, weft_kernel** kernel) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(kernel);
    *kernel = nullptr;
    WEFT_REQUIRE(program);
    if (Status s = check_alive(*program->program, *program->device); !s.ok()) return s;
    if (index >= program->kernels.size()) return no_kernel(*program->program, std::to_string(index));
    *kernel = &program->kernels[index];
    return {};
  });
}

weft_status weft_program_find_kernel(weft_program* program, const char* name, weft_kernel** kernel) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(kernel);
    *kernel = nullptr;
    WEFT_REQUIRE(program);
    WEFT_REQUIRE(name);
    if (Status s = check_alive(*program->program, *program->device); !s.ok()) return s;
    for (weft_kernel& candidate : program->kernels) {
      if (program->program->kernels()[candidate.index].name != name) continue;
      *kernel = &candidate;
      return {};
    }
    return no_kernel(*program->program, fmt::format("'{}'", name));
  });
}

weft_status weft_kernel_get_info(weft_kernel* kernel, weft_kernel_info* info) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(kernel);
    if (Status s = check_size(info, "info"); !s.ok()) return s;
    const auto program = program_of(*kernel);
    if (!program.ok()) return program.status();
    const ExecutableKernel& k = program.value()->kernels()[kernel->index];
    weft_kernel_info out = WEFT_INIT(weft_kernel_info);
    put_text(out.name, k.name);
    out.argument_count = static_cast<uint32_t>(k.arguments.size());
    out.vmem_bytes = k.vmem_bytes;
    out.scratch_bytes = k.scratch_bytes;
    out.command_count = k.command_count();
    out.cycle_estimate = k.cycle_estimate;
    out.macs = k.macs;
    give(out, info);
    return {};
  });
}

weft_status weft_kernel_get_argument(weft_kernel* kernel, uint32_t index, weft_argument_info* info) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(kernel);
    if (Status s = check_size(info, "info"); !s.ok()) return s;
    const auto program = program_of(*kernel);
    if (!program.ok()) return program.status();
    const ExecutableKernel& k = program.value()->kernels()[kernel->index];
    if (index >= k.arguments.size())
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "kernel '{}' has {} arguments, there is no argument {}", k.name,
                     k.arguments.size(), index);
    const ExecutableArgument& a = k.arguments[index];
    weft_argument_info out = WEFT_INIT(weft_argument_info);
    put_text(out.name, a.name);
    out.dtype = a.dtype;
    out.layout = a.layout;
    out.direction = a.direction;
    out.rank = a.rank;
    out.shape[0] = a.shape[0];
    out.shape[1] = a.shape[1];
    out.pitch_bytes = a.pitch_bytes;
    out.size_bytes = a.size_bytes;
    give(out, info);
    return {};
  });
}
