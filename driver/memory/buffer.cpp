// HBM ranges.
#include "driver/memory/buffer.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace weft::driver {

Result<uint64_t> HbmSpace::allocate(uint64_t bytes, uint64_t alignment) {
  const std::lock_guard lock(mutex_);
  const auto address = allocator_.allocate(bytes, alignment);
  if (!address) {
    return failure(WEFT_ERROR_NO_DEVICE_MEMORY, "{} bytes of HBM: {} of {} are free, the largest piece has {}", bytes,
                   allocator_.free_bytes(), allocator_.total_bytes(), allocator_.largest_bytes());
  }
  tell();
  return *address;
}

void HbmSpace::release(uint64_t address) {
  const std::lock_guard lock(mutex_);
  allocator_.release(address);
  tell();
}

HbmSpace::Usage HbmSpace::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_locked();
}

void HbmSpace::watch(Watcher watcher) {
  const std::lock_guard lock(mutex_);
  watcher_ = std::move(watcher);
  tell();
}

Result<HbmRange> HbmRange::allocate(std::shared_ptr<HbmSpace> space, uint64_t bytes) {
  const uint64_t alignment =
      std::min(kLargestAlignment, std::bit_ceil(std::min(std::max<uint64_t>(bytes, 1), kLargestAlignment)));
  const auto address = space->allocate(bytes, alignment);
  if (!address.ok()) return address.status();
  HbmRange range;
  range.space_ = std::move(space);
  range.address_ = address.value();
  return range;
}

HbmRange& HbmRange::operator=(HbmRange&& other) noexcept {
  if (this != &other) {
    reset();
    space_ = std::move(other.space_);
    address_ = other.address_;
  }
  return *this;
}

void HbmRange::reset() {
  if (space_ != nullptr) space_->release(address_);
  space_.reset();
}

}  // namespace weft::driver
