/// The chips of a slice with a queue, a program and buffers each, launched together.
#pragma once
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"
#include "testbench/system/driver_handles.hpp"
#include "weft/spec/chips.hpp"

namespace weft::test {

/// Fails the test with the driver's message when anything but a launch fails. Programs have one kernel, whose arguments
/// are the chip's buffers in order.
class SliceDevices {
 public:
  explicit SliceDevices(const std::string& name) {
    require_ok(weft_slice_open(name.c_str(), &slice_));
    weft_slice_info info = WEFT_INIT(weft_slice_info);
    require_ok(weft_slice_get_info(slice_, &info));
    chips_.resize(info.chips);
    for (uint32_t i = 0; i < info.chips; i++) {
      require_ok(weft_slice_get_device(slice_, i, &chips_[i].device));
      weft_queue* queue = nullptr;
      require_ok(weft_queue_create(chips_[i].device, nullptr, &queue));
      chips_[i].queue.reset(queue);
    }
  }
  ~SliceDevices() {
    chips_.clear();
    (void)!weft_slice_close(slice_, nullptr);
  }
  SliceDevices(const SliceDevices&) = delete;
  SliceDevices& operator=(const SliceDevices&) = delete;

  [[nodiscard]] weft_slice* handle() const { return slice_; }
  [[nodiscard]] weft_device* device(uint32_t chip) const { return chips_[chip].device; }
  [[nodiscard]] weft_queue* queue(uint32_t chip) const { return chips_[chip].queue.get(); }

  void load(uint32_t chip, const compiler::Kernel& kernel, const char* preset = "nano") {
    const auto bytes = compiler::write_executable(*spec::find_chip(preset), kernel);
    REQUIRE(bytes.ok());
    weft_program* program = nullptr;
    require_ok(weft_program_load(device(chip), bytes.value().data(), bytes.value().size(), &program));
    chips_[chip].program.reset(program);
  }

  /// The chip's next buffer, in HBM, with these contents.
  void buffer(uint32_t chip, std::span<const std::byte> data) {
    weft_buffer* buffer = nullptr;
    require_ok(weft_buffer_create(device(chip), WEFT_MEMORY_HBM, data.size(), &buffer));
    chips_[chip].buffers.push_back({Handle<weft_buffer>(buffer), data.size()});
    const auto staging = host_buffer(chip, data.size());
    void* pointer = nullptr;
    require_ok(weft_buffer_map(staging.get(), &pointer));
    std::memcpy(pointer, data.data(), data.size());
    copy(chip, buffer, staging.get(), data.size());
  }

  [[nodiscard]] std::vector<std::byte> read(uint32_t chip, size_t index) {
    const Buffer& buffer = chips_[chip].buffers[index];
    const auto staging = host_buffer(chip, buffer.bytes);
    copy(chip, staging.get(), buffer.handle.get(), buffer.bytes);
    void* pointer = nullptr;
    require_ok(weft_buffer_map(staging.get(), &pointer));
    const auto* first = static_cast<const std::byte*>(pointer);
    return {first, first + buffer.bytes};
  }

  /// Launches on these chips in one device cycle and waits for all: how each ended.
  std::vector<weft_event_info> launch(const std::vector<uint32_t>& chips) {
    std::vector<Handle<weft_event>> events;
    require_ok(weft_slice_hold(slice_));
    for (const uint32_t chip : chips) {
      weft_kernel* kernel = nullptr;
      require_ok(weft_program_get_kernel(chips_[chip].program.get(), 0, &kernel));
      std::vector<weft_argument> arguments;
      for (const Buffer& b : chips_[chip].buffers) arguments.push_back({b.handle.get(), 0});
      weft_event* event = nullptr;
      require_ok(
          weft_launch(queue(chip), kernel, arguments.data(), static_cast<uint32_t>(arguments.size()), nullptr, &event));
      events.emplace_back(event);
    }
    require_ok(weft_slice_resume(slice_));
    std::vector<weft_event_info> infos;
    for (const auto& event : events) {
      (void)!weft_event_wait(event.get(), nullptr);
      weft_event_info info = WEFT_INIT(weft_event_info);
      require_ok(weft_event_query(event.get(), &info));
      REQUIRE(info.done == 1);
      infos.push_back(info);
    }
    return infos;
  }

 private:
  struct Buffer {
    Handle<weft_buffer> handle;
    uint64_t bytes;
  };
  struct Chip {
    weft_device* device = nullptr;
    Handle<weft_queue> queue;
    Handle<weft_program> program;
    std::vector<Buffer> buffers;
  };

  Handle<weft_buffer> host_buffer(uint32_t chip, uint64_t bytes) {
    weft_buffer* buffer = nullptr;
    require_ok(weft_buffer_create(device(chip), WEFT_MEMORY_HOST, bytes, &buffer));
    return Handle<weft_buffer>(buffer);
  }
  void copy(uint32_t chip, weft_buffer* to, weft_buffer* from, uint64_t bytes) {
    weft_event* event = nullptr;
    require_ok(weft_copy(queue(chip), to, 0, from, 0, bytes, nullptr, &event));
    const Handle<weft_event> handle(event);
    require_ok(weft_event_wait(event, nullptr));
  }

  weft_slice* slice_ = nullptr;
  std::vector<Chip> chips_;
};

}  // namespace weft::test
