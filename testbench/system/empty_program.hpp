/// A program whose kernel has no commands: what is left of a launch is the path to the device and back.
#pragma once
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"
#include "weft/spec/chips.hpp"

namespace weft::test {

[[nodiscard]] inline Result<std::vector<std::byte>> empty_executable(const spec::Chip& chip) {
  compiler::Kernel kernel;
  kernel.name = "empty";
  return compiler::write_executable(chip, kernel);
}

}  // namespace weft::test
