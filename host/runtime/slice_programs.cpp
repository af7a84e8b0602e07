// A program and buffers for each chip; input in, launch and output out are one submission, made while time stands still.
#include "host/runtime/slice_programs.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "host/runtime/driver_error.hpp"
#include "host/runtime/open_chips.hpp"

namespace weft::runtime {
namespace {

constexpr size_t kMostLoaded = 64;

}  // namespace

/// Of one chip. Null program: it has nothing to do.
struct SlicePrograms::Part {
  struct Argument {
    bool input = false;
    uint64_t bytes = 0;
    BufferHandle device, host;
    std::byte* mapped = nullptr;
  };
  ProgramHandle program;
  weft_kernel* kernel = nullptr;
  std::vector<Argument> arguments;
  EventHandle launched, ended;

  Status load(weft_device* device, const std::vector<std::byte>& executable) {
    weft_program* handle = nullptr;
    if (const auto status = weft_program_load(device, executable.data(), executable.size(), &handle);
        status != WEFT_ERROR_OK)
      return driver_error(status);
    program.reset(handle);
    if (const auto status = weft_program_get_kernel(handle, 0, &kernel); status != WEFT_ERROR_OK)
      return driver_error(status);
    weft_kernel_info info = WEFT_INIT(weft_kernel_info);
    if (const auto status = weft_kernel_get_info(kernel, &info); status != WEFT_ERROR_OK) return driver_error(status);
    for (uint32_t i = 0; i < info.argument_count; i++) {
      weft_argument_info wanted = WEFT_INIT(weft_argument_info);
      if (const auto status = weft_kernel_get_argument(kernel, i, &wanted); status != WEFT_ERROR_OK)
        return driver_error(status);
      if (auto status = add_argument(device, wanted); !status.ok()) return status;
    }
    return Ok{};
  }

  Status add_argument(weft_device* device, const weft_argument_info& wanted) {
    Argument argument;
    argument.input = wanted.direction == WEFT_ARGUMENT_DIRECTION_INPUT;
    argument.bytes = wanted.size_bytes;
    for (const auto& [memory, handle] :
         {std::pair(WEFT_MEMORY_HBM, &argument.device), std::pair(WEFT_MEMORY_HOST, &argument.host)}) {
      weft_buffer* buffer = nullptr;
      if (const auto status = weft_buffer_create(device, memory, argument.bytes, &buffer); status != WEFT_ERROR_OK)
        return driver_error(status);
      handle->reset(buffer);
    }
    void* pointer = nullptr;
    if (const auto status = weft_buffer_map(argument.host.get(), &pointer); status != WEFT_ERROR_OK)
      return driver_error(status);
    argument.mapped = static_cast<std::byte*>(pointer);
    arguments.push_back(std::move(argument));
    return Ok{};
  }

  Status fill(const std::vector<std::byte>& given) {
    for (auto& argument : arguments) {
      if (!argument.input) continue;
      if (given.size() > argument.bytes)
        return Error{WEFT_ERROR_INTERNAL,
                     fmt::format("{} bytes for a program's input of {}", given.size(), argument.bytes)};
      if (!given.empty()) std::memcpy(argument.mapped, given.data(), given.size());
      std::memset(argument.mapped + given.size(), 0, argument.bytes - given.size());
    }
    return Ok{};
  }

  Status submit(weft_queue* queue) {
    weft_command_options chained = WEFT_INIT(weft_command_options);
    chained.chain = 1;
    std::vector<weft_argument> list;
    std::vector<weft_command> commands;
    const auto copy = [&](const BufferHandle& to, const BufferHandle& from, uint64_t bytes) {
      weft_command command = WEFT_INIT(weft_command);
      command.opcode = WEFT_QUEUE_OPCODE_COPY;
      command.destination = to.get(), command.source = from.get(), command.bytes = bytes;
      command.options = &chained;
      commands.push_back(command);
    };
    for (const auto& argument : arguments) {
      list.push_back({argument.device.get(), 0});
      if (argument.input) copy(argument.device, argument.host, argument.bytes);
    }
    weft_event *begun = nullptr, *done = nullptr;
    weft_command launch = WEFT_INIT(weft_command);
    launch.opcode = WEFT_QUEUE_OPCODE_LAUNCH;
    launch.kernel = kernel;
    launch.arguments = list.data(), launch.argument_count = static_cast<uint32_t>(list.size());
    launch.options = &chained;
    launch.event = &begun;
    commands.push_back(launch);
    for (const auto& argument : arguments)
      if (!argument.input) copy(argument.host, argument.device, argument.bytes);
    commands.back().options = nullptr;
    if (commands.back().opcode == WEFT_QUEUE_OPCODE_COPY) commands.back().event = &done;
    const auto status = weft_submit(queue, commands.data(), static_cast<uint32_t>(commands.size()));
    launched.reset(begun), ended.reset(done);
    if (status != WEFT_ERROR_OK) return driver_error(status);
    return Ok{};
  }

