/// A program before it has semaphores: commands in order, from which semaphores are derived.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "testbench/random/random_program.hpp"

namespace weft::random {

/// A command without waits and posts.
struct Step {
  unsigned queue = 0;
  spec::Command command;
  std::vector<size_t> after;  ///< earlier steps to wait for, whether or not they touch the same places
};

/// One field of one step is overwritten once its semaphores are known.
struct Damage {
  size_t step = 0;
  unsigned offset = 0, bytes = 0;
  uint64_t value = 0;
};

/// Commands after all steps that end the program in a fault which no single command's fields tell.
enum class Ending : uint8_t {
  kNone,
  kOverflow,  ///< two SIGNALs exceed what a semaphore holds: SEMAPHORE_OVERFLOW
  kDeadlock,  ///< two queues wait for each other: WATCHDOG
  kBusError,  ///< a copy through a legal segment reaches beyond the memory behind it: DMA_BUS
  kIndex,     ///< a GATHER or SCATTER by an index that is no row of its table: INDEX
  kRace,      ///< two commands write the same place and nothing orders them: HAZARD
};

/// What a random program is made of. Dropping a step or changing a size leaves a plan from which a program can be made
/// again.
struct Plan {
  const spec::Chip* chip = nullptr;
  uint64_t seed = 0, data_seed = 0;
  unsigned stall_percent = 0;
  bool jitter = false;
  bool prefetch = false;
  golden::SegmentTable segments{};
  std::vector<Step> steps;
  std::optional<Damage> damage;
  Ending ending = Ending::kNone;
};

/// Derives the semaphores: each step waits for every earlier one that it must not meet, by at most two waits and two
/// posts a command; SIGNALs are put in where more than two come together. Every wait names earlier commands only and
/// every count that is posted is taken, so the program neither hangs nor leaves a semaphore behind, and no two commands
/// that touch the same place are unordered. The expected fault of a damaged plan is what golden::check_command says.
/// Nothing if 64 semaphores do not suffice, a step is not legal, the damage is none, or there is no room for the
/// ending. Deterministic.
[[nodiscard]] std::optional<Program> make_program(const Plan& plan);

}  // namespace weft::random
