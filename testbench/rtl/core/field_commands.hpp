/// Commands with any bits in any field, often legal.
#pragma once
#include <cstdint>
#include <optional>

#include "field_bench.hpp"

namespace weft {

/// One command. `expected`: its fault; for a legal one none.
struct FieldCase {
  unsigned queue = 0;
  spec::Command command;
  std::optional<golden::Fault> expected;
};
FieldCase draw_case(FieldBench& bench);

}  // namespace weft
