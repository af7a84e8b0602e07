/// What a unit wrote for one command, as it was seen at the unit's boundary.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace weft::core {

/// Writes in their order, each with its cycle and data. Of a command that writes more than kMaxBytes only the count is
/// kept beyond that. Addresses are bytes of VMEM, or rows of ACC.
class WriteRecord {
 public:
  static constexpr size_t kMaxBytes = size_t{16} << 20;

  struct Write {
    uint64_t cycle, address, bytes;
    size_t data;  // where its data begin
  };

  /// Room for the data of one more write, to be filled by the caller; empty if the record is full.
  [[nodiscard]] std::span<std::byte> add(uint64_t address, uint64_t bytes, uint64_t cycle) {
    count_++;
    if (full()) return {};
    writes_.push_back({cycle, address, bytes, data_.size()});
    data_.resize(data_.size() + bytes);
    return std::span(data_).last(bytes);
  }

  /// Writes seen, whether or not they are kept.
  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] bool full() const { return data_.size() >= kMaxBytes; }
  /// The i-th write; nothing if it was not kept.
  [[nodiscard]] const Write* write(uint64_t i) const { return i < writes_.size() ? &writes_[i] : nullptr; }
  [[nodiscard]] std::span<const std::byte> data(const Write& write) const {
    return std::span(data_).subspan(write.data, write.bytes);
  }

  /// The last write of these bytes of VMEM.
  [[nodiscard]] const Write* find(uint64_t address, uint64_t bytes) const {
    for (size_t i = writes_.size(); i-- != 0;)
      if (writes_[i].address <= address && address + bytes <= writes_[i].address + writes_[i].bytes) return &writes_[i];
    return nullptr;
  }

 private:
  std::vector<Write> writes_;
  std::vector<std::byte> data_;
  uint64_t count_ = 0;
};

}  // namespace weft::core
