/// Steps in messages.
#pragma once
#include <string>

#include "host/compiler/program.hpp"

namespace weft::compiler::tiles {

/// Which step of the program, what it computes, and the node of the model that it stems from with its operator, if
/// that has a name: "step 3 of 12, a batch of 12 products (MatMul 'scores')". The program has such a step.
[[nodiscard]] std::string text_of(const Program& program, size_t step);

}  // namespace weft::compiler::tiles
