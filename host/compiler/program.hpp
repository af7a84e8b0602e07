/// What is compiled: the steps of a program, each in its place (tiles/resident_program.hpp makes a kernel of it).
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"
#include "host/compiler/result.hpp"
#include "host/compiler/step.hpp"
#include "weft/spec/commands.hpp"

namespace weft::compiler {

/// One of the steps. Copied, moved and destroyed out of line: what does so by the kinds of step is compiled once.
struct Step : std::variant<DenseStep, VectorStep, RearrangeStep, ReduceStep, PairProductStep, ConvolutionStep,
                           WindowStep, CollectiveStep, RowsStep> {
  using variant::variant;
  using variant::operator=;
  Step(const Step&);
  Step(Step&&) noexcept;
  Step& operator=(const Step&);
  Step& operator=(Step&&) noexcept;
  ~Step();
};

/// Bytes of an argument.
struct ArgumentPlace {
  size_t argument = 0;
  uint64_t offset_bytes = 0, size_bytes = 0;
};

/// What steps of one name stem from; for messages.
struct ModelNode {
  std::string name;                ///< whole; of several nodes their beginning and ".."
  std::set<std::string> op_types;  ///< their operators, as the model calls them: "Conv"; empty: not known
};

/// A program before scheduling: steps in order, each reading what earlier ones or the caller wrote.
struct Program {
  std::string name;
  std::vector<Argument> arguments;
  std::vector<Step> steps;
  std::vector<std::byte> constants;  ///< segment 1
  uint64_t scratch_bytes = 0;        ///< segment 2
  /// Where the inputs of the graph lie, and then its outputs.
  std::vector<ArgumentPlace> places = {};
  /// What the chips that send each other data begin with; without header. None: the chip works alone.
  std::optional<spec::BarrierCommand> barrier;
  /// What comes from them lands in memory, not in VMEM.
  bool lands_in_memory = false;
  uint64_t link_bytes_per_second = 0;  ///< of those chips; 0: not known
  /// Below 48, that a program which stays in VMEM does not use.
  unsigned semaphores_left = 0;
  std::map<std::string, ModelNode> nodes = {};  ///< by the name of a step
};

/// The program of one product C = A B with all three as arguments, named A, B, C: bf16 x bf16 -> f32 or int8 x int8 ->
/// i32. A: rows; B: weight_tiles; C: rows. INVALID_ARGUMENT if a dimension is 0 or a buffer exceeds 2^40 bytes.
[[nodiscard]] Result<Program> gemm_program(const spec::Chip& chip, weft_mxu_dtype dtype, uint64_t m, uint64_t k,
                                           uint64_t n);

}  // namespace weft::compiler
