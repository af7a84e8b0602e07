/// What a VPU command does to VMEM, element by element, and whether it is legal: docs/command_checks.md section 4 in
/// plain code.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace weft::vpu_test {

inline constexpr const spec::Chip& kChip = *spec::find_chip(WEFT_PRESET);  ///< of N = 8, which the bench simulates
inline constexpr unsigned kN = kChip.n;
inline constexpr unsigned kSublanes = kChip.vpu_sublanes;
inline constexpr unsigned kWordBytes = kChip.word_bytes;
inline constexpr unsigned kVmemWords = kChip.vmem_words;
inline constexpr unsigned kAccRows = 2 * kChip.acc_bank_rows * kChip.num_mxu;

using Vmem = std::vector<uint8_t>;  ///< kVmemWords * kWordBytes bytes
using Acc = std::vector<uint32_t>;  ///< kAccRows * kN values

/// A refused command: what the unit must report.
struct Fault {
  weft_fault code;
  uint64_t address;
  bool operator==(const Fault&) const = default;
};

/// Elements written by EPILOGUE that are NaN or infinite.
struct StatusCounts {
  uint64_t nans = 0;
  uint64_t infinities = 0;
};

/// nullopt: legal.
[[nodiscard]] std::optional<Fault> check(const spec::VpuCommand& c);

/// Rows of a and b that a legal command reads, rows of d that it writes. iota counts as if it read a.
[[nodiscard]] uint64_t source_rows(const spec::VpuCommand& c);
[[nodiscard]] uint64_t b_rows(const spec::VpuCommand& c);
[[nodiscard]] uint64_t kept_rows(const spec::VpuCommand& c);  ///< at word scalar2
[[nodiscard]] uint64_t result_rows(const spec::VpuCommand& c);

/// Executes a legal command row by row (all of a row is read before it is written).
StatusCounts execute(const spec::VpuCommand& c, Vmem& vmem, const Acc& acc);

}  // namespace weft::vpu_test
