// Shared mappings of sealed files, found by address.
#include "model/chip/host_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "weft/spec/spec.h"

namespace weft::chip {
namespace {

constexpr uint64_t kWordBytes = 8;

bool has(Access granted, Access wanted) {
  return (static_cast<unsigned>(granted) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

int protection(Access access) {
  return (has(access, Access::kRead) ? PROT_READ : 0) | (has(access, Access::kWrite) ? PROT_WRITE : 0);
}

}  // namespace

int HostMemory::map(int fd, uint64_t offset, uint64_t iova, uint64_t bytes, Access access) {
  if (bytes == 0 || bytes % kPageBytes != 0 || iova % kPageBytes != 0 || offset % kPageBytes != 0) return EINVAL;
  constexpr uint64_t kEnd = WEFT_LIMIT_ADDRESS_FLAG_HBM;
  if (iova >= kEnd || bytes > kEnd - iova || offset > static_cast<uint64_t>(INT64_MAX) - bytes) return EINVAL;
  if (maps_.size() >= kMaxMaps) return ENOSPC;
  const auto next = maps_.lower_bound(iova);
  if (next != maps_.end() && next->first - iova < bytes) return EEXIST;
  if (next != maps_.begin()) {
    const auto& [base, mapping] = *std::prev(next);
    if (iova - base < mapping.bytes) return EEXIST;
  }
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return EPERM;
  struct stat status {};
  if (::fstat(fd, &status) != 0) return errno;
  if (static_cast<uint64_t>(status.st_size) < offset + bytes) return EINVAL;
  void* data = ::mmap(nullptr, bytes, protection(access), MAP_SHARED, fd, static_cast<off_t>(offset));
  if (data == MAP_FAILED) return errno;
  maps_.emplace(iova, Mapping{bytes, static_cast<std::byte*>(data), access});
  return 0;
}

int HostMemory::unmap(uint64_t iova, uint64_t bytes) {
  const auto found = maps_.find(iova);
  if (found == maps_.end() || found->second.bytes != bytes) return ENOENT;
  ::munmap(found->second.data, bytes);
  maps_.erase(found);
  return 0;
}

void HostMemory::clear() {
  for (const auto& [iova, mapping] : maps_) ::munmap(mapping.data, mapping.bytes);
  maps_.clear();
  abandoned_ = false;
}

std::byte* HostMemory::locate(uint64_t iova, Access access, uint64_t& bytes_left) const {
  auto found = maps_.upper_bound(iova);
  if (found == maps_.begin()) return nullptr;
  const auto& [base, mapping] = *--found;
  if (iova - base >= mapping.bytes || !has(mapping.access, access)) return nullptr;
  bytes_left = mapping.bytes - (iova - base);
  return mapping.data + (iova - base);
}

bool HostMemory::mapped(uint64_t iova, uint64_t bytes, Access access) const {
  while (bytes != 0) {
    uint64_t left = 0;
    if (locate(iova, access, left) == nullptr) return false;
    const uint64_t step = std::min(left, bytes);
    iova += step;
    bytes -= step;
  }
  return true;
}

bool HostMemory::read(uint64_t iova, std::span<std::byte> out) const {
  if (!mapped(iova, out.size(), Access::kRead)) return false;
  if (abandoned_) {
    std::ranges::fill(out, std::byte{0});
    return true;
  }
  while (!out.empty()) {
    uint64_t left = 0;
    const std::byte* from = locate(iova, Access::kRead, left);
    const uint64_t step = std::min<uint64_t>(left, out.size());
    std::memcpy(out.data(), from, step);
    out = out.subspan(step);
    iova += step;
  }
  return true;
}

bool HostMemory::write(uint64_t iova, std::span<const std::byte> data) {
  if (!mapped(iova, data.size(), Access::kWrite)) return false;
  if (abandoned_) return true;
  while (!data.empty()) {
    uint64_t left = 0;
    std::byte* to = locate(iova, Access::kWrite, left);
    const uint64_t step = std::min<uint64_t>(left, data.size());
    std::memcpy(to, data.data(), step);
    data = data.subspan(step);
    iova += step;
  }
  return true;
}

bool HostMemory::write_last_word_after(uint64_t iova, std::span<const std::byte> data) {
  if (abandoned_ || data.size() < kWordBytes || (iova + data.size()) % kWordBytes != 0) return write(iova, data);
  if (!mapped(iova, data.size(), Access::kWrite)) return false;
  const uint64_t first_bytes = data.size() - kWordBytes;
  if (!write(iova, data.first(first_bytes))) return false;
  uint64_t left = 0;
  auto* place = reinterpret_cast<uint64_t*>(locate(iova + first_bytes, Access::kWrite, left));
  uint64_t word = 0;
  std::memcpy(&word, data.data() + first_bytes, kWordBytes);
  std::atomic_ref<uint64_t>(*place).store(word, std::memory_order_release);
  return true;
}

}  // namespace weft::chip
