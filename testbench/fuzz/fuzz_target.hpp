/// What every fuzz target shares: its entry points, a reader of the input, and a way to fail.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>

extern "C" {
/// Runs one input. Returns 0: any input may become part of the corpus.
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
/// Optional: changes an input in place, in its own terms; returns the new size. `seed` is all its randomness.
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);
/// libFuzzer's mutation of plain bytes; without libFuzzer the corpus runner's.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
}

namespace weft::fuzz {

/// What must hold for every input. Otherwise the process aborts, which the fuzzer records as a crash.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// Takes values from the front of an input; when it is used up, every value is 0.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(data, size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] size_t size() const { return rest_.size(); }

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  T take() {
    T value{};
    const size_t bytes = rest_.size() < sizeof value ? rest_.size() : sizeof value;
    if (bytes != 0) std::memcpy(&value, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
    return value;
  }
  /// At most `count` bytes.
  std::span<const uint8_t> take_bytes(size_t count) {
    const auto bytes = rest_.first(count < rest_.size() ? count : rest_.size());
    rest_ = rest_.subspan(bytes.size());
    return bytes;
  }
  std::span<const uint8_t> take_rest() { return take_bytes(rest_.size()); }

 private:
  std::span<const uint8_t> rest_;
};

}  // namespace weft::fuzz
