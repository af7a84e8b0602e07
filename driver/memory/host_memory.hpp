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

/// A range of host memory that a device is to reach. Its owner keeps it in place while it is mapped.
struct DmaRange {
  int fd = -1;
  uint64_t fd_offset = 0;
  uint64_t iova = 0;
  uint64_t bytes = 0;
  bool reached = false;  ///< the device has it now
  DmaRange* next = nullptr;
  DmaRange* previous = nullptr;
};

/// IOVA space of one device, and what of it the device reaches. Thread-safe; the calls that take a transport wait for
/// its answers.
class IovaSpace {
 public:
  IovaSpace() : allocator_(kFirst, kEnd - kFirst) {}
  /// A page-aligned range with an unmapped page behind it, so that an overrun faults.
  Result<uint64_t> allocate(uint64_t bytes);
  void release(uint64_t iova);

  /// Lets the device reach the range, until unmap(). INVALID_STATE: the device is cut off.
  Status map(Transport& transport, DmaRange& range);
  /// The range is forgotten in any case. False: the device has not confirmed that it reaches the range no more, so its
  /// IOVA must not be used again. Throws std::bad_alloc, and the range is forgotten then too.
  bool unmap(Transport& transport, DmaRange& range);

  /// Takes all ranges away from the device and lets nothing be mapped. OK: whatever engines do, they reach no memory of
  /// this process. Throws std::bad_alloc: call it again.
  Status cut_off(Transport& transport);
  /// After cut_off(), once the engines stand still: the ranges that there are come back to their places.
  Status restore(Transport& transport);

 private:
  static constexpr uint64_t kFirst = uint64_t{1} << 32;  ///< 0 and what truncates to 32 bits are never valid
  static constexpr uint64_t kEnd = uint64_t{1} << 47;
  static Status take_away(Transport& transport, DmaRange& range);
  std::mutex mutex_;  ///< of the allocator
  AddressAllocator allocator_;
  std::mutex ranges_mutex_;  ///< held while a transport answers
  DmaRange* ranges_ = nullptr;
  bool cut_off_ = false;
};

/// A sealed memfd, zeroed or the caller's, mapped into this process and into the device. Owner: its holder; the destructor unmaps
/// from the device first. If the device does not confirm that, the memory is still safe to free: the device keeps the
/// memfd, which nothing else uses, and the IOVA is not used again.
class HostMemory {
 public:
  static Result<std::unique_ptr<HostMemory>> create(std::shared_ptr<Transport> transport,
                                                    std::shared_ptr<IovaSpace> space, uint64_t bytes);
  /// Of a file in memory that the caller has: the rules of weft_buffer_import. `descriptor` stays the caller's.
  /// INVALID_ARGUMENT: names the rule that the file or the range breaks.
  static Result<std::unique_ptr<HostMemory>> import(std::shared_ptr<Transport> transport,
                                                    std::shared_ptr<IovaSpace> space, int descriptor, uint64_t offset,
                                                    uint64_t bytes);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::byte* data() const { return data_; }
  uint64_t iova() const { return range_.iova; }
  uint64_t bytes() const { return range_.bytes; }  ///< rounded up to pages

 private:
  HostMemory() = default;
  /// Maps the range of fd_ here and for the device.
  Status map(std::shared_ptr<Transport> transport, std::shared_ptr<IovaSpace> space);

  std::shared_ptr<Transport> transport_;
  std::shared_ptr<IovaSpace> space_;
  FileDescriptor fd_;
  std::byte* data_ = nullptr;
  DmaRange range_;
};

}  // namespace weft::driver
