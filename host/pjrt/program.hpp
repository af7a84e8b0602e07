/// A compiled program: L1, cut into device programs and islands. One of several devices runs whole on the first of
/// them, on its arguments gathered.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/compiler/ir/tensor.hpp"
#include "host/compiler/result.hpp"
#include "host/compiler/stablehlo/importer.hpp"
#include "host/runtime/session.hpp"
#include "host/tools/cost/launch_record.hpp"
#include "host/tools/run/model_program.hpp"

namespace weft::pjrt {

/// What a caller asks for beside the program.
struct CompileOptions {
  int replicas = 1, partitions = 1;
  std::vector<int> devices;  ///< ids, replica by replica; empty: from 0 on
  std::string text;          ///< as they came in
};

/// Reads a serialized CompileOptionsProto. INVALID_ARGUMENT: it is none.
[[nodiscard]] Result<CompileOptions> read_options(std::string_view bytes);
/// A serialized DeviceAssignmentProto.
[[nodiscard]] std::string assignment_of(const CompileOptions& options);

/// Never changes once it is compiled; any thread.
struct Program : std::enable_shared_from_this<Program> {
  std::string name, fingerprint, code;  ///< code: as it came in
  std::string chip;                     ///< the preset that it is compiled for
  CompileOptions options;
  tools::ModelProgram model;           ///< of whole arrays
  compiler::stablehlo::Layout layout;  ///< of several devices; of one, empty
  /// Inputs that a launch takes from its caller, and the outputs, of as many bytes, that get their places.
  std::vector<compiler::stablehlo::Donation> donations;

  [[nodiscard]] size_t devices() const { return static_cast<size_t>(options.partitions); }
  /// Of what one device has.
  [[nodiscard]] compiler::ir::TensorType input_type(size_t i) const;
  [[nodiscard]] compiler::ir::TensorType output_type(size_t i) const;
};

/// What a program is made of. Products inside loops and branches are counted once.
struct Cost {
  uint64_t macs = 0, device_macs = 0;          ///< multiply-adds of products and convolutions
  uint64_t elements = 0, device_elements = 0;  ///< results of elementwise operators
  uint64_t device_programs = 0, islands = 0;
};
[[nodiscard]] Cost cost_of(const Program& program);

/// How an array lies on several devices, as XLA writes it: a serialized OpSharding.
[[nodiscard]] std::string sharding_text(const compiler::ir::Tiling& tiling);

/// A portable artifact, for the chips of its options; `known`: its parts, compiled before. Errors of import_program and
/// of the passes.
[[nodiscard]] Result<std::shared_ptr<const Program>> compile_program(std::string code, CompileOptions options,
                                                                     const spec::Chip& chip,
                                                                     tools::CompiledParts* known = nullptr);

/// The outputs on these inputs, whole arrays of the program's types. Errors of the device and of the reference. `noted`:
/// null, or where to tell what was launched.
[[nodiscard]] Result<std::vector<compiler::ir::TensorPtr>> run_program(
    const Program& program, const std::vector<compiler::ir::TensorPtr>& inputs, runtime::Session& session,
    tools::LaunchRecord::Call* noted);

}  // namespace weft::pjrt
