// The rules of a graph, which every importer keeps and lowering relies on.
#include "host/compiler/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/spec/names.hpp"

namespace weft::compiler {
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::~Node() = default;

namespace {

class GraphCheck {
 public:
  explicit GraphCheck(const Graph& graph)
      : graph_(graph), computed_(graph.tensors.size()), output_(graph.tensors.size()) {}

  Status run() {
    for (const Tensor& tensor : graph_.tensors)
      if (tensor.dtype != WEFT_VPU_DTYPE_BF16 && tensor.dtype != WEFT_VPU_DTYPE_F32 &&
          tensor.dtype != WEFT_VPU_DTYPE_I32 && tensor.dtype != WEFT_VPU_DTYPE_I8)
        return broken(fmt::format("tensor '{}' is none of bf16, f32, i32 and i8", tensor.name));
    for (const Tensor& tensor : graph_.tensors)
      if (const auto shape = matrix_shape(tensor.dims);
          shape.rows * shape.columns != tensor.rows * tensor.columns || tensor.rows * tensor.columns == 0)
        return broken(fmt::format("tensor '{}' has {} x {} elements and other dimensions", tensor.name, tensor.rows,
                                  tensor.columns));
    for (const auto* arguments : {&graph_.inputs, &graph_.outputs})
      for (const size_t t : *arguments)
        if (t < graph_.tensors.size() && graph_.tensors[t].dtype == WEFT_VPU_DTYPE_I8)
          return broken(fmt::format("argument '{}' is i8", graph_.tensors[t].name));
    for (const size_t t : graph_.outputs) {
      if (t >= graph_.tensors.size()) return broken("an output is no tensor");
      if (output_[t]) return broken(fmt::format("tensor '{}' is two outputs", graph_.tensors[t].name));
      output_[t] = true;
    }
    for (const size_t t : graph_.inputs) {
      if (t >= graph_.tensors.size()) return broken("an input is no tensor");
      if (auto status = write("the network's inputs", t); !status.ok()) return status;
      if (output_[t]) return broken(fmt::format("input '{}' is an output", graph_.tensors[t].name));
    }
    for (const Node& node : graph_.nodes)
      if (auto status = std::visit([this](const auto& n) { return check(n); }, node); !status.ok()) return status;
    for (const size_t t : graph_.outputs)
      if (!computed_[t]) return broken(fmt::format("nothing computes output '{}'", graph_.tensors[t].name));
    return Ok{};
  }

 private:
  enum class Reads { kNoOutput, kAny };

  static bool is_function(weft_vpu_op op) { return op >= WEFT_VPU_OP_EXP2 && op <= WEFT_VPU_OP_ERF; }
  /// How the tensor lies.
  [[nodiscard]] weft_vpu_dtype dtype_of(size_t t) const {
    const auto dtype = graph_.tensors[t].dtype;
    return output_[t] && dtype == WEFT_VPU_DTYPE_BF16 ? WEFT_VPU_DTYPE_F32 : dtype;
  }
  [[nodiscard]] bool is_i8(size_t t) const { return graph_.tensors[t].dtype == WEFT_VPU_DTYPE_I8; }
  [[nodiscard]] bool is_i32(size_t t) const { return graph_.tensors[t].dtype == WEFT_VPU_DTYPE_I32; }

  Error broken(const std::string& text) const {
    return {WEFT_ERROR_INTERNAL, fmt::format("graph '{}': {}", graph_.name, text)};
  }

  Status read(const std::string& node, size_t t, Reads reads = Reads::kNoOutput) const {
    if (t >= graph_.tensors.size()) return broken(fmt::format("{} reads no tensor", node));
    const auto& name = graph_.tensors[t].name;
    if (!computed_[t]) return broken(fmt::format("{} reads '{}', which nothing has computed", node, name));
    if (output_[t] && reads == Reads::kNoOutput)
      return broken(fmt::format("{} reads output '{}', which lies as f32", node, name));
    return Ok{};
  }
  Status write(const std::string& node, size_t t) {
    if (t >= graph_.tensors.size()) return broken(fmt::format("{} writes no tensor", node));
    if (computed_[t]) return broken(fmt::format("{} writes '{}' again", node, graph_.tensors[t].name));
    computed_[t] = true;
    return Ok{};
  }
  [[nodiscard]] MatrixShape shape(size_t t) const { return {graph_.tensors[t].rows, graph_.tensors[t].columns}; }

