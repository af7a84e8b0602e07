/// Firmware that a test brings along, and chips to run it.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "firmware/hal.hpp"
#include "firmware/main_loop.hpp"
#include "model/chip/chip.hpp"
#include "model/chip/simulation.hpp"
#include "testbench/unit/chip/stand_in_core.hpp"

namespace weft::test {

/// What the manager runs; set before the simulation is made.
inline std::function<void()> firmware = [] {
  while (fw::hal::running()) fw::hal::wait_for_event(UINT64_MAX);
};

/// The core of the last chip made.
inline StandInCore* core = nullptr;

inline chip::ChipOptions chip_options(const char* preset = "nano") {
  chip::ChipOptions options;
  options.preset = spec::find_chip(preset);
  options.make_core = [](core::MemoryBus& bus, std::string&) {
    auto made = std::make_unique<StandInCore>(bus);
    test::core = made.get();
    return made;
  };
  return options;
}

inline spec::Command command_of(uint16_t cycles, uint8_t opcode = WEFT_OPCODE_SIGNAL) {
  return spec::encode(spec::CommandHeader{.opcode = opcode, .tag = cycles});
}

/// A memfd sealed against shrinking.
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes, unsigned seals = F_SEAL_SHRINK)
      : bytes_(bytes), fd_(::memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC)) {
    if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0) std::abort();
    if (seals != 0) ::fcntl(fd_, F_ADD_SEALS, seals);
    data_ = static_cast<std::byte*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
  }
  ~SharedMemory() {
    ::munmap(data_, bytes_);
    ::close(fd_);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  int fd() const { return fd_; }
  std::byte* data() { return data_; }
  template <typename T>
  T* at(size_t offset) {
    return reinterpret_cast<T*>(data_ + offset);
  }

 private:
  size_t bytes_;
  int fd_;
  std::byte* data_;
};

/// Register accesses of a host, for tests that need no transport.
inline uint64_t read_register(chip::Function& function, uint64_t offset, unsigned bytes = 4) {
  uint64_t value = 0;
  if (function.read(chip::Region::kRegisters, offset, std::as_writable_bytes(std::span(&value, 1)).first(bytes)) != 0)
    std::abort();
  return value;
}
inline void write_register(chip::Function& function, uint64_t offset, uint64_t value, unsigned bytes = 4) {
  if (function.write(chip::Region::kRegisters, offset, std::as_bytes(std::span(&value, 1)).first(bytes)) != 0)
    std::abort();
}
inline void ring_doorbell(chip::Function& function, unsigned queue, uint32_t tail) {
  if (function.write(chip::Region::kDoorbells, 8 * queue, std::as_bytes(std::span(&tail, 1))) != 0) std::abort();
}

}  // namespace weft::test
