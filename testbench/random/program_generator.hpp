/// Random programs from a seed.
#pragma once
#include <cstdint>

#include "testbench/random/program_plan.hpp"

namespace weft::random {

enum class Legality : uint8_t {
  kLegal,       ///< runs to its end and leaves all semaphores at 0
  kOneIllegal,  ///< one field of one command is illegal, or the program's ending is (Ending)
};

/// A plan from which make_program() makes a program. The same arguments give the same plan on every machine.
[[nodiscard]] Plan generate_plan(const spec::Chip& chip, uint64_t seed, Legality legality);

}  // namespace weft::random
