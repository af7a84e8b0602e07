// Sealed memfds and their DMA maps.
#include "driver/memory/host_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace weft::driver {

Result<uint64_t> IovaSpace::allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto iova = allocator_.allocate(bytes + kPageBytes, kPageBytes);
  if (!iova) {
    return failure(WEFT_ERROR_NO_HOST_MEMORY, "no IOVA range of {} bytes: {} free, the largest piece has {}", bytes,
                   allocator_.free_bytes(), allocator_.largest_bytes());
  }
  return *iova;
}

void IovaSpace::release(uint64_t iova) {
  const std::lock_guard lock(mutex_);
  allocator_.release(iova);
}

Status IovaSpace::map(Transport& transport, DmaRange& range) {
  const std::lock_guard lock(ranges_mutex_);
  if (cut_off_) return failure(WEFT_ERROR_INVALID_STATE, "the device is cut off from host memory until its reset");
  if (Status s = transport.dma_map(range.fd, 0, range.iova, range.bytes); !s.ok()) return s;
  range.reached = true;
  range.next = ranges_;
  range.previous = nullptr;
  if (ranges_ != nullptr) ranges_->previous = &range;
  ranges_ = &range;
  return {};
}

bool IovaSpace::unmap(Transport& transport, DmaRange& range) {
  const std::lock_guard lock(ranges_mutex_);
  (range.previous != nullptr ? range.previous->next : ranges_) = range.next;
  if (range.next != nullptr) range.next->previous = range.previous;
  return take_away(transport, range).ok();
}

/// ranges_mutex_ is held.
Status IovaSpace::take_away(Transport& transport, DmaRange& range) {
  if (!range.reached) return {};
  Status status = transport.dma_unmap(range.iova, range.bytes);
  if (status.ok()) range.reached = false;
  return status;
}

Status IovaSpace::cut_off(Transport& transport) {
  const std::lock_guard lock(ranges_mutex_);
  cut_off_ = true;
  for (DmaRange* range = ranges_; range != nullptr; range = range->next) {
    if (Status s = take_away(transport, *range); !s.ok()) return s;
  }
  return {};
}

Status IovaSpace::restore(Transport& transport) {
  const std::lock_guard lock(ranges_mutex_);
  for (DmaRange* range = ranges_; range != nullptr; range = range->next) {
    if (range->reached) continue;
    if (Status s = transport.dma_map(range->fd, 0, range->iova, range->bytes); !s.ok()) return s;
    range->reached = true;
  }
  cut_off_ = false;
  return {};
}

Result<std::unique_ptr<HostMemory>> HostMemory::create(std::shared_ptr<Transport> transport,
                                                       std::shared_ptr<IovaSpace> space, uint64_t bytes) {
  constexpr uint64_t kLargest = uint64_t{1} << 46;
  if (bytes == 0 || bytes > kLargest)
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "host memory of {} bytes: 1 to 2^46 are possible", bytes);
  std::unique_ptr<HostMemory> memory(new HostMemory);
  memory->range_.bytes = (bytes + kPageBytes - 1) & ~(kPageBytes - 1);
  memory->fd_ = FileDescriptor(::memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto no_memory = [&](const char* step) {
    return failure(WEFT_ERROR_NO_HOST_MEMORY, "host memory of {} bytes: {}: {}", memory->range_.bytes, step,
                   std::strerror(errno));
  };
  if (!memory->fd_.valid()) return no_memory("memfd_create");
  if (::ftruncate(memory->fd_.get(), static_cast<off_t>(memory->range_.bytes)) != 0) return no_memory("ftruncate");
  if (::fcntl(memory->fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return no_memory("sealing");
  void* data = ::mmap(nullptr, memory->range_.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd_.get(), 0);
  if (data == MAP_FAILED) return no_memory("mmap");
  memory->data_ = static_cast<std::byte*>(data);
  (void)::madvise(data, memory->range_.bytes, MADV_DONTFORK);  // what a child wrote there would reach the device
  Result<uint64_t> iova = space->allocate(memory->range_.bytes);
  if (!iova.ok()) return iova.status();
  memory->space_ = std::move(space);
  memory->range_.iova = iova.value();
  memory->range_.fd = memory->fd_.get();
  if (Status s = memory->space_->map(*transport, memory->range_); !s.ok()) return s;
  memory->transport_ = std::move(transport);  // from here on it is mapped
  return memory;
}

HostMemory::~HostMemory() {
  bool unmapped = transport_ == nullptr;
  best_effort([&] {
    if (transport_ != nullptr) unmapped = space_->unmap(*transport_, range_);
  });
  if (space_ != nullptr && unmapped) space_->release(range_.iova);
  if (data_ != nullptr) ::munmap(data_, range_.bytes);
}

}  // namespace weft::driver
