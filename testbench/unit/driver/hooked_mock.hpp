/// A mock between whose accesses a test may get.
#pragma once
#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>

#include "testbench/unit/driver/device_fixture.hpp"

namespace weft::driver::test {

/// Calls its hooks before the access, under no lock of the mock's, on the thread that makes the access.
class HookedMock : public MockTransport {
 public:
  using ReadHook = std::function<void(uint64_t offset)>;                                  ///< of a register
  using WriteHook = std::function<void(Region region, uint64_t offset, uint64_t value)>;  ///< posted ones too
  using MockTransport::MockTransport;

  void set_read_hook(ReadHook hook) {
    const std::lock_guard lock(hook_mutex_);
    read_hook_ = std::move(hook);
  }
  void set_write_hook(WriteHook hook) {
    const std::lock_guard lock(hook_mutex_);
    write_hook_ = std::move(hook);
  }

  Status read(Region region, uint64_t offset, void* data, uint32_t bytes) override {
    const ReadHook hook = hook_now(read_hook_);
    if (hook && region == Region::kRegisters) hook(offset);
    return MockTransport::read(region, offset, data, bytes);
  }
  Status write(Region region, uint64_t offset, const void* data, uint32_t bytes) override {
    if (const WriteHook hook = hook_now(write_hook_)) {
      uint64_t value = 0;
      std::memcpy(&value, data, std::min<size_t>(bytes, sizeof value));
      hook(region, offset, value);
    }
    return MockTransport::write(region, offset, data, bytes);
  }

 private:
  template <typename Hook>
  Hook hook_now(const Hook& hook) {
    const std::lock_guard lock(hook_mutex_);
    return hook;
  }
  std::mutex hook_mutex_;
  ReadHook read_hook_;
  WriteHook write_hook_;
};

/// A device on such a mock, with a handle for the C ABI.
struct HookedDevice {
  HookedMock* mock = nullptr;
  std::shared_ptr<Device> device;
  weft_device handle;
  HookedDevice() {
    auto transport = std::make_unique<HookedMock>(nano());
    mock = transport.get();
    device = Device::open(std::move(transport)).value();
    handle.device = device;
  }
  ~HookedDevice() { (void)device->close(0).ok(); }
};

}  // namespace weft::driver::test
