/// The sync queue gathers what other chips post into one semaphore of this chip.
#pragma once
#include <string>
#include <vector>

#include "host/compiler/executable/program_builder.hpp"
#include "host/compiler/step.hpp"

namespace weft::compiler {

/// Appends to the sync queue: all arrivals but the last are waited for, and nobody hears of it; then, for each row
/// chunk of the last one, kArrived is posted once when all senders have posted. Nothing if there are none.
void await_arrivals(ProgramBuilder& program, const std::string& step, const std::vector<Arrival>& arrivals);

}  // namespace weft::compiler
