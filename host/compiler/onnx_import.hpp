/// Reads an ONNX model into a Graph.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "host/compiler/graph.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler {

/// What stands for the symbolic first dimension of a model's inputs.
class BatchSizes {
 public:
  /// The same for every input; 0: a symbolic dimension is an error.
  BatchSizes(uint64_t every) : every_(every) {}  // NOLINT: a number is the batch
  /// By input; `every` for one that is not there.
  BatchSizes(std::map<std::string, uint64_t> inputs, uint64_t every) : every_(every), inputs_(std::move(inputs)) {}

  [[nodiscard]] uint64_t of(const std::string& input) const {
    const auto found = inputs_.find(input);
    return found == inputs_.end() ? every_ : found->second;
  }

 private:
  uint64_t every_;
  std::map<std::string, uint64_t> inputs_;
};

/// Opsets 7 to 28 and the operators Gemm (alpha, beta, transB folded into constants), MatMul, Add, Relu, Flatten,
/// Reshape, Identity, Constant, Cast to float. What it takes it takes as ONNX defines it: a model that ONNX does not
/// allow is refused, and so is what the matrices of a Graph cannot hold, such as a broadcast that makes a tensor
/// larger. INVALID_ARGUMENT: not an ONNX model, or one that breaks ONNX's rules (versions, names, order of nodes,
/// inputs, attributes, types, shapes). UNSUPPORTED: an operator, attribute, type or shape that is not built. The
/// message names node and operator, or the tensor, and what is supported. The graph keeps the rules of check_graph().
[[nodiscard]] Result<Graph> import_onnx(std::span<const std::byte> file, const BatchSizes& batch);

}  // namespace weft::compiler
