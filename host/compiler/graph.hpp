/// A network as the compiler sees it: matrices, and the few operations that they go through.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/compiler/result.hpp"
#include "weft/spec/spec.h"

namespace weft::compiler {

/// A value of the graph. Every tensor is a matrix: the first dimension is the rows, the others together are the
/// columns; a vector is one row.
struct Tensor {
  std::string name;
  std::vector<int64_t> dims;  ///< as the model has them; the batch is filled in
  uint64_t rows = 0, columns = 0;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_BF16;  ///< bf16 or f32: how it lies unless it is an output
};

/// y = activation(x W + bias); W is k x n, row-major, fp32 (alpha folded in); bias has n elements (beta folded in).
struct DenseNode {
  std::string name;
  size_t x = 0, y = 0;  ///< indices into Graph::tensors
  uint64_t k = 0, n = 0;
  std::vector<float> weights;
  std::optional<std::vector<float>> bias;
  bool relu = false;
};

/// y = a op b, where b is a tensor of a's type, a constant row, a constant, or nothing if the operation is a function
/// of one operand. Computed in f32; a result in a's type, then in y's.
struct VectorNode {
  std::string name;
  weft_vpu_op op = WEFT_VPU_OP_ADD;
  size_t a = 0, y = 0;
  std::variant<size_t, std::vector<float>, float, std::monostate> b;
  float c = 0;  ///< of fma, axpy and select
};

/// y = a, where y is an output of the network, or bf16 and a is f32. It alone may read an output.
struct CopyNode {
  std::string name;
  size_t a = 0, y = 0;
};

using Node = std::variant<DenseNode, VectorNode, CopyNode>;

/// Nodes in an order in which every input is computed before it is read. An output lies as f32 in memory of the
/// caller, any other result in its type in scratch: so no node but a copy reads an output, and a tensor is one output
/// once. Products read bf16.
struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  std::vector<size_t> inputs, outputs;  ///< indices into tensors
};

/// Rows and columns of a tensor with these dimensions, all of which are positive.
struct MatrixShape {
  uint64_t rows = 1, columns = 1;
  bool operator==(const MatrixShape&) const = default;
};
[[nodiscard]] MatrixShape matrix_shape(const std::vector<int64_t>& dims);

/// INTERNAL: the graph breaks a rule above, or its sizes do not fit each other. The message names node and tensor.
[[nodiscard]] Status check_graph(const Graph& graph);

}  // namespace weft::compiler
