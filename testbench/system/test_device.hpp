/// weft.h for tests: a device whose queues, semaphores, buffers and programs are handles, or a test that fails with the
/// driver's message.
#pragma once
#include <cstring>
#include <string>

#include "host/compiler/executable/executable_writer.hpp"
#include "testbench/system/driver_handles.hpp"
#include "weft/spec/chips.hpp"

namespace weft::test {

struct Device {
  explicit Device(const std::string& name = "sim:nano?core=fast") {
    weft_device* d = nullptr;
    require_ok(weft_open(name.c_str(), &d));
    device.reset(d);
  }
  /// A chip of a slice, which closes it: the handle's own close is refused.
  explicit Device(weft_device* chip) : device(chip) {}
  Handle<weft_queue> queue() {
    weft_queue* q = nullptr;
    require_ok(weft_queue_create(device.get(), nullptr, &q));
    return Handle<weft_queue>(q);
  }
  /// `completions`: whose completion ring it shares; null: one of its own, of `completion_entries`.
  Handle<weft_queue> small_queue(weft_queue* completions, uint32_t completion_entries) {
    weft_queue_options options = WEFT_INIT(weft_queue_options);
    options.entries = 4;
    options.completion_entries = completion_entries;
    options.completions = completions;
    weft_queue* q = nullptr;
    require_ok(weft_queue_create(device.get(), &options, &q));
    return Handle<weft_queue>(q);
  }
  Handle<weft_semaphore> semaphore(uint64_t value = 0) {
    weft_semaphore* s = nullptr;
    require_ok(weft_semaphore_create(device.get(), value, &s));
    return Handle<weft_semaphore>(s);
  }
  Handle<weft_buffer> buffer(weft_memory memory, uint64_t bytes) {
    weft_buffer* b = nullptr;
    require_ok(weft_buffer_create(device.get(), memory, bytes, &b));
    return Handle<weft_buffer>(b);
  }
  /// For nano.
  Handle<weft_program> load(const compiler::Kernel& kernel) {
    const auto executable = compiler::write_executable(*spec::find_chip("nano"), kernel);
    if (!executable.ok()) FAIL(executable.error().message);
    weft_program* p = nullptr;
    require_ok(weft_program_load(device.get(), executable.value().data(), executable.value().size(), &p));
    return Handle<weft_program>(p);
  }
  /// Arms a fault at the `nth` occasion from now.
  void inject(weft_injected_fault kind, uint32_t target = 0, uint32_t nth = 1, uint64_t value = 0) {
    weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
    fault.kind = kind;
    fault.target = target;
    fault.nth = nth;
    fault.value[0] = value;
    require_ok(weft_fault_inject(device.get(), &fault));
  }
  Handle<weft_device> device;
};

inline uint32_t id_of(const Handle<weft_queue>& queue) {
  weft_queue_info info = WEFT_INIT(weft_queue_info);
  require_ok(weft_queue_get_info(queue.get(), &info));
  return info.id;
}

inline Handle<weft_event> nop(const Handle<weft_queue>& queue) {
  weft_event* e = nullptr;
  require_ok(weft_nop(queue.get(), nullptr, &e));
  return Handle<weft_event>(e);
}

inline Handle<weft_event> wait(const Handle<weft_queue>& queue, const Handle<weft_semaphore>& semaphore, uint64_t value,
                               uint32_t budget_kcycles = 0) {
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.budget_kcycles = budget_kcycles;
  weft_event* e = nullptr;
  require_ok(weft_wait(queue.get(), semaphore.get(), value, &options, &e));
  return Handle<weft_event>(e);
}

inline weft_status end_of(const Handle<weft_event>& event) { return weft_event_wait(event.get(), nullptr); }

/// A wait that ends once the device has nothing to do.
inline weft_wait_options until_idle() {
  weft_wait_options options = WEFT_INIT(weft_wait_options);
  options.until_idle = 1;
  return options;
}

inline weft_event_info info_of(const Handle<weft_event>& event) {
  weft_event_info info = WEFT_INIT(weft_event_info);
  require_ok(weft_event_query(event.get(), &info));
  return info;
}

/// The bytes of a buffer in host memory.
template <typename T = uint32_t>
T* mapped(const Handle<weft_buffer>& buffer) {
  void* bytes = nullptr;
  require_ok(weft_buffer_map(buffer.get(), &bytes));
  return static_cast<T*>(bytes);
}

}  // namespace weft::test
