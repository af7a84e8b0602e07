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

Result<std::unique_ptr<HostMemory>> HostMemory::create(std::shared_ptr<Transport> transport,
                                                       std::shared_ptr<IovaSpace> space, uint64_t bytes) {
  constexpr uint64_t kLargest = uint64_t{1} << 46;
  if (bytes == 0 || bytes > kLargest)
    return failure(WEFT_ERROR_INVALID_ARGUMENT, "host memory of {} bytes: 1 to 2^46 are possible", bytes);
  std::unique_ptr<HostMemory> memory(new HostMemory);
  memory->bytes_ = (bytes + kPageBytes - 1) & ~(kPageBytes - 1);
  memory->fd_ = FileDescriptor(::memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto no_memory = [&](const char* step) {
    return failure(WEFT_ERROR_NO_HOST_MEMORY, "host memory of {} bytes: {}: {}", memory->bytes_, step,
                   std::strerror(errno));
  };
  if (!memory->fd_.valid()) return no_memory("memfd_create");
  if (::ftruncate(memory->fd_.get(), static_cast<off_t>(memory->bytes_)) != 0) return no_memory("ftruncate");
  if (::fcntl(memory->fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return no_memory("sealing");
  void* data = ::mmap(nullptr, memory->bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd_.get(), 0);
  if (data == MAP_FAILED) return no_memory("mmap");
  memory->data_ = static_cast<std::byte*>(data);
  Result<uint64_t> iova = space->allocate(memory->bytes_);
  if (!iova.ok()) return iova.status();
  memory->space_ = std::move(space);
  memory->iova_ = iova.value();
  if (Status s = transport->dma_map(memory->fd_.get(), 0, memory->iova_, memory->bytes_); !s.ok()) return s;
  memory->transport_ = std::move(transport);
  memory->mapped_ = true;
  return memory;
}

HostMemory::~HostMemory() {
  bool unmapped = !mapped_;
  best_effort([&] {
    if (mapped_) (void)transport_->dma_unmap(iova_, bytes_).ok();
    unmapped = true;
  });
  if (space_ != nullptr && unmapped) space_->release(iova_);  // else the device may still know the range
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace weft::driver
