/// From an ONNX file to programs in memory: for the device and for the host; shared by compile and run.
#pragma once
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/compiler/compile.hpp"
#include "host/compiler/graph.hpp"
#include "host/compiler/onnx/importer.hpp"
#include "host/compiler/partition/partition.hpp"
#include "host/compiler/result.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "weft/spec/chips.hpp"

namespace weft::tools {

/// A device program.
struct PartProgram {
  std::vector<std::byte> executable;
  std::vector<compiler::ArgumentPlace> places;  ///< of the graph's inputs, then of its outputs
  uint64_t macs = 0, cycle_estimate = 0;
};

/// A model, cut into parts; those of the device compiled for one chip.
struct ModelProgram {
  compiler::ir::Module module;
  compiler::Partition partition;
  std::vector<PartProgram> programs;  ///< by part; those of the host are empty
  compiler::Cuts cuts;                ///< with which the partition has been made
  std::set<std::string> decided_by;   ///< inputs whose values have decided shapes or branches

  /// The graph if one device program is all of the model, its inputs and outputs those of the model and arguments each;
  /// null: it is not.
  [[nodiscard]] const compiler::Graph* whole() const;
};

/// Imports, cuts, compiles. Part of the model that the device program cannot have runs on the host. The message begins
/// with the path; initializers may lie beside the file.
[[nodiscard]] Result<ModelProgram> compile_model(const std::string& path, const std::vector<std::byte>& file,
                                                 const spec::Chip& chip, const compiler::frontend::Binding& binding,
                                                 compiler::Device device,
                                                 compiler::tiles::Loops loops = compiler::tiles::Loops::kAuto);

/// What compile_parts() has made of a module before.
struct CompiledParts {
  compiler::Cuts cuts;
  std::vector<PartProgram> programs;
};

/// Cuts a module that has gone through the passes, and compiles its device programs, or takes those that are `known`.
/// What the device's compiler refuses runs on the host. INVALID_ARGUMENT: what is known is of another module.
[[nodiscard]] Result<ModelProgram> compile_parts(compiler::ir::Module module, const spec::Chip& chip,
                                                 CompiledParts* known = nullptr);

/// The same as one graph of a device, for slices. UNSUPPORTED names the operator that is for the host.
[[nodiscard]] Result<compiler::Graph> import_graph(const std::string& path, const std::vector<std::byte>& file,
                                                   const compiler::frontend::Binding& binding);

/// A model that is one device program.
struct DeviceProgram {
  compiler::Graph graph;
  PartProgram program;
};

/// Errors of import_graph and of the compiler; none of the model runs on the host.
[[nodiscard]] Result<DeviceProgram> compile_for_device(const std::string& path, std::vector<std::byte> file,
                                                       const spec::Chip& chip,
                                                       const compiler::frontend::Binding& binding,
                                                       compiler::tiles::Loops loops = compiler::tiles::Loops::kAuto);

/// True if the bytes begin like a .weft executable.
[[nodiscard]] bool is_executable(const std::vector<std::byte>& file);

}  // namespace weft::tools
