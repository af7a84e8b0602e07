/// Cycles of Ibex by instruction, beyond the one that each takes: its documentation's table "pipeline details" for
/// RV32M = single cycle, no branch target ALU, no write-back stage, memories that answer in the next cycle. Measured
/// against its RTL by testbench/unit/rv32/ibex_test.cpp.
#pragma once

namespace weft::rv32 {

inline constexpr unsigned kAccessCycles = 1;       ///< a load or a store
inline constexpr unsigned kSplitAccessCycles = 2;  ///< one that crosses a word: two accesses
inline constexpr unsigned kJumpCycles = 1;
inline constexpr unsigned kTakenBranchCycles = 2;
inline constexpr unsigned kUnalignedTargetCycles = 1;  ///< a 4-byte instruction at an odd halfword, after a jump
inline constexpr unsigned kMultiplyHighCycles = 1;
inline constexpr unsigned kDivideCycles = 36;
inline constexpr unsigned kDivideByZeroCycles = 0;

}  // namespace weft::rv32
