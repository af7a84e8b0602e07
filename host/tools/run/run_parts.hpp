/// Runs a model whose parts are shared between device and host.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/compiler/ir/tensor.hpp"
#include "host/reference/comparison.hpp"
#include "host/runtime/session.hpp"
#include "host/tools/run/model_program.hpp"

namespace weft::tools {

/// A launch of a device program, in device cycles.
struct LaunchWindow {
  size_t part = 0;
  uint64_t begin = 0, end = 0;
  size_t device = 0;  ///< of a slice
};

struct PartsResult {
  std::vector<compiler::ir::TensorPtr> outputs;  ///< in the model's order
  uint64_t device_cycles = 0;                    ///< of all launches, one behind the other
  std::vector<LaunchWindow> launches;
  double device_seconds = 0, host_seconds = 0;  ///< of wall clock
  uint64_t macs = 0;                            ///< of the device
  Comparison comparison;                        ///< of device programs with the golden model, if asked for
};

enum class Verify : uint8_t { kNo, kYes };

/// Launches the sequences of a model, each when all devices have come to it.
class SequenceLauncher {
 public:
  virtual ~SequenceLauncher() = default;
  /// In a device's thread: its input, and its result when the launch has ended. Errors of the device, and of another one
  /// that does not come.
  [[nodiscard]] virtual Result<std::vector<std::byte>> launch(const SequenceProgram& sequence,
                                                              std::vector<std::byte> input, LaunchWindow& window) = 0;
};

/// Part after part on these inputs, in the model's order. `session` is there if a part has a device program, and
/// `launcher` if there are sequences. Errors of the device, of the reference (too much work or memory).
[[nodiscard]] Result<PartsResult> run_parts(const ModelProgram& model,
                                            const std::vector<compiler::ir::TensorPtr>& inputs,
                                            runtime::Session* session, Verify verify,
                                            SequenceLauncher* launcher = nullptr);

/// Operators of a part by name, constants aside.
[[nodiscard]] std::map<std::string, uint64_t> kinds_of(const ModelProgram& model, const compiler::Part& part);
/// Why the host computes operators of a part, and how many of them.
[[nodiscard]] std::map<std::string, uint64_t> reasons_of(const ModelProgram& model, const compiler::Part& part);

/// What runs where and why: a line for each part and each reason; for a program the same as a JSON text.
[[nodiscard]] std::string parts_text(const ModelProgram& model);
[[nodiscard]] std::string parts_json(const ModelProgram& model, const PartsResult* result);

}  // namespace weft::tools
