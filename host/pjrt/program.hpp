/// A compiled program: L1, cut into device programs and islands. One of several devices is localised: each device runs
/// the same program on its parts, and they meet at collectives. What cannot be localised runs whole on the first of them,
/// on its arguments gathered.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/compiler/ir/tensor.hpp"
#include "host/compiler/localise/localise.hpp"
#include "host/compiler/result.hpp"
#include "host/compiler/stablehlo/importer.hpp"
#include "host/pjrt/callbacks.hpp"
#include "host/runtime/session.hpp"
#include "host/tools/run/model_program.hpp"
#include "host/tools/run/run_parts.hpp"

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
  std::string slice;  ///< whose shape its launches of all devices are compiled for; empty: it has none
  CompileOptions options;
  tools::ModelProgram model;  ///< of each device's parts; gathered: of whole arrays
  std::string gathered;       ///< why the program of several devices is not localised; empty: it is
  /// What each device's program takes behind the program's inputs; of constants, the tiles by device.
  std::vector<compiler::localise::Extra> extras;
  std::vector<std::vector<compiler::ir::TensorPtr>> constants;
  std::map<std::string, uint64_t> replicated;  ///< operators that each device computes whole
  compiler::stablehlo::Layout layout;          ///< of several devices; of one, empty
  /// Inputs that a launch takes from its caller, and the outputs, of as many bytes, that get their places.
  std::vector<compiler::stablehlo::Donation> donations;
  std::vector<HeldCallback> callbacks;  ///< functions of the framework's program that it calls

  [[nodiscard]] size_t inputs() const { return model.module.inputs.size() - extras.size(); }
  [[nodiscard]] size_t devices() const { return static_cast<size_t>(options.partitions); }
  /// Of what one device has.
  [[nodiscard]] compiler::ir::TensorType input_type(size_t i) const;
  [[nodiscard]] compiler::ir::TensorType output_type(size_t i) const;
};

/// What a program is made of. Products inside loops and branches are counted once.
struct Cost {
  uint64_t macs = 0, device_macs = 0;          ///< multiply-adds of products and convolutions
  uint64_t elements = 0, device_elements = 0;  ///< results of elementwise operators
  uint64_t device_programs = 0, islands = 0;   ///< of each device; gathered: of the first one
  uint64_t collectives = 0, replicated = 0;    ///< operators; replicated: computed whole by each device
};
[[nodiscard]] Cost cost_of(const Program& program);

/// Axes of a slice, those that close to a ring with a star.
[[nodiscard]] std::string shape_text(const compiler::SliceShape& shape);

/// Of the program that each device has.
[[nodiscard]] uint64_t code_bytes(const Program& program);

/// How an array lies on several devices, as XLA writes it: a serialized OpSharding.
[[nodiscard]] std::string sharding_text(const compiler::ir::Tiling& tiling);

/// A portable artifact, for the chips of its options; `known`: its parts, compiled before; `slice`: that the devices are
/// chips of, by number. Errors of import_program and of the passes.
[[nodiscard]] Result<std::shared_ptr<const Program>> compile_program(std::string code, CompileOptions options,
                                                                     const spec::Chip& chip,
                                                                     tools::CompiledParts* known = nullptr,
                                                                     const compiler::SliceShape* slice = nullptr);

/// The outputs on these inputs: whole arrays, or those of one device, of which `inputs` grows by what its program takes
/// beside. Errors of the device and of the reference.
[[nodiscard]] Result<tools::PartsResult> run_program(const Program& program,
                                                     std::vector<compiler::ir::TensorPtr> inputs, size_t device,
                                                     runtime::Session& session,
                                                     tools::SequenceLauncher* launcher = nullptr);

}  // namespace weft::pjrt
