// Host memory that a device may reach: a sealed memfd, mapped here, and mapped for the device at an IOVA.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>

#include "driver/memory/address_allocator.hpp"
#include "driver/transport/file_descriptor.hpp"
#include "driver/transport/transport.hpp"

namespace weft::driver {

inline constexpr uint64_t kPageBytes = 4096;

/// IOVA space of one device. Thread-safe.
class IovaSpace {
 public:
  IovaSpace() : allocator_(kFirst, kEnd - kFirst) {}
  /// A page-aligned range with an unmapped page behind it, so that an overrun faults.
  Result<uint64_t> allocate(uint64_t bytes);
  void release(uint64_t iova);

 private:
  static constexpr uint64_t kFirst = uint64_t{1} << 32;  ///< 0 and what truncates to 32 bits are never valid
  static constexpr uint64_t kEnd = uint64_t{1} << 47;
  std::mutex mutex_;
  AddressAllocator allocator_;
};

/// A sealed, zeroed memfd mapped into this process and into the device. Owner: whoever holds it; the destructor unmaps
/// from the device first. If the device does not confirm that, the memory is still safe to free: a device that does not
/// answer is lost, and the transport cuts it off.
class HostMemory {
 public:
  static Result<std::unique_ptr<HostMemory>> create(std::shared_ptr<Transport> transport,
                                                    std::shared_ptr<IovaSpace> space, uint64_t bytes);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::byte* data() const { return data_; }
  uint64_t iova() const { return iova_; }
  uint64_t bytes() const { return bytes_; }  ///< rounded up to pages

 private:
  HostMemory() = default;

  std::shared_ptr<Transport> transport_;
  std::shared_ptr<IovaSpace> space_;
  FileDescriptor fd_;
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t iova_ = 0;
  bool mapped_ = false;
};

}  // namespace weft::driver
