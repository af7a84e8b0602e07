// Loads and stores, pread(2) and pwrite(2).
#include "driver/transport/vfio_region.hpp"

#include <linux/vfio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::driver {
namespace {

constexpr uint32_t kWordBytes = 4, kWideBytes = 8;

/// One load of a value of this type.
template <typename T>
void load(const volatile std::byte* from, void* data) {
  const T value = *reinterpret_cast<const volatile T*>(from);
  std::memcpy(data, &value, sizeof value);
}

template <typename T>
void store(volatile std::byte* to, const void* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  *reinterpret_cast<volatile T*>(to) = value;
}

bool is_plain(uint64_t offset, uint32_t bytes) {
  return std::has_single_bit(bytes) && bytes <= kWideBytes && offset % bytes == 0;
}

}  // namespace

Result<VfioRegion> VfioRegion::open(VfioKernel& kernel, int device, Region region, uint64_t bytes) {
  vfio_region_info info{};
  info.argsz = sizeof info;
  info.index = static_cast<uint32_t>(region);
  if (kernel.ioctl(device, VFIO_DEVICE_GET_REGION_INFO, &info) != 0)
    return failure(WEFT_ERROR_DEVICE_LOST, "region {}: {}", info.index, std::strerror(errno));
  if (info.size < bytes)
    return failure(WEFT_ERROR_UNSUPPORTED, "region {} has {} bytes, {} are needed", info.index, uint64_t{info.size},
                   bytes);
  VfioRegion opened;
  opened.device_ = device;
  opened.region_ = region;
  opened.place_ = info.offset;
  opened.bytes_ = info.size;
  const bool may_be_mapped = region == Region::kRegisters || region == Region::kDoorbells;
  if (may_be_mapped && (info.flags & VFIO_REGION_INFO_FLAG_MMAP) != 0) {
    void* data =
        ::mmap(nullptr, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, device, static_cast<off_t>(info.offset));
    if (data != MAP_FAILED) {
      (void)::madvise(data, info.size, MADV_DONTFORK);
      opened.data_ = static_cast<volatile std::byte*>(data);
    }
  }
  return opened;
}

VfioRegion::VfioRegion(VfioRegion&& other) noexcept { *this = std::move(other); }

VfioRegion& VfioRegion::operator=(VfioRegion&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(region_, other.region_);
  std::swap(place_, other.place_);
  std::swap(bytes_, other.bytes_);
  std::swap(data_, other.data_);
  return *this;
}

VfioRegion::~VfioRegion() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), bytes_);
}

Status VfioRegion::check(uint64_t offset, uint32_t bytes) const {
  if (bytes != 0 && offset <= bytes_ && bytes <= bytes_ - offset) return {};
  return failure(WEFT_ERROR_INVALID_ARGUMENT, "{} bytes at {:#x} of region {}, which has {}", bytes, offset,
                 static_cast<uint32_t>(region_), bytes_);
}

Status VfioRegion::read(uint64_t offset, void* data, uint32_t bytes) const {
  if (Status s = check(offset, bytes); !s.ok()) return s;
  if (data_ == nullptr) {
    if (::pread(device_, data, bytes, static_cast<off_t>(place_ + offset)) == static_cast<ssize_t>(bytes)) return {};
    return failure(WEFT_ERROR_DEVICE_LOST, "reading {} bytes at {:#x} of region {}: {}", bytes, offset,
                   static_cast<uint32_t>(region_), std::strerror(errno));
  }
  const volatile std::byte* from = data_ + offset;
  if (is_plain(offset, bytes)) {
    switch (bytes) {
      case 1:
        load<uint8_t>(from, data);
        break;
      case 2:
        load<uint16_t>(from, data);
        break;
      case kWordBytes:
        load<uint32_t>(from, data);
        break;
      default:
        load<uint64_t>(from, data);
    }
  } else if (offset % kWordBytes == 0 && bytes % kWordBytes == 0) {
    for (uint32_t i = 0; i < bytes; i += kWordBytes) load<uint32_t>(from + i, static_cast<std::byte*>(data) + i);
  } else {
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "a read of {} bytes at {:#x} of registers", bytes, offset);
  }
  std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the device: what it wrote before it answered
  return {};
}

Status VfioRegion::write(uint64_t offset, const void* data, uint32_t bytes) const {
  if (Status s = check(offset, bytes); !s.ok()) return s;
  if (data_ == nullptr) {
    if (::pwrite(device_, data, bytes, static_cast<off_t>(place_ + offset)) == static_cast<ssize_t>(bytes)) return {};
    return failure(WEFT_ERROR_DEVICE_LOST, "writing {} bytes at {:#x} of region {}: {}", bytes, offset,
                   static_cast<uint32_t>(region_), std::strerror(errno));
  }
  if (!is_plain(offset, bytes))
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "a write of {} bytes at {:#x} of registers", bytes, offset);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the device: memory first, then its doorbell
  volatile std::byte* to = data_ + offset;
  switch (bytes) {
    case 1:
      store<uint8_t>(to, data);
      break;
    case 2:
      store<uint16_t>(to, data);
      break;
    case kWordBytes:
      store<uint32_t>(to, data);
      break;
    default:
      store<uint64_t>(to, data);
  }
  return {};
}

}  // namespace weft::driver
