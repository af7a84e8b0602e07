// Buffers: ranges of HBM, or pinned host memory.
#pragma once
#include <functional>
#include <memory>
#include <mutex>

#include "driver/memory/address_allocator.hpp"
#include "driver/memory/host_memory.hpp"
#include "driver/status.hpp"

namespace weft::driver {

/// The HBM of a device that is not the firmware's. Thread-safe; outlives every range of it.
class HbmSpace {
 public:
  HbmSpace(uint64_t first, uint64_t bytes) : allocator_(first, bytes) {}

  /// NO_DEVICE_MEMORY: asked, free, largest piece.
  Result<uint64_t> allocate(uint64_t bytes, uint64_t alignment);
  void release(uint64_t address);

  struct Usage {
    uint64_t total_bytes;
    uint64_t free_bytes;
    uint64_t largest_bytes;
  };
  Usage usage() const;

  /// Who is told of every change, and at once of how it stands; replaces the one before, empty: nobody. Called under
  /// the lock: it must not come back here.
  using Watcher = std::function<void(const Usage&)>;
  void watch(Watcher watcher);

 private:
  Usage usage_locked() const { return {allocator_.total_bytes(), allocator_.free_bytes(), allocator_.largest_bytes()}; }
  void tell() const {
    if (watcher_) watcher_(usage_locked());
  }

  mutable std::mutex mutex_;
  Watcher watcher_;
  AddressAllocator allocator_;
};

/// A range of HBM, freed by its destructor.
class HbmRange {
 public:
  static constexpr uint64_t kLargestAlignment = 4096;

  HbmRange() = default;
  /// Aligned to 4 KiB, or for ranges below that to the power of two that holds them.
  static Result<HbmRange> allocate(std::shared_ptr<HbmSpace> space, uint64_t bytes);
  HbmRange(HbmRange&& other) noexcept = default;
  HbmRange& operator=(HbmRange&& other) noexcept;
  ~HbmRange() { reset(); }
  void reset();

  bool valid() const { return space_ != nullptr; }
  uint64_t address() const { return address_; }

 private:
  std::shared_ptr<HbmSpace> space_;
  uint64_t address_ = 0;
};

/// Immutable except for the memory itself. Commands in flight share its ownership.
class Buffer {
 public:
  Buffer(HbmRange range, uint64_t bytes) : range_(std::move(range)), bytes_(bytes) {}
  Buffer(std::unique_ptr<HostMemory> host, uint64_t bytes) : host_(std::move(host)), bytes_(bytes) {}

  bool on_host() const { return host_ != nullptr; }
  uint64_t bytes() const { return bytes_; }
  std::byte* data() const { return host_ != nullptr ? host_->data() : nullptr; }
  /// Device address in HBM, or IOVA.
  uint64_t address() const { return on_host() ? host_->iova() : range_.address(); }
  /// As COPY and FILL take it: bit 63 for HBM.
  uint64_t tagged_address() const { return on_host() ? address() : address() | WEFT_LIMIT_ADDRESS_FLAG_HBM; }
  weft_address_space space() const { return on_host() ? WEFT_ADDRESS_SPACE_HOST : WEFT_ADDRESS_SPACE_HBM; }

 private:
  HbmRange range_;
  std::unique_ptr<HostMemory> host_;
  uint64_t bytes_;
};

}  // namespace weft::driver
