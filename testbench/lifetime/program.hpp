/// One random program, from its devices' opening to the last look.
#pragma once
#include "testbench/lifetime/world.hpp"

namespace weft::lifetime {

/// Runs program number `index` of a seed: everything that its threads draw comes from both.
void run_program(const Options& options, uint64_t index, Counts& counts, Findings& findings, Promptness& promptness);

}  // namespace weft::lifetime
