/// Which values of a program go through memory, so that the others fit VMEM.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "host/compiler/compile.hpp"

namespace weft::compiler::tiles {

/// Where the matrices lie that a step reads, of the steps that stay in VMEM.
[[nodiscard]] std::vector<TensorPlace> operand_places(const Step& step);

/// Offsets in scratch of values that go to memory behind the step that computes them and come back for each step that
/// reads them: where more than `budget` bytes are live, the value that is read latest, and so on. What a step reads or
/// computes itself counts, and does not leave for it.
[[nodiscard]] std::set<uint64_t> choose_spills(const spec::Chip& chip, const Program& program, uint64_t budget);

}  // namespace weft::compiler::tiles
