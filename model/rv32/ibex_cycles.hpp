/// Cycles of Ibex by instruction, beyond the one that each takes: RV32M = single cycle, no branch target ALU, no
/// write-back stage, memories that answer in the next cycle. testbench/unit/ibex/ibex_test compares them with its RTL.
#pragma once

namespace weft::rv32 {

inline constexpr unsigned kAccessCycles = 1;       ///< a load or a store
inline constexpr unsigned kSplitAccessCycles = 2;  ///< one that crosses a word: two accesses
inline constexpr unsigned kJumpCycles = 1;
inline constexpr unsigned kTakenBranchCycles = 2;
inline constexpr unsigned kUnalignedTargetCycles = 1;  ///< a 4-byte instruction at an odd halfword, after a jump
inline constexpr unsigned kMultiplyHighCycles = 1;
inline constexpr unsigned kDivideCycles = 36;
inline constexpr unsigned kDivideByZeroCycles = 1;

inline constexpr unsigned kReturnCycles = 2;  ///< mret
inline constexpr unsigned kFlushCycles = 2;   ///< a write of mstatus or mie
inline constexpr unsigned kTrapCycles = 2;    ///< from an instruction that traps to the trap vector
inline constexpr unsigned kSleepCycles = 2;   ///< wfi, before it sleeps
inline constexpr unsigned kWakeCycles = 2;    ///< from an interrupt to the instruction behind wfi
inline constexpr unsigned kResetCycles = 2;   ///< from reset to the first instruction

}  // namespace weft::rv32
