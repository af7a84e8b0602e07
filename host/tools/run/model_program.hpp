/// From an ONNX file to programs in memory: for the device and for the host; shared by compile and run.
#pragma once
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/onnx/importer.hpp"
#include "host/compiler/partition/partition.hpp"
#include "host/compiler/program.hpp"
#include "host/compiler/result.hpp"
#include "host/compiler/sequence/sequence.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "weft/spec/chips.hpp"

namespace weft::tools {

/// A device program.
struct PartProgram {
  std::vector<std::byte> executable;
  std::vector<compiler::ArgumentPlace> places;  ///< of the graph's inputs, then of its outputs
  uint64_t macs = 0, cycle_estimate = 0;
};

/// A launch of several devices, in bytes.
struct CompiledSequence {
  std::vector<std::vector<std::byte>> executables;  ///< by device
  uint64_t macs = 0;                                ///< of each of them
};

/// Device programs and collectives in one launch.
struct SequenceProgram {
  compiler::Sequence plan;
  CompiledSequence compiled;
  std::string key;  ///< no other one of the process has it
};

/// Parts that run at once, one behind the other.
struct ModelLaunch {
  std::vector<size_t> parts;
  std::optional<SequenceProgram> sequence;  ///< none: there is one part
};

/// A model, cut into parts; those of the device compiled for one chip.
struct ModelProgram {
  compiler::ir::Module module;
  compiler::Partition partition;
  std::vector<PartProgram> programs;  ///< by part; those of the host and of sequences are empty
  std::vector<ModelLaunch> launches;  ///< in their order
  std::set<size_t> left_to_host;      ///< parts that the device's compiler has refused
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
  std::set<size_t> left_to_host;
  std::vector<CompiledSequence> sequences;
};

/// Cuts a module that has gone through the passes, and compiles its device programs, or takes those that are `known`.
/// What the device's compiler refuses runs on the host. With a `slice` the module is the program of each of its devices,
/// and collectives between device programs are those of its chips. INVALID_ARGUMENT: what is known is of another module.
[[nodiscard]] Result<ModelProgram> compile_parts(compiler::ir::Module module, const spec::Chip& chip,
                                                 CompiledParts* known = nullptr,
                                                 const compiler::DeviceSlice* slice = nullptr);

/// A part of a sequence as a program of its own, to look at what it takes.
[[nodiscard]] Result<PartProgram> compile_part(const ModelProgram& model, size_t part, const spec::Chip& chip);

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
