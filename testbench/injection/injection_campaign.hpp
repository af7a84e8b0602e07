/// One bit or two flipped in a memory with ECC while a random program runs, and what came of it.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "model/core/tensor_core.hpp"
#include "testbench/random/random_program.hpp"

namespace weft::injection {

/// What came of a flip, as the outside sees it.
enum class Result : uint8_t {
  kCorrected,    ///< it was read and corrected; all is as golden says
  kDetected,     ///< ECC_UNCORRECTABLE stopped the core; what was written is as golden says
  kNotUsed,      ///< it was read in lanes that no command uses
  kOverwritten,  ///< it was written over before anybody read it
  kNotRead,      ///< it is still there
  kNotReached,   ///< the write it waits for did not happen
  kSilent,       ///< something is wrong and nothing says so, or says something else
};
inline constexpr std::array<const char*, 7> kResultNames{"corrected", "detected",    "not_used", "overwritten",
                                                         "not_read",  "not_reached", "silent"};

/// Bits to flip, and where.
struct Flip {
  bool acc = false;      ///< ACC, else VMEM
  uint64_t address = 0;  ///< INJECT_ADDRESS
  uint64_t data = 0, check = 0;
  uint32_t write = 0;  ///< with the n-th write of the place; 0: before the program starts
};

/// A flip of `bits` (1 or 2) different bits, data and check, at a place that the program writes; depends on the seed
/// alone.
[[nodiscard]] Flip choose_flip(const random::Program& program, unsigned bits, uint64_t seed);

struct Observation {
  Result result = Result::kSilent;
  unsigned fault_unit = 0;  ///< kDetected: who met it
  std::string report;       ///< kSilent: what is wrong
};

/// Runs the program on a fresh core with the flip, and compares all memories to the last byte: with golden's after all
/// commands, or, where a fault stopped the core, with golden's after those that retired; what a command that did not
/// retire has written of VMEM and memory must be what golden writes there.
[[nodiscard]] Observation observe(const random::Program& program, const Flip& flip, core::CoreKind kind);

}  // namespace weft::injection
