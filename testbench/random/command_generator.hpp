/// One random legal command without semaphores.
#pragma once
#include <optional>
#include <vector>

#include "testbench/random/draw.hpp"
#include "testbench/random/program_plan.hpp"

namespace weft::random {

/// VMEM words that a program works on.
struct Window {
  uint64_t first = 0, words = 0;
};

/// Where commands of a program may go.
struct Place {
  const spec::Chip* chip = nullptr;
  golden::SegmentTable segments{};
  std::vector<Window> windows;
};

/// Draws opcodes, queues and enumerations from the specification's tables and sizes around boundaries, until
/// golden::check_command accepts the command and its result does not depend on how its unit overlaps reading and
/// writing.
[[nodiscard]] Step draw_step(const Place& place, Draw& draw, uint16_t tag);

/// As draw_step(), but only of this body; nothing if 2000 draws gave none.
[[nodiscard]] std::optional<Step> draw_step(const Place& place, Draw& draw, uint16_t tag, spec::Body body);

}  // namespace weft::random
