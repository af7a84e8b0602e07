/// GATHER and SCATTER of random programs: their indices come from commands right before them, which bound them.
#pragma once
#include "testbench/random/command_generator.hpp"

namespace weft::random {

/// One to two commands of the VPU that make indices of what a window holds, then the command that goes by them. None
/// if 200 draws gave none.
[[nodiscard]] std::vector<Step> draw_indexed_steps(const Place& place, Draw& draw, uint16_t first_tag);

/// Whether the steps before `step`, a GATHER or SCATTER, bound its indices as draw_indexed_steps() does: else nobody
/// knows whether it is legal.
[[nodiscard]] bool indices_bounded(const Plan& plan, size_t step);

}  // namespace weft::random
