/// Makes a failing program small.
#pragma once
#include <functional>

#include "testbench/random/program_plan.hpp"

namespace weft::random {

/// True if the program still fails.
using StillFails = std::function<bool(const Program&)>;

/// Drops commands (halves, quarters, ... single ones) and reduces sizes while make_program() gives a program that still
/// fails. `plan` fails. Ends when nothing more helps, or after `max_runs` calls of `still_fails`.
[[nodiscard]] Plan shrink_plan(Plan plan, const StillFails& still_fails, unsigned max_runs = 1000);

}  // namespace weft::random
