// Ranges in the order of their addresses.
#include "model/chip/host_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "model/chip/guarded_memory.hpp"
#include "model/chip/tenant_limits.hpp"
#include "weft/spec/spec.h"

namespace weft::chip {
namespace {

namespace limits = tenant_limits;

constexpr uint64_t kWordBytes = 8;

bool has(Access granted, Access wanted) {
  return (static_cast<unsigned>(granted) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

}  // namespace

int HostMemory::check_new(uint64_t iova, uint64_t bytes) const {
  constexpr uint64_t kEnd = WEFT_LIMIT_ADDRESS_FLAG_HBM;
  if (bytes == 0) return EINVAL;
  if (iova >= kEnd || bytes > kEnd - iova) return EINVAL;
  const auto next = ranges_.lower_bound(iova);
  if (next != ranges_.end() && next->first - iova < bytes) return EEXIST;
  if (next != ranges_.begin()) {
    const auto& [base, range] = *std::prev(next);
    if (iova - base < range.bytes) return EEXIST;
  }
  return 0;
}

int HostMemory::map(int fd, uint64_t offset, uint64_t iova, uint64_t bytes, Access access) {
  if (const int error = check_new(iova, bytes); error != 0) return error;
  if (offset > static_cast<uint64_t>(INT64_MAX) - bytes) return EINVAL;
  if (bytes > limits::kMappedBytes - file_bytes_) return EFBIG;
  std::shared_ptr<SharedFile> file;
  if (const int error = files_.cover(fd, offset, bytes, has(access, Access::kWrite), file); error != 0) return error;
  int error = ENOMEM;
  try {
    error = insert(iova, Range{bytes, file, offset, access});
  } catch (const std::bad_alloc&) {
  }
  if (error == 0) file_bytes_ += bytes;
  files_.release(std::move(file));
  return error;
}

int HostMemory::map_messages(uint64_t iova, uint64_t bytes, Access access) {
  if (const int error = check_new(iova, bytes); error != 0) return error;
  return insert(iova, Range{bytes, nullptr, 0, access});
}

int HostMemory::insert(uint64_t iova, Range range) {
  const auto goes_on = [](const Range& a, const Range& b) {
    return a.file == b.file && a.access == b.access && (a.file == nullptr || a.offset + a.bytes == b.offset);
  };
  const auto next = ranges_.lower_bound(iova);
  const auto before = next != ranges_.begin() ? std::prev(next) : ranges_.end();
  const bool joins_next = next != ranges_.end() && next->first == iova + range.bytes && goes_on(range, next->second);
  if (before != ranges_.end() && before->first + before->second.bytes == iova && goes_on(before->second, range)) {
    before->second.bytes += range.bytes;
    if (!joins_next) return 0;
    before->second.bytes += next->second.bytes;
    ranges_.erase(next);
    return 0;
  }
  if (joins_next) {
    range.bytes += next->second.bytes;
    auto node = ranges_.extract(next);
    node.key() = iova;
    node.mapped() = std::move(range);
    ranges_.insert(std::move(node));
    return 0;
  }
  if (ranges_.size() >= limits::kRanges) return ENOSPC;
  ranges_.emplace_hint(next, iova, std::move(range));
  return 0;
}

int HostMemory::unmap(uint64_t iova, uint64_t bytes) {
  if (bytes == 0 || bytes - 1 > UINT64_MAX - iova) return EINVAL;
  const uint64_t last = iova + (bytes - 1);  // the end may be 2^64
  const auto removed = [this](const Range& range, uint64_t count) {
    if (range.file != nullptr) file_bytes_ -= count;
  };
  auto at = ranges_.upper_bound(iova);
  if (at != ranges_.begin() && std::prev(at)->first != iova) {
    auto& [base, range] = *std::prev(at);
    const uint64_t kept = iova - base;
    if (kept < range.bytes && last - base < range.bytes - 1) {  // out of its middle
      if (ranges_.size() >= limits::kRanges) return ENOSPC;
      const uint64_t cut = last - base + 1;
      ranges_.emplace_hint(at, base + cut, Range{range.bytes - cut, range.file, range.offset + cut, range.access});
      removed(range, cut - kept);
      range.bytes = kept;
      return 0;
    }
    if (kept < range.bytes) {
      removed(range, range.bytes - kept);
      range.bytes = kept;
    }
  } else if (at != ranges_.begin()) {
    --at;
  }
  while (at != ranges_.end() && at->first <= last) {
    const uint64_t cut = last - at->first + 1;
    if (last - at->first >= at->second.bytes - 1) {
      removed(at->second, at->second.bytes);
      erase(at++);
      continue;
    }
    removed(at->second, cut);  // its head
    auto node = ranges_.extract(at);
    node.key() += cut;
    node.mapped().bytes -= cut;
    node.mapped().offset += cut;
    ranges_.insert(std::move(node));
    break;
  }
  return 0;
}

void HostMemory::erase(Ranges::iterator at) {
  std::shared_ptr<SharedFile> file = std::move(at->second.file);
  ranges_.erase(at);
  files_.release(std::move(file));
}

void HostMemory::clear() {
  while (!ranges_.empty()) erase(ranges_.begin());
  file_bytes_ = 0;
  abandoned_ = false;
}

HostMemory::Place HostMemory::locate(uint64_t iova, Access access) const {
  auto found = ranges_.upper_bound(iova);
  if (found == ranges_.begin()) return {};
  const auto& [base, range] = *--found;
  if (iova - base >= range.bytes || !has(range.access, access)) return {};
  return {&range, range.offset + (iova - base), range.bytes - (iova - base)};
}

bool HostMemory::mapped(uint64_t iova, uint64_t bytes, Access access) const {
  while (bytes != 0) {
    const Place place = locate(iova, access);
    if (place.range == nullptr) return false;
    const uint64_t step = std::min(place.bytes_left, bytes);
    iova += step;
    bytes -= step;
  }
  return true;
}

bool HostMemory::read(uint64_t iova, std::span<std::byte> out) const { return read_by(messages_, iova, out); }
bool HostMemory::peek(uint64_t iova, std::span<std::byte> out) const { return read_by(nullptr, iova, out); }

bool HostMemory::read_by(MessageMemory* messages, uint64_t iova, std::span<std::byte> out) const {
  if (!mapped(iova, out.size(), Access::kRead)) return false;
  if (abandoned_) {
    std::ranges::fill(out, std::byte{0});
    return true;
  }
  while (!out.empty()) {
    const Place place = locate(iova, Access::kRead);
    const size_t step = std::min<uint64_t>(place.bytes_left, out.size());
    const bool done = place.range->file != nullptr ? guarded_copy(out.data(), place.range->file->at(place.offset), step)
                                                   : messages != nullptr && messages->read(iova, out.first(step));
    if (!done) return false;
    out = out.subspan(step);
    iova += step;
  }
  return true;
}

bool HostMemory::write(uint64_t iova, std::span<const std::byte> data) {
  if (!mapped(iova, data.size(), Access::kWrite)) return false;
  if (abandoned_) return true;
  while (!data.empty()) {
    const Place place = locate(iova, Access::kWrite);
    const size_t step = std::min<uint64_t>(place.bytes_left, data.size());
    const bool done = place.range->file != nullptr
                          ? guarded_copy(place.range->file->at(place.offset), data.data(), step)
                          : messages_ != nullptr && messages_->write(iova, data.first(step));
    if (!done) return false;
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
  const Place place = locate(iova + first_bytes, Access::kWrite);
  // One store needs a word of one file; a client's ranges may begin and end at any byte.
  if (place.range->file == nullptr || place.offset % kWordBytes != 0 || place.bytes_left < kWordBytes)
    return write(iova + first_bytes, data.subspan(first_bytes));
  uint64_t word = 0;
  std::memcpy(&word, data.data() + first_bytes, kWordBytes);
  return guarded_store(place.range->file->at(place.offset), word);
}

}  // namespace weft::chip
