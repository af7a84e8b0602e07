/// From an ONNX model to the graph of one device program.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "host/compiler/graph.hpp"
#include "host/compiler/onnx/importer.hpp"

namespace weft::compiler {

/// The module behind all passes, and what has decided its shapes. Errors of import_model and of the passes.
[[nodiscard]] Result<frontend::Imported> import_simplified(std::span<const std::byte> file, const std::string& folder,
                                                           const frontend::Binding& binding);

/// The whole model as one graph. Errors of import_simplified; UNSUPPORTED names the operator that is for the host.
[[nodiscard]] Result<Graph> import_graph(std::span<const std::byte> file, const std::string& folder,
                                         const frontend::Binding& binding);

}  // namespace weft::compiler
