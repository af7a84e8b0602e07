/// The layers of a model that is cut into device programs and islands: which operators each one is made of, and what
/// it needs at least, whatever the commands of its program.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/compiler/ir/module.hpp"
#include "host/compiler/partition/partition.hpp"
#include "weft/spec/chips.hpp"

namespace weft::tools {

/// What the operators of a layer need of the chip, unpadded: of L1, not of commands.
struct LayerWork {
  uint64_t macs = 0;
  uint64_t hbm_bytes = 0;        ///< constants, inputs of the device program that nothing before has read, its outputs
  uint64_t vector_elements = 0;  ///< elements times passes of the vector unit (vector_passes())
  uint64_t int8_macs = 0;        ///< those of the MACs that the MXU has at twice the rate

  LayerWork& operator+=(const LayerWork& other);
};

/// Operators of a device program that bear the name of one ONNX node, and those that join them.
struct Layer {
  std::string name;
  std::vector<uint32_t> ops;                    ///< of the module, constants aside; empty: it only moves values
  std::vector<compiler::ir::ValueId> operands;  ///< computed outside of the layer, each once
  LayerWork work;
};

/// The layers of a device program, in the order of its nodes. `part` has a graph.
[[nodiscard]] std::vector<Layer> layers_of(const compiler::ir::Module& module, const compiler::Part& part);

/// By value that a layer computes: the layer's index in layers_of(). Views are not there.
[[nodiscard]] std::map<compiler::ir::ValueId, size_t> producers_of(const compiler::ir::Module& module,
                                                                   const compiler::Part& part);

/// Passes over its result (reductions: its operand) that the vector unit makes for an operator at least. A sum with a
/// constant, and a relu behind it, that alone read a product are free: they belong to the product's pass out of ACC. So
/// is arithmetic with one number, which can join its neighbours.
[[nodiscard]] uint64_t vector_passes(compiler::ir::OpKind kind);

/// Operators as a person reads them: "dot_general, add (bias), 2 multiply"; the node's name behind those of another
/// node than the layer's.
[[nodiscard]] std::string operators_text(const compiler::ir::Module& module, const Layer& layer);

/// Multiply-accumulates of an operator: of dot_general and convolution, else 0.
[[nodiscard]] uint64_t macs_of(const compiler::ir::Module& module, const compiler::ir::Op& op);

/// Cycles that a chip needs for the work if one engine alone works, and which of the engines needs most: no program is
/// faster.
struct WorkBound {
  double mxu = 0, vpu = 0, hbm = 0;  ///< cycles
  [[nodiscard]] double cycles() const;
  [[nodiscard]] const char* engine() const;  ///< "MXU", "VPU", "HBM"; "-": no work
};
[[nodiscard]] WorkBound bound_of(const spec::Chip& chip, const LayerWork& work);

}  // namespace weft::tools