  Status check(const DenseNode& node) {
    if (auto status = read(node.name, node.x); !status.ok()) return status;
    const bool int8 = graph_.tensors[node.x].dtype == WEFT_VPU_DTYPE_I8;
    if (graph_.tensors[node.x].dtype != WEFT_VPU_DTYPE_BF16 && !int8)
      return broken(
          fmt::format("product {} reads '{}', which is neither bf16 nor i8", node.name, graph_.tensors[node.x].name));
    if (auto status = check_types(node, int8); !status.ok()) return status;
    if (auto status = write(node.name, node.y); !status.ok()) return status;
    if (shape(node.x).columns != node.k || shape(node.y) != MatrixShape{shape(node.x).rows, node.n} ||
        node.weights.size() != node.k * node.n || (node.bias && node.bias->size() != node.n))
      return broken(fmt::format("the sizes of product {} do not fit", node.name));
    return Ok{};
  }
  /// Of a product of integers, or of other numbers.
  template <typename Product>
  Status check_types(const Product& node, bool int8) const {
    if (node.y >= graph_.tensors.size()) return Ok{};  // below
    const bool whole =
        std::ranges::all_of(node.weights, [](float w) { return w >= -128 && w <= 127 && w == std::trunc(w); });
    if (int8 ? !is_i32(node.y) || node.bias || !whole ||
                   (!node.integer_bias.empty() && node.integer_bias.size() != node.n)
             : is_i32(node.y) || !node.integer_bias.empty())
      return broken(fmt::format("the types of product {} do not fit", node.name));
    return Ok{};
  }
  Status check(const VectorNode& node) {
    if (auto status = read(node.name, node.a); !status.ok()) return status;
    if (is_i8(node.a)) return broken(fmt::format("operation {} reads i8", node.name));
    const auto* b = std::get_if<size_t>(&node.b);
    if (b != nullptr)
      if (auto status = read(node.name, *b); !status.ok()) return status;
    if (b != nullptr && graph_.tensors[*b].dtype != graph_.tensors[node.a].dtype)
      return broken(fmt::format("operation {} reads two types", node.name));
    if (std::holds_alternative<std::monostate>(node.b) != is_function(node.op))
      return broken(fmt::format("operation {} has one operand too few or too many", node.name));
    if (auto status = write(node.name, node.y); !status.ok()) return status;
    const auto* row = std::get_if<std::vector<float>>(&node.b);
    const bool floats = row != nullptr || std::holds_alternative<float>(node.b) || is_function(node.op),
               integer = std::holds_alternative<int32_t>(node.b);
    if (is_i32(node.a) != is_i32(node.y) || (is_i32(node.a) ? floats : integer))
      return broken(fmt::format("operation {} mixes i32 with another type", node.name));
    if (shape(node.y) != shape(node.a) || (b != nullptr && shape(*b) != shape(node.a)) ||
        (row != nullptr && row->size() != shape(node.a).columns))
      return broken(fmt::format("the sizes of operation {} do not fit", node.name));
    const bool uniform =
        graph_.tensors[node.a].uniform && row == nullptr && (b == nullptr || graph_.tensors[*b].uniform);
    if (graph_.tensors[node.y].uniform && !uniform)
      return broken(fmt::format("the columns of operation {} are not equal", node.name));
    return Ok{};
  }
  Status check(const RearrangeNode& node) {
    uint64_t elements = 0;
    for (const size_t t : node.sources) {
      if (auto status = read(node.name, t); !status.ok()) return status;
      elements += shape(t).rows * shape(t).columns;
    }
    if (auto status = write(node.name, node.y); !status.ok()) return status;
    const bool rounded = !node.sources.empty() && dtype_of(node.y) == WEFT_VPU_DTYPE_BF16 &&
                         graph_.tensors[node.sources[0]].dtype == WEFT_VPU_DTYPE_BF16;
    const auto moved = is_i32(node.y) ? WEFT_VPU_DTYPE_I32 : rounded ? WEFT_VPU_DTYPE_BF16 : WEFT_VPU_DTYPE_F32;
    for (const size_t t : node.sources)
      if (graph_.tensors[t].dtype != moved)
        return broken(fmt::format("{} moves '{}', which is not {}", node.name, graph_.tensors[t].name,
                                  spec::vpu_dtype_name(moved)));
    if (!node.from || node.from->size() != shape(node.y).rows * shape(node.y).columns ||
        std::ranges::any_of(*node.from, [&](uint32_t i) { return i >= elements; }))
      return broken(fmt::format("the sizes of movement {} do not fit", node.name));
    return Ok{};
  }
  Status check(const ReduceNode& node) {
    if (auto status = read(node.name, node.a); !status.ok()) return status;
    if (auto status = write(node.name, node.y); !status.ok()) return status;
    if (graph_.tensors[node.a].dtype == WEFT_VPU_DTYPE_BF16 ||
        graph_.tensors[node.y].dtype != graph_.tensors[node.a].dtype || shape(node.y) != shape(node.a) ||
        !graph_.tensors[node.y].uniform || output_[node.y] ||
        (node.op != WEFT_VPU_OP_SUM && node.op != WEFT_VPU_OP_RMAX && node.op != WEFT_VPU_OP_RMIN))
      return broken(fmt::format("the types or sizes of reduction {} do not fit", node.name));
    return Ok{};
  }
  Status check(const PairProductNode& node) {
    for (const size_t t : {node.x, node.w})
      if (auto status = read(node.name, t); !status.ok()) return status;
    if (auto status = write(node.name, node.y); !status.ok()) return status;
    const auto x = shape(node.x), w = shape(node.w), y = shape(node.y);
    if (graph_.tensors[node.x].dtype != WEFT_VPU_DTYPE_BF16 || is_i32(node.w) || is_i8(node.w))
      return broken(fmt::format("product {} reads bf16 by bf16 or f32", node.name));
    if (node.batch == 0 || x.rows % node.batch != 0 || w.rows != node.batch * x.columns || y.rows != x.rows ||
        y.columns != w.columns)
      return broken(fmt::format("the sizes of product {} do not fit", node.name));
    return Ok{};
  }
  Status check(const ConvolutionNode& node) {
    const Windows& w = node.windows;
    const bool lines = node.order == ConvolutionNode::Order::kLines;
    uint64_t channels = 0;
    const uint64_t residues = node.spread[0] * node.spread[1];
    bool fit = !lines || residues == 1;
    fit = fit && (!node.int8 || (!lines && residues == 1));
    fit = fit && (!lines || (node.sources.size() == 1 && w.dilation[0] == 1 && w.low[0] >= 0 && w.low[1] >= 0));
    for (const size_t t : node.sources) {
      if (auto status = read(node.name, t); !status.ok()) return status;
      const auto [rows, columns] = shape(t);
      fit = fit && !is_i8(t) && (node.int8 ? graph_.tensors[t].dtype != WEFT_VPU_DTYPE_BF16 : !is_i32(t));
      fit = fit && (lines ? columns == w.size[1] && rows % (w.images * w.size[0]) == 0 : rows == w.pixels());
      channels += lines ? rows / (w.images * w.size[0]) : columns;
    }
    if (auto status = write(node.name, node.y); !status.ok()) return status;
    if (auto status = check_types(node, node.int8); !status.ok()) return status;
    if (!fit || node.k != w.tap_count() * channels || node.k == 0 ||
        shape(node.y) != MatrixShape{w.results() * residues, node.n} ||
        node.weights.size() != residues * node.k * node.n || (node.bias && node.bias->size() != node.n))
      return broken(fmt::format("the sizes of convolution {} do not fit", node.name));
    return Ok{};
  }
  Status check(const WindowNode& node) {
    if (auto status = read(node.name, node.x); !status.ok()) return status;
    if (auto status = write(node.name, node.y); !status.ok()) return status;
    const uint64_t columns = shape(node.x).columns;
    const bool known = node.op == WEFT_VPU_OP_ADD || node.op == WEFT_VPU_OP_MUL || node.op == WEFT_VPU_OP_MIN ||
                       node.op == WEFT_VPU_OP_MAX;
    if (!known || graph_.tensors[node.x].dtype != WEFT_VPU_DTYPE_F32 || shape(node.x).rows != node.windows.pixels() ||
        shape(node.y) != MatrixShape{node.windows.results(), columns} ||
        (!node.weights.empty() && node.weights.size() != node.windows.tap_count() * columns))
      return broken(fmt::format("the types or sizes of windows {} do not fit", node.name));
    return Ok{};
  }
  Status check(const CollectiveNode& node) {
    if (auto status = read(node.name, node.x); !status.ok()) return status;
    if (auto status = write(node.name, node.y); !status.ok()) return status;
    const auto x = shape(node.x), y = shape(node.y);
    const uint64_t ranks = node.group.ranks();
    const bool side_by_side = node.what == Exchange::kSideBySide;
    const bool types = dtype_of(node.x) == dtype_of(node.y) && !is_i8(node.x) && !is_i32(node.x) &&
                       (side_by_side || dtype_of(node.x) == WEFT_VPU_DTYPE_F32);
    if (!types || ranks < 2 || node.group.rank >= ranks || node.group.semaphores.size() != ranks || x.rows != y.rows ||
        y.columns * (node.what == Exchange::kOwnSums ? ranks : 1) != x.columns * (side_by_side ? ranks : 1))
      return broken(fmt::format("the types or sizes of collective {} do not fit", node.name));
    return Ok{};
  }
  Status check(const RowsNode& node) {
    for (const size_t t : {node.table, node.indices})
      if (auto status = read(node.name, t); !status.ok()) return status;
    if (auto status = write(node.name, node.y); !status.ok()) return status;
    const bool constant = std::ranges::any_of(graph_.nodes, [&](const Node& other) {
      const auto* made = std::get_if<ConstantNode>(&other);
      return made != nullptr && made->y == node.table;
    });
    if (!constant && std::ranges::find(graph_.inputs, node.table) == graph_.inputs.end())
      return broken(
          fmt::format("{} takes rows of '{}', which is computed", node.name, graph_.tensors[node.table].name));
    const auto dtype = graph_.tensors[node.table].dtype;
    if (dtype == WEFT_VPU_DTYPE_BF16 || graph_.tensors[node.y].dtype != dtype || !is_i32(node.indices) ||
        shape(node.indices).rows != 1 ||
        shape(node.y) != MatrixShape{shape(node.indices).columns, shape(node.table).columns})
      return broken(fmt::format("the types or sizes of rows {} do not fit", node.name));
    return Ok{};
  }
  Status check(const ConstantNode& node) {
    if (auto status = write(node.name, node.y); !status.ok()) return status;
    const uint64_t count = shape(node.y).rows * shape(node.y).columns;
    if (node.values.size() != (is_i32(node.y) ? 0 : count) || node.integers.size() != (is_i32(node.y) ? count : 0) ||
        output_[node.y])
      return broken(fmt::format("the size of constant {} does not fit, or it is an output", node.name));
    return Ok{};
  }
  Status check(const CopyNode& node) {
    if (auto status = read(node.name, node.a, Reads::kAny); !status.ok()) return status;
    if (auto status = write(node.name, node.y); !status.ok()) return status;
    if (shape(node.y) != shape(node.a)) return broken(fmt::format("the sizes of copy {} do not fit", node.name));
    const auto from = dtype_of(node.a), to = dtype_of(node.y);
    const bool casts = from == WEFT_VPU_DTYPE_F32
                           ? to != from
                           : from == WEFT_VPU_DTYPE_I32 && (to == WEFT_VPU_DTYPE_F32 || to == WEFT_VPU_DTYPE_I8);
    if (from != to && !casts && !(from == WEFT_VPU_DTYPE_BF16 && output_[node.y] && to == WEFT_VPU_DTYPE_F32))
      return broken(fmt::format("copy {} makes no such type of its operand's", node.name));
    if (!output_[node.y] && !casts) return broken(fmt::format("copy {} writes no output", node.name));
    if (node.bits && (from == to || to == WEFT_VPU_DTYPE_BF16 || to == WEFT_VPU_DTYPE_I8))
      return broken(fmt::format("copy {} has not the bits of its operand's type", node.name));
    return Ok{};
  }

