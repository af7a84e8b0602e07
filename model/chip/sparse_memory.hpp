/// HBM's contents: the whole address range is there, only touched pages cost memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weft::chip {

/// Owns one anonymous mapping without reserved swap. Fresh memory reads zero. One owner; not thread-safe.
class SparseMemory {
 public:
  /// nullptr and a message in `error` if the address space is not to be had.
  static std::unique_ptr<SparseMemory> make(uint64_t bytes, std::string& error);
  ~SparseMemory();
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  [[nodiscard]] uint64_t bytes() const { return bytes_; }

  /// False: a byte lies outside; nothing is copied.
  [[nodiscard]] bool read(uint64_t address, std::span<std::byte> out) const;
  [[nodiscard]] bool write(uint64_t address, std::span<const std::byte> data);

  /// The range in place, for copies without a buffer between; empty if a byte lies outside.
  [[nodiscard]] std::span<std::byte> view(uint64_t address, uint64_t bytes);

  /// All bytes read zero again; the pages go back to the system.
  void clear();
  /// The same for a range; pages that lie in it as a whole go back. False: a byte lies outside; nothing is cleared.
  [[nodiscard]] bool clear(uint64_t address, uint64_t bytes);

  /// Bytes that are resident now, for tests and reports.
  [[nodiscard]] uint64_t resident_bytes() const;

 private:
  SparseMemory(std::byte* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  [[nodiscard]] bool inside(uint64_t address, uint64_t bytes) const {
    return address <= bytes_ && bytes <= bytes_ - address;
  }

  std::byte* data_;
  uint64_t bytes_;
};

}  // namespace weft::chip