  /// The launch's own error, if it has failed.
  Status wait() {
    if (ended != nullptr) (void)!weft_event_wait(ended.get(), nullptr);
    for (const auto* event : {&launched, &ended})
      if (*event != nullptr)
        if (const auto status = weft_event_wait(event->get(), nullptr); status != WEFT_ERROR_OK)
          return driver_error(status);
    return Ok{};
  }
};

struct SlicePrograms::Loaded {
  std::vector<Part> parts;  ///< by chip
};

SlicePrograms::SlicePrograms(weft_slice* slice) : slice_(slice) {}
SlicePrograms::~SlicePrograms() = default;

Result<std::unique_ptr<SlicePrograms::Loaded>> SlicePrograms::load(const Executables& executables) {
  auto made = std::make_unique<Loaded>();
  made->parts.resize(executables.size());
  for (uint32_t number = 0; number < executables.size(); number++) {
    if (executables[number].empty()) continue;
    weft_device* device = nullptr;
    if (const auto status = weft_slice_get_device(slice_, number, &device); status != WEFT_ERROR_OK)
      return driver_error(status);
    if (auto status = made->parts[number].load(device, executables[number]); !status.ok())
      return on_chip(number, status.error());
  }
  return made;
}

Result<SlicePrograms::Loaded*> SlicePrograms::loaded(const std::string& key,
                                                     const std::function<Result<Executables>()>& make) {
  if (const auto found = loaded_.find(key); found != loaded_.end()) return found->second.get();
  const auto executables = make();
  if (!executables.ok()) return executables.error();
  if (loaded_.size() >= kMostLoaded) loaded_.clear();
  auto made = load(executables.value());
  if (!made.ok() && made.error().code == WEFT_ERROR_NO_DEVICE_MEMORY && !loaded_.empty()) {
    loaded_.clear();
    made = load(executables.value());
  }
  if (!made.ok()) return made.error();
  return (loaded_[key] = std::move(made.value())).get();
}

Result<std::vector<std::vector<std::byte>>> SlicePrograms::run(const std::string& key,
                                                               const std::function<Result<Executables>()>& make,
                                                               const std::vector<std::vector<std::byte>>& inputs,
                                                               const std::vector<weft_queue*>& queues,
                                                               std::vector<ChipWindow>& windows) {
  const std::lock_guard lock(mutex_);
  const auto ready = loaded(key, make);
  if (!ready.ok()) return ready.error();
  auto& parts = ready.value()->parts;
  for (uint32_t number = 0; number < parts.size(); number++)
    if (parts[number].kernel != nullptr)
      if (auto status = parts[number].fill(inputs.at(number)); !status.ok()) return on_chip(number, status.error());
  if (const auto status = weft_slice_hold(slice_); status != WEFT_ERROR_OK) return driver_error(status);
  std::optional<Error> failure;
  for (uint32_t number = 0; number < parts.size() && !failure; number++)
    if (parts[number].kernel != nullptr)
      if (auto status = parts[number].submit(queues.at(number)); !status.ok())
        failure = on_chip(number, status.error());
  if (const auto status = weft_slice_resume(slice_); status != WEFT_ERROR_OK && !failure)
    failure = driver_error(status);
  std::vector<std::vector<std::byte>> outputs(parts.size());
  for (uint32_t number = 0; number < parts.size(); number++) {
    Part& part = parts[number];
    if (part.launched == nullptr) continue;
    if (auto status = part.wait(); !status.ok() && !failure) failure = on_chip(number, status.error());
    weft_event_info info = WEFT_INIT(weft_event_info);
    if (weft_event_query(part.launched.get(), &info) == WEFT_ERROR_OK)
      windows.push_back({number, info.start_cycle, info.end_cycle});
    part.launched.reset(), part.ended.reset();
    for (const auto& argument : part.arguments)
      if (!argument.input) outputs[number].assign(argument.mapped, argument.mapped + argument.bytes);
  }
  if (failure) return *failure;
  return outputs;
}

}  // namespace weft::runtime
