/// What passes between the manager's processor and its registers, as lines of text: what a second engine is fed with,
/// to see that it does the same (testbench/lockstep).
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "base/crc32c.hpp"
#include "firmware/state.hpp"

namespace weft::chip {

/// A word of everything in State that a restart clears, and of the functions that there are. Both engines have it in
/// the same layout.
[[nodiscard]] inline uint32_t state_digest(const fw::State& state) {
  const auto bytes = std::as_bytes(std::span(&state, 1));
  const auto functions = std::as_bytes(std::span(state.functions)).first(state.function_count * sizeof(fw::Function));
  return weft::crc32c(bytes.first(fw::kClearedBytes)) ^ weft::crc32c(functions) * 31;
}

/// One line for each access, when it has taken effect:
///   R                 the processor starts
///   L address value   load            S address value   store
///   D bytes           a DMA has filled memory of the processor; the load of its status stands before it
///   W bytes crc       a DMA has read so many bytes of the processor's memory, with this CRC-32C
///   E digest          the processor has slept and is woken; state_digest() at that moment
/// All numbers are hexadecimal, without signs. Owner: ImageProcessor.
class BusLog {
 public:
  /// %p in the path is the process id. nullptr and a message in `error`: it does not open.
  static std::unique_ptr<BusLog> make(std::string path, std::string& error);

  void restart() { std::fputs("R\n", file_.get()); }
  void load(uint32_t address, uint32_t value) { std::fprintf(file_.get(), "L %x %x\n", address, value); }
  void store(uint32_t address, uint32_t value) { std::fprintf(file_.get(), "S %x %x\n", address, value); }
  void filled(std::span<const std::byte> bytes);
  void drained(std::span<const std::byte> bytes);
  void wake(const fw::State& state) { std::fprintf(file_.get(), "E %x\n", state_digest(state)); }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  explicit BusLog(std::FILE* file) : file_(file) {}

  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace weft::chip
