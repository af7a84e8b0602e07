// A program and buffers for each chip; inputs in, one launch of all, outputs out.
#include "host/runtime/slice_collectives.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <optional>

#include "host/runtime/driver_error.hpp"
#include "host/runtime/open_chips.hpp"

namespace weft::runtime {
namespace {

constexpr size_t kMostMade = 64;

std::string key_of(const compiler::Collective& c) {
  std::string key = fmt::format("{} {} {} {} {} {} {} {} {}", static_cast<int>(c.kind), c.axes[0], c.axes[1], c.axes[2],
                                static_cast<int>(c.dtype), c.bytes, c.root, c.shift, static_cast<int>(c.algorithm));
  for (const auto& group : c.groups) key += fmt::format(" {}", group);
  return key;
}

}  // namespace

/// Of one chip. Null program: it has nothing to do.
struct SliceCollectives::Part {
  struct Argument {
    bool input = false;
    uint64_t bytes = 0;
    BufferHandle device, host;
    std::byte* mapped = nullptr;
  };
  ProgramHandle program;
  weft_kernel* kernel = nullptr;
  std::vector<Argument> arguments;
  EventHandle event;

  Status make(weft_device* device, const compiler::SliceShape& shape, uint32_t number,
              const compiler::Collective& collective) {
    const auto chip = preset_of(device);
    if (!chip.ok()) return chip.error();
    const auto compiled = compiler::compile_collective(*chip.value(), shape, number, collective);
    if (!compiled.ok()) return compiled.error();
    if (is_idle(compiled.value())) return Ok{};
    auto loaded = load_kernel(device, *chip.value(), compiled.value());
    if (!loaded.ok()) return loaded.error();
    program = std::move(loaded.value());
    if (const auto status = weft_program_get_kernel(program.get(), 0, &kernel); status != WEFT_ERROR_OK)
      return driver_error(status);
    for (const auto& wanted : compiled.value().arguments) {
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
    }
    return Ok{};
  }

  /// Between host and device, one way; waits.
  Status copy(weft_queue* queue, bool inputs) {
    for (auto& argument : arguments) {
      if (argument.input != inputs) continue;
      weft_event* made = nullptr;
      weft_buffer *to = inputs ? argument.device.get() : argument.host.get(),
                  *from = inputs ? argument.host.get() : argument.device.get();
      if (const auto status = weft_copy(queue, to, 0, from, 0, argument.bytes, nullptr, &made); status != WEFT_ERROR_OK)
        return driver_error(status);
      const EventHandle handle(made);
      if (const auto status = weft_event_wait(made, nullptr); status != WEFT_ERROR_OK) return driver_error(status);
    }
    return Ok{};
  }

  Status launch(weft_queue* queue) {
    std::vector<weft_argument> list;
    for (const auto& argument : arguments) list.push_back({argument.device.get(), 0});
    weft_event* made = nullptr;
    if (const auto status = weft_launch(queue, kernel, list.data(), static_cast<uint32_t>(list.size()), nullptr, &made);
        status != WEFT_ERROR_OK)
      return driver_error(status);
    event.reset(made);
    return Ok{};
  }
};

struct SliceCollectives::Made {
  std::vector<Part> parts;  ///< by chip
};

SliceCollectives::SliceCollectives(weft_slice* slice) : slice_(slice) {}
SliceCollectives::~SliceCollectives() = default;

Result<SliceCollectives::Made*> SliceCollectives::made(const compiler::Collective& collective) {
  const std::string key = key_of(collective);
  if (const auto found = made_.find(key); found != made_.end()) return found->second.get();
  const auto shape = shape_of(slice_);
  if (!shape.ok()) return shape.error();
  auto made = std::make_unique<Made>();
  made->parts.resize(shape.value().chips());
  for (uint32_t number = 0; number < made->parts.size(); number++) {
    if (!compiler::takes_part(collective, number)) continue;
    weft_device* device = nullptr;
    if (const auto status = weft_slice_get_device(slice_, number, &device); status != WEFT_ERROR_OK)
      return driver_error(status);
    if (auto status = made->parts[number].make(device, shape.value(), number, collective); !status.ok())
      return on_chip(number, status.error());
  }
  if (made_.size() >= kMostMade) made_.clear();
  return (made_[key] = std::move(made)).get();
}

Result<std::vector<std::vector<std::byte>>> SliceCollectives::run(const compiler::Collective& collective,
                                                                  const std::vector<std::vector<std::byte>>& inputs,
                                                                  const std::vector<weft_queue*>& queues,
                                                                  std::vector<CollectiveWindow>& windows) {
  const std::lock_guard lock(mutex_);
  const auto ready = made(collective);
  if (!ready.ok()) return ready.error();
  auto& parts = ready.value()->parts;
  for (uint32_t number = 0; number < parts.size(); number++) {
    if (parts[number].kernel == nullptr) continue;
    for (auto& argument : parts[number].arguments) {
      if (!argument.input) continue;
      const auto& given = inputs.at(number);
      if (given.size() > argument.bytes)
        return Error{WEFT_ERROR_INTERNAL, fmt::format("chip {}: {} bytes for a collective's input of {}", number,
                                                      given.size(), argument.bytes)};
      if (!given.empty()) std::memcpy(argument.mapped, given.data(), given.size());
      std::memset(argument.mapped + given.size(), 0, argument.bytes - given.size());
    }
    if (auto status = parts[number].copy(queues.at(number), true); !status.ok()) return on_chip(number, status.error());
  }
  if (const auto status = weft_slice_hold(slice_); status != WEFT_ERROR_OK) return driver_error(status);
  std::optional<Error> failure;
  for (uint32_t number = 0; number < parts.size() && !failure; number++)
    if (parts[number].kernel != nullptr)
      if (auto status = parts[number].launch(queues.at(number)); !status.ok())
        failure = on_chip(number, status.error());
  if (const auto status = weft_slice_resume(slice_); status != WEFT_ERROR_OK && !failure)
    failure = driver_error(status);
  std::vector<std::vector<std::byte>> outputs(parts.size());
  for (uint32_t number = 0; number < parts.size(); number++) {
    Part& part = parts[number];
    if (part.event == nullptr) continue;
    if (const auto status = weft_event_wait(part.event.get(), nullptr); status != WEFT_ERROR_OK && !failure)
      failure = on_chip(number, driver_error(status));
    weft_event_info info = WEFT_INIT(weft_event_info);
    if (weft_event_query(part.event.get(), &info) == WEFT_ERROR_OK)
      windows.push_back({number, info.start_cycle, info.end_cycle});
    part.event.reset();
  }
  for (uint32_t number = 0; number < parts.size() && !failure; number++) {
    if (parts[number].kernel == nullptr) continue;
    if (auto status = parts[number].copy(queues[number], false); !status.ok())
      failure = on_chip(number, status.error());
    for (const auto& argument : parts[number].arguments)
      if (!argument.input) outputs[number].assign(argument.mapped, argument.mapped + argument.bytes);
  }
  if (failure) return *failure;
  return outputs;
}

}  // namespace weft::runtime
