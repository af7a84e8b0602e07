// Sealed memfds and their DMA maps.
#include "driver/memory/host_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
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
  if (Status s = transport.dma_map(range.fd, range.fd_offset, range.iova, range.bytes); !s.ok()) return s;
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
    if (Status s = transport.dma_map(range->fd, range->fd_offset, range->iova, range->bytes); !s.ok()) return s;
    range->reached = true;
  }
  cut_off_ = false;
  return {};
}

namespace {

constexpr uint64_t kLargestBytes = uint64_t{1} << 46;

Status no_memory(uint64_t bytes, const char* step) {
  return failure(WEFT_ERROR_NO_HOST_MEMORY, "host memory of {} bytes: {}: {}", bytes, step, std::strerror(errno));
}

/// The rules for a file that a program hands over.
Status check_import(int descriptor, uint64_t offset, uint64_t bytes) {
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (seals < 0)
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "descriptor {} is no file in memory (memfd_create): {}", descriptor,
                   std::strerror(errno));
  if ((seals & F_SEAL_SHRINK) == 0)
    return failure(WEFT_ERROR_INVALID_ARGUMENT,
                   "the memory is not sealed against shrinking: memfd_create with MFD_ALLOW_SEALING, then fcntl "
                   "F_ADD_SEALS with F_SEAL_SHRINK");
  constexpr int kWriteSeals = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;
  if ((seals & kWriteSeals) != 0)
    return Status(WEFT_ERROR_INVALID_ARGUMENT, "the memory is sealed against writing: devices need both directions");
  if ((::fcntl(descriptor, F_GETFL) & O_ACCMODE) != O_RDWR)
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "descriptor {} is not open for reading and writing", descriptor);
  struct stat file {};
  if (::fstat(descriptor, &file) != 0) return no_memory(bytes, "fstat");
  const uint64_t page = std::max<uint64_t>(kPageBytes, static_cast<uint64_t>(file.st_blksize));
  if (bytes == 0 || bytes > kLargestBytes || bytes % page != 0 || offset % page != 0)
    return failure(WEFT_ERROR_INVALID_ARGUMENT,
                   "{} bytes at offset {}: both are multiples of {}, and at most 2^46 bytes", bytes, offset, page);
  const auto size = static_cast<uint64_t>(file.st_size);
  if (offset > size || bytes > size - offset)
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "{} bytes at offset {} exceed the memory of {} bytes", bytes, offset,
                   size);
  return {};
}

}  // namespace

Result<std::unique_ptr<HostMemory>> HostMemory::create(std::shared_ptr<Transport> transport,
                                                       std::shared_ptr<IovaSpace> space, uint64_t bytes) {
  if (bytes == 0 || bytes > kLargestBytes)
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "host memory of {} bytes: 1 to 2^46 are possible", bytes);
  std::unique_ptr<HostMemory> memory(new HostMemory);
  memory->range_.bytes = (bytes + kPageBytes - 1) & ~(kPageBytes - 1);
  memory->fd_ = FileDescriptor(::memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory->fd_.valid()) return no_memory(memory->range_.bytes, "memfd_create");
  if (::ftruncate(memory->fd_.get(), static_cast<off_t>(memory->range_.bytes)) != 0)
    return no_memory(memory->range_.bytes, "ftruncate");
  if (::fcntl(memory->fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return no_memory(memory->range_.bytes, "sealing");
  if (Status s = memory->map(std::move(transport), std::move(space)); !s.ok()) return s;
  return memory;
}

Result<std::unique_ptr<HostMemory>> HostMemory::import(std::shared_ptr<Transport> transport,
                                                       std::shared_ptr<IovaSpace> space, int descriptor,
                                                       uint64_t offset, uint64_t bytes) {
  if (Status s = check_import(descriptor, offset, bytes); !s.ok()) return s;
  std::unique_ptr<HostMemory> memory(new HostMemory);
  memory->range_.bytes = bytes;
  memory->range_.fd_offset = offset;
  memory->fd_ = FileDescriptor::opened_by([&] { return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0); });
  if (!memory->fd_.valid()) return no_memory(bytes, "a descriptor");
  if (Status s = memory->map(std::move(transport), std::move(space)); !s.ok()) return s;
  return memory;
}

Status HostMemory::map(std::shared_ptr<Transport> transport, std::shared_ptr<IovaSpace> space) {
  void* data = ::mmap(nullptr, range_.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(),
                      static_cast<off_t>(range_.fd_offset));
  if (data == MAP_FAILED) return no_memory(range_.bytes, "mmap");
  data_ = static_cast<std::byte*>(data);
  (void)::madvise(data, range_.bytes, MADV_DONTFORK);  // what a child wrote there would reach the device
  Result<uint64_t> iova = space->allocate(range_.bytes);
  if (!iova.ok()) return iova.status();
  space_ = std::move(space);
  range_.iova = iova.value();
  range_.fd = fd_.get();
  if (Status s = space_->map(*transport, range_); !s.ok()) return s;
  transport_ = std::move(transport);  // from here on it is mapped
  return {};
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