  const Graph& graph_;
  std::vector<bool> computed_, output_;
};

struct Operands {
  std::vector<size_t> operator()(const DenseNode& n) const { return {n.x}; }
  std::vector<size_t> operator()(const VectorNode& n) const {
    const auto* b = std::get_if<size_t>(&n.b);
    return b == nullptr ? std::vector<size_t>{n.a} : std::vector<size_t>{n.a, *b};
  }
  std::vector<size_t> operator()(const CopyNode& n) const { return {n.a}; }
  std::vector<size_t> operator()(const RearrangeNode& n) const { return n.sources; }
  std::vector<size_t> operator()(const ReduceNode& n) const { return {n.a}; }
  std::vector<size_t> operator()(const PairProductNode& n) const { return {n.x, n.w}; }
  std::vector<size_t> operator()(const ConstantNode&) const { return {}; }
  std::vector<size_t> operator()(const ConvolutionNode& n) const { return n.sources; }
  std::vector<size_t> operator()(const WindowNode& n) const { return {n.x}; }
  std::vector<size_t> operator()(const CollectiveNode& n) const { return {n.x}; }
  std::vector<size_t> operator()(const RowsNode& n) const { return {n.table, n.indices}; }
};

}  // namespace

std::vector<size_t> operands_of(const Node& node) { return std::visit(Operands{}, node); }
size_t result_of(const Node& node) {
  return std::visit([](const auto& n) { return n.y; }, node);
}

MatrixShape matrix_shape(const std::vector<int64_t>& dims) {
  MatrixShape shape;
  for (size_t i = 0; i < dims.size(); i++)
    (i == 0 && dims.size() > 1 ? shape.rows : shape.columns) *= static_cast<uint64_t>(dims[i]);
  return shape;
}

Status check_graph(const Graph& graph) { return GraphCheck(graph).run(); }

}  // namespace weft::compiler
