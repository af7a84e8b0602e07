/// From an ONNX file to an executable in memory; shared by compile and run.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/onnx_import.hpp"
#include "host/compiler/result.hpp"
#include "weft/spec/chips.hpp"

namespace weft::tools {

/// The graph of an ONNX model and its executable for one chip.
struct ModelProgram {
  compiler::Graph graph;
  std::vector<std::byte> executable;
  uint64_t macs = 0, cycle_estimate = 0;
};

/// Imports, lowers, compiles. The message begins with the path. `batch` replaces symbolic first dimensions.
[[nodiscard]] Result<ModelProgram> compile_model(const std::string& path, const std::vector<std::byte>& file,
                                                 const spec::Chip& chip, const compiler::BatchSizes& batch);

/// True if the bytes begin like a .weft executable.
[[nodiscard]] bool is_executable(const std::vector<std::byte>& file);

}  // namespace weft::tools
