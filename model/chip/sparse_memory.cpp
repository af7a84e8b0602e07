// One private anonymous mapping; the kernel's zero page does the rest.
#include "model/chip/sparse_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace weft::chip {

std::unique_ptr<SparseMemory> SparseMemory::make(uint64_t bytes, std::string& error) {
  void* data = bytes == 0
                   ? MAP_FAILED
                   : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    error =
        fmt::format("no address space for {} bytes of HBM: {}", bytes, bytes == 0 ? "zero size" : std::strerror(errno));
    return nullptr;
  }
  return std::unique_ptr<SparseMemory>(new SparseMemory(static_cast<std::byte*>(data), bytes));
}

SparseMemory::~SparseMemory() { ::munmap(data_, bytes_); }

bool SparseMemory::read(uint64_t address, std::span<std::byte> out) const {
  if (!inside(address, out.size())) return false;
  std::memcpy(out.data(), data_ + address, out.size());
  return true;
}

bool SparseMemory::write(uint64_t address, std::span<const std::byte> data) {
  if (!inside(address, data.size())) return false;
  std::memcpy(data_ + address, data.data(), data.size());
  return true;
}

std::span<std::byte> SparseMemory::view(uint64_t address, uint64_t bytes) {
  if (!inside(address, bytes)) return {};
  return {data_ + address, bytes};
}

void SparseMemory::clear() { ::madvise(data_, bytes_, MADV_DONTNEED); }

bool SparseMemory::clear(uint64_t address, uint64_t bytes) {
  if (!inside(address, bytes)) return false;
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t end = address + bytes;
  const uint64_t first = std::min((address + page - 1) / page * page, end);
  const uint64_t last = std::max(end / page * page, first);
  std::memset(data_ + address, 0, first - address);
  if (last > first) ::madvise(data_ + first, last - first, MADV_DONTNEED);
  std::memset(data_ + last, 0, end - last);
  return true;
}

uint64_t SparseMemory::resident_bytes() const {
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  constexpr uint64_t kPagesAtOnce = 1 << 16;
  std::vector<unsigned char> resident(kPagesAtOnce);
  uint64_t pages = 0;
  for (uint64_t at = 0; at < bytes_; at += kPagesAtOnce * page) {
    const uint64_t length = std::min(bytes_ - at, kPagesAtOnce * page);
    if (::mincore(data_ + at, length, resident.data()) != 0) return 0;
    pages += static_cast<uint64_t>(std::count_if(resident.begin(),
                                                 resident.begin() + static_cast<ptrdiff_t>((length + page - 1) / page),
                                                 [](unsigned char c) { return (c & 1) != 0; }));
  }
  return pages * page;
}

}  // namespace weft::chip
