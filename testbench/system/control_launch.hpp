/// One launch of a kernel with 32-bit arguments, and what it gave.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "testbench/system/control_program.hpp"
#include "testbench/system/test_device.hpp"

namespace weft::test {

struct Outcome {
  weft_status status = WEFT_ERROR_OK;
  std::string message;
  ControlData data;
  uint64_t start_cycle = 0, end_cycle = 0;
};

inline weft_kernel* kernel_of(const Handle<weft_program>& program) {
  weft_kernel* kernel = nullptr;
  require_ok(weft_program_get_kernel(program.get(), 0, &kernel));
  return kernel;
}

/// Arguments in host memory, one buffer each, filled with `data`.
inline std::vector<Handle<weft_buffer>> upload(Device& device, const ControlData& data, weft_memory memory,
                                               const Handle<weft_queue>& queue) {
  std::vector<Handle<weft_buffer>> buffers;
  for (const auto& values : data) {
    auto host = device.buffer(WEFT_MEMORY_HOST, values.size() * 4);
    std::memcpy(mapped(host), values.data(), values.size() * 4);
    if (memory == WEFT_MEMORY_HBM) {
      auto hbm = device.buffer(WEFT_MEMORY_HBM, values.size() * 4);
      weft_event* event = nullptr;
      require_ok(weft_copy(queue.get(), hbm.get(), 0, host.get(), 0, values.size() * 4, nullptr, &event));
      require_ok(end_of(Handle<weft_event>(event)));
      buffers.push_back(std::move(hbm));
    } else {
      buffers.push_back(std::move(host));
    }
  }
  return buffers;
}

inline void download(Device& device, const std::vector<Handle<weft_buffer>>& buffers, weft_memory memory,
                     const Handle<weft_queue>& queue, ControlData& data) {
  for (size_t i = 0; i < buffers.size(); i++) {
    const uint64_t bytes = data[i].size() * 4;
    if (memory == WEFT_MEMORY_HOST) {
      std::memcpy(data[i].data(), mapped(buffers[i]), bytes);
      continue;
    }
    auto host = device.buffer(WEFT_MEMORY_HOST, bytes);
    weft_event* event = nullptr;
    require_ok(weft_copy(queue.get(), host.get(), 0, buffers[i].get(), 0, bytes, nullptr, &event));
    require_ok(end_of(Handle<weft_event>(event)));
    std::memcpy(data[i].data(), mapped(host), bytes);
  }
}

inline std::vector<weft_argument> arguments_of(const std::vector<Handle<weft_buffer>>& buffers) {
  std::vector<weft_argument> arguments;
  for (const auto& buffer : buffers) arguments.push_back({buffer.get(), 0});
  return arguments;
}

inline Outcome run(Device& device, const compiler::Kernel& kernel, ControlData data,
                   weft_memory memory = WEFT_MEMORY_HBM, uint32_t budget_kcycles = 0) {
  const auto queue = device.queue();
  const auto program = device.load(kernel);
  const auto buffers = upload(device, data, memory, queue);
  const auto arguments = arguments_of(buffers);
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.budget_kcycles = budget_kcycles;
  weft_event* raw = nullptr;
  require_ok(weft_launch(queue.get(), kernel_of(program), arguments.data(), static_cast<uint32_t>(arguments.size()),
                         &options, &raw));
  const Handle<weft_event> event(raw);
  Outcome outcome;
  outcome.status = end_of(event);
  outcome.message = outcome.status == WEFT_ERROR_OK ? "" : driver_message(outcome.status);
  const auto info = info_of(event);
  outcome.start_cycle = info.start_cycle;
  outcome.end_cycle = info.end_cycle;
  download(device, buffers, memory, queue, data);
  outcome.data = std::move(data);
  return outcome;
}

/// The number of words that differ; all of them if the shapes do.
inline size_t differences(const ControlData& a, const ControlData& b) {
  size_t count = 0, words = 0;
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); i++) {
    REQUIRE(a[i].size() == b[i].size());
    for (size_t k = 0; k < a[i].size(); k++, words++) count += a[i][k] != b[i][k];
  }
  REQUIRE(words != 0);
  return count;
}

}  // namespace weft::test
