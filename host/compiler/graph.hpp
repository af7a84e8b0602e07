/// A network as the compiler sees it: matrices, and the few operations that they go through.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/compiler/exchange.hpp"
#include "host/compiler/result.hpp"
#include "host/compiler/to_bytes.hpp"
#include "host/compiler/windows.hpp"
#include "weft/spec/spec.h"

namespace weft::compiler {

/// A value of the graph. Every tensor is a matrix: its elements in the model's order, row by row; rows of as many columns
/// as the operators that read it ask for.
struct Tensor {
  std::string name;
  std::vector<int64_t> dims;  ///< as the model has them; the batch is filled in
  uint64_t rows = 0, columns = 0;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_BF16;  ///< bf16, f32, i32 or i8: how it lies; a bf16 output lies as f32
  bool uniform = false;                        ///< all columns of a row are equal
};

/// y = activation(x W + bias); W is k x n, row-major, fp32 (alpha folded in); bias has n elements (beta folded in).
/// If x is i8, W has whole numbers from -128 to 127, sums are i32 and wrap, and so does the integer bias.
struct DenseNode {
  std::string name;
  size_t x = 0, y = 0;  ///< indices into Graph::tensors
  uint64_t k = 0, n = 0;
  std::vector<float> weights;
  std::optional<std::vector<float>> bias;
  bool relu = false;
  bool of_model = true;                    ///< false: its MACs are not the model's
  std::vector<int32_t> integer_bias = {};  ///< of i8 only; none, or n elements
};

/// y = a op b, where b is a tensor of a's type, a constant row, a constant, or nothing if the operation is a function
/// of one operand. Computed in f32; a result in a's type, then in y's. i32 is computed in i32, which wraps; then y is
/// i32, and a constant b is an integer.
struct VectorNode {
  std::string name;
  weft_vpu_op op = WEFT_VPU_OP_ADD;
  size_t a = 0, y = 0;
  std::variant<size_t, std::vector<float>, float, int32_t, std::monostate> b;
  float c = 0;  ///< of fma, axpy and select
};

/// y = a, where y is an output of the network, or y has another type: f32 becomes bf16, i32 or i8 (nearest even; integers
/// saturate, NaN is 0), i32 becomes f32, or i8 by way of f32. It alone may read an output. With `bits` f32 becomes i32, or i32 f32, bit by
/// bit.
struct CopyNode {
  std::string name;
  size_t a = 0, y = 0;
  bool bits = false;
  ToBytes bytes = {};  ///< to i8
};

/// y = elements of the sources: element i of y is element `from[i]` of all sources one behind the other, everything row
/// by row. All sources are f32, or all and y are bf16, or all and y are i32.
struct RearrangeNode {
  std::string name;
  std::vector<size_t> sources;
  size_t y = 0;
  std::shared_ptr<const std::vector<uint32_t>> from;
};

/// Each element of row r of y is the sum, the largest or the smallest of row r of a, in f32 or i32, as a tree of
/// neighbours. y is uniform and has a's shape and type.
struct ReduceNode {
  std::string name;
  weft_vpu_op op = WEFT_VPU_OP_SUM;  ///< sum, rmax or rmin
  size_t a = 0, y = 0;
};

/// y = x w, `batch` times: x is batch m x k, bf16; w is batch k x n, bf16, or f32 that is rounded to it; y is batch m x n.
struct PairProductNode {
  std::string name;
  size_t x = 0, w = 0, y = 0;
  uint64_t batch = 1;
};

/// y = values, in y's type; of an i32 tensor, integers.
struct ConstantNode {
  std::string name;
  size_t y = 0;
  std::vector<float> values;
  std::vector<int32_t> integers = {};
};

/// y = activation(the sum of what lies under a window by W, + bias): sums of products as in a DenseNode of k = taps times
/// channels, padding is zero. A row of y is a place, its columns are the output channels. With `spread` a place gives
/// spread[0] x spread[1] results, each by weights of its own, at (spread x place + residue): a transposed convolution.
struct ConvolutionNode {
  enum class Order : uint8_t {
    kPixels,  ///< a row of a source is a pixel; k counts (tap line, tap column, channel), source by source
    kLines    ///< a row of the only source is a line of a channel of an image; k counts (tap line, channel, tap column)
  };
  std::string name;
  Windows windows;
  Order order = Order::kPixels;
  std::vector<size_t> sources;  ///< bf16 or f32, rounded to bf16; of pixels, channels one behind the other
  size_t y = 0;
  uint64_t k = 0, n = 0;
  std::array<uint64_t, 2> spread{1, 1};  ///< of pixels only
  std::vector<float> weights;            ///< k x n, for each residue
  std::optional<std::vector<float>> bias;
  bool relu = false;
  /// Sources are f32 or i32 and become i8, and all else is as in a DenseNode of i8; what lies beside the images is
  /// `padding`. Of pixels only, without spread.
  bool int8 = false;
  int8_t padding = 0;
  ToBytes bytes = {};  ///< of the sources of int8
  std::vector<int32_t> integer_bias = {};
};

/// y = what the elements under a window come to, one operation for each tap in the order of lines and columns, in f32;
/// with weights each element is multiplied by its column's weight of the tap first. Rows of x are pixels, of y places.
struct WindowNode {
  std::string name;
  Windows windows;
  weft_vpu_op op = WEFT_VPU_OP_ADD;  ///< add, mul, min or max
  float padding = 0;
  size_t x = 0, y = 0;
  std::vector<float> weights;  ///< taps x columns; none: no multiplication
};

/// y of the x that each chip of a group has, matrices of one shape. Sums are f32.
struct CollectiveNode {
  std::string name;
  Exchange what = Exchange::kSideBySide;
  size_t x = 0, y = 0;
  ChipGroup group;
};

/// Row i of y is row indices[i] of the table, to the last bit. The table is an input or a constant, f32 or i32; the indices
/// are one row of i32, each of them a row of the table.
struct RowsNode {
  std::string name;
  size_t table = 0, indices = 0, y = 0;
};

/// One of the nodes. Copied, moved and destroyed out of line: what does so by the kinds of node is compiled once.
struct Node : std::variant<DenseNode, VectorNode, CopyNode, RearrangeNode, ReduceNode, PairProductNode, ConstantNode,
                           ConvolutionNode, WindowNode, CollectiveNode, RowsNode> {
  using variant::variant;
  using variant::operator=;
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;
  ~Node();
};

/// The tensors that a node reads, and the one that it writes.
[[nodiscard]] std::vector<size_t> operands_of(const Node& node);
[[nodiscard]] size_t result_of(const Node& node);

/// Nodes in an order in which every input is computed before it is read. An output lies as f32 or i32 in memory of the
/// caller, any other result in its type in scratch: so no node but a copy reads an output, and a tensor is one output
/// once. Products of matrices read bf16 or i8. Only copies write i8, and only products read it.
struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  std::vector<size_t> inputs, outputs;  ///< indices into tensors
  /// Operators of the model by the names of its nodes, which the nodes here are named after; for messages.
  std::map<std::string, std::string> op_types = {};
};

/// Rows and columns of a tensor with these dimensions, all of which are positive, if no operator asks for others: the
/// first dimension is the rows, the others together are the columns; a vector is one row.
struct MatrixShape {
  uint64_t rows = 1, columns = 1;
  bool operator==(const MatrixShape&) const = default;
};
[[nodiscard]] MatrixShape matrix_shape(const std::vector<int64_t>& dims);

/// INTERNAL: the graph breaks a rule above, or its sizes do not fit each other. The message names node and tensor.
[[nodiscard]] Status check_graph(const Graph& graph);

}  // namespace weft::compiler
