// Operators that compute: products, which take the constant Add and the Relu behind them in, and element-wise ones.
#include <algorithm>

#include "host/compiler/onnx_importer.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kMaxRow = 1u << 26;  // columns that a constant is repeated over

/// The shape of an element-wise result of these two by ONNX's broadcasting; empty: they do not broadcast.
std::optional<std::vector<int64_t>> broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> out(std::max(a.size(), b.size()));
  for (size_t back = 1; back <= out.size(); back++) {
    const int64_t of_a = back <= a.size() ? a[a.size() - back] : 1, of_b = back <= b.size() ? b[b.size() - back] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) return std::nullopt;
    out[out.size() - back] = of_a == 1 ? of_b : of_a;
  }
  return out;
}

}  // namespace

Status OnnxImporter::add_gemm(const onnx::NodeProto& node) {
  const auto* a_alpha = attribute(node, "alpha");
  const auto* a_beta = attribute(node, "beta");
  const auto* trans_a = attribute(node, "transA");
  const auto* trans_b = attribute(node, "transB");
  if (trans_a && trans_a->i() != 0) return unsupported("attribute transA = 1 on a computed tensor; supported: 0");
  const auto x = tensor_input(node, 0);
  if (!x.ok()) return x.error();
  auto dense = dense_node(node, x.value(), trans_b && trans_b->i() != 0, a_alpha ? a_alpha->f() : 1.0f);
  if (!dense.ok()) return dense.error();
  if (node.input_size() > 2 && !node.input(2).empty()) {
    const auto* c = constant_input(node, 2);
    if (!c) return unsupported("input 2 (bias) must be a constant");
    const std::vector<int64_t> to{x.value().dims[0], static_cast<int64_t>(dense.value().n)};
    auto row = row_constant(*c, to);
    if (!row.ok()) return row.error();
    if (row.value().dims != to)
      return invalid(
          fmt::format("input 2 (bias) of shape {} is added to a product of shape {}: it must broadcast to "
                      "that",
                      dims_text(c->dims), dims_text(to)));
    row.value().values.resize(dense.value().n, row.value().values.front());
    for (float& value : row.value().values) value *= a_beta ? a_beta->f() : 1.0f;
    dense.value().bias = std::move(row.value().values);
  }
  return finish_dense(node, std::move(dense.value()));
}

Status OnnxImporter::add_matmul(const onnx::NodeProto& node) {
  const auto x = tensor_input(node, 0);
  if (!x.ok()) return x.error();
  auto dense = dense_node(node, x.value(), false, 1.0f);
  if (!dense.ok()) return dense.error();
  return finish_dense(node, std::move(dense.value()));
}

Result<DenseNode> OnnxImporter::dense_node(const onnx::NodeProto& node, const Value& x, bool transposed,
                                           float alpha) const {
  const auto* weights = constant_input(node, 1);
  if (!weights) return unsupported("input 1 must be a constant (weights)");
  const ConstantTensor& w = *weights;
  if (w.type != ConstantType::kFloat) return invalid("the weights (input 1) are no float tensor, as input 0 is");
  if (x.dims.size() != 2) {
    const auto text = fmt::format("input 0 has shape {}; supported: matrices", dims_text(x.dims));
    return node.op_type() == "Gemm" ? invalid(text) : unsupported(text);
  }
  if (w.dims.size() != 2 || w.count() == 0)
    return unsupported(fmt::format("weights of shape {}; supported: matrices", dims_text(w.dims)));
  DenseNode dense;
  dense.x = x.tensor;
  dense.k = static_cast<uint64_t>(w.dims[transposed ? 1 : 0]);
  dense.n = static_cast<uint64_t>(w.dims[transposed ? 0 : 1]);
  if (dense.k != graph_.tensors[x.tensor].columns)
    return invalid(fmt::format("input 0 has {} columns (shape {}), the weights have {} rows (shape {}{})",
                               graph_.tensors[x.tensor].columns, dims_text(x.dims), dense.k, dims_text(w.dims),
                               transposed ? ", transposed" : ""));
  dense.weights.resize(w.values.size());
  for (uint64_t k = 0; k < dense.k; k++)
    for (uint64_t n = 0; n < dense.n; n++)
      dense.weights[k * dense.n + n] = alpha * w.values[transposed ? n * dense.k + k : k * dense.n + n];
  return dense;
}

Status OnnxImporter::finish_dense(const onnx::NodeProto& node, DenseNode dense) {
  dense.name = node.name().empty() ? node.output(0) : node.name();
  dense.y =
      new_tensor(node.output(0), {static_cast<int64_t>(graph_.tensors[dense.x].rows), static_cast<int64_t>(dense.n)});
  producer_[dense.y] = graph_.nodes.size();
  graph_.nodes.push_back(std::move(dense));
  return Ok{};
}

Result<OnnxImporter::RowConstant> OnnxImporter::row_constant(const ConstantTensor& c,
                                                             const std::vector<int64_t>& to) const {
  if (c.type != ConstantType::kFloat) return invalid("the constant is no float tensor, as the other operand is");
  auto dims = broadcast(to, c.dims);
  if (!dims) return invalid(fmt::format("shapes {} and {} do not broadcast", dims_text(to), dims_text(c.dims)));
  const auto shape = std::ranges::find(*dims, 0) == dims->end() ? matrix_shape(*dims) : MatrixShape{0, 0};
  const bool same_rows = dims->size() == 1 || shape.rows == 1 || c.dims.size() < dims->size() || c.dims.front() == 1;
  if (shape != matrix_shape(to) || !same_rows)
    return unsupported(
        fmt::format("a constant of shape {} added to {}; supported: constants that are the same for "
                    "every row, and leave a sum of {} x {} elements",
                    dims_text(c.dims), dims_text(to), matrix_shape(to).rows, matrix_shape(to).columns));
  if (c.count() == 1) return RowConstant{{c.values[0]}, std::move(*dims)};
  if (shape.columns > kMaxRow)
    return unsupported(
        fmt::format("a constant repeated over rows of {} elements; supported: {}", shape.columns, kMaxRow));
  // Element j of row 0 of the sum has coordinates in `dims`; the constant's are the last of those, 0 where it has 1.
  RowConstant row{std::vector<float>(shape.columns), std::move(*dims)};
  for (uint64_t j = 0; j < shape.columns; j++) {
    uint64_t rest = j, from = 0, stride = 1;
    for (size_t back = 1; back <= c.dims.size(); back++) {
      const auto size = static_cast<uint64_t>(row.dims[row.dims.size() - back]);
      const auto own = static_cast<uint64_t>(c.dims[c.dims.size() - back]);
      if (own != 1) from += rest % size * stride;
      stride *= own;
      rest /= size;
    }
    row.values[j] = c.values[from];
  }
  return row;
}

DenseNode* OnnxImporter::fusable(size_t t) {
  const auto made = producer_.find(t);
  return made == producer_.end() || readers_[t] != 1 ? nullptr : std::get_if<DenseNode>(&graph_.nodes[made->second]);
}

void OnnxImporter::fuse(const Value& value, const std::string& output) {
  graph_.tensors[value.tensor].name = output;
  graph_.tensors[value.tensor].dims = value.dims;
  values_[output] = value;
  readers_[value.tensor] = uses_[output];
}

Status OnnxImporter::add_add(const onnx::NodeProto& node) {
  for (const int at : {0, 1})
    if (const auto* c = constant_input(node, at)) {
      const auto x = tensor_input(node, 1 - at);
      return x.ok() ? add_constant_to(node, x.value(), *c) : x.error();
    }
  const auto a = tensor_input(node, 0), b = tensor_input(node, 1);
  const auto& of_a = a.value().dims;
  const auto& of_b = b.value().dims;
  if (of_a != of_b) {
    const auto both = fmt::format("shapes {} and {} of two computed tensors", dims_text(of_a), dims_text(of_b));
    return broadcast(of_a, of_b) ? unsupported(both + "; supported: equal shapes")
                                 : invalid(both + " do not broadcast");
  }
  return finish_vector(node, {"", WEFT_VPU_OP_ADD, a.value().tensor, 0, b.value().tensor}, of_a);
}

Status OnnxImporter::add_constant_to(const onnx::NodeProto& node, const Value& x, const ConstantTensor& c) {
  auto row = row_constant(c, x.dims);
  if (!row.ok()) return row.error();
  auto& [values, dims] = row.value();
  if (auto* dense = fusable(x.tensor); dense && !dense->bias && !dense->relu) {
    values.resize(dense->n, values.front());
    dense->bias = std::move(values);
    fuse({x.tensor, dims}, node.output(0));
    return Ok{};
  }
  VectorNode add{"", WEFT_VPU_OP_ADD, x.tensor, 0, values};
  if (values.size() == 1) add.b = values[0];
  return finish_vector(node, std::move(add), dims);
}

Status OnnxImporter::add_relu(const onnx::NodeProto& node) {
  const auto x = tensor_input(node, 0);
  if (!x.ok()) return x.error();
  if (auto* dense = fusable(x.value().tensor)) {
    dense->relu = true;
    fuse(x.value(), node.output(0));
    return Ok{};
  }
  return finish_vector(node, {"", WEFT_VPU_OP_MAX, x.value().tensor, 0, 0.0f}, x.value().dims);
}

Status OnnxImporter::finish_vector(const onnx::NodeProto& node, VectorNode vector, std::vector<int64_t> dims) {
  vector.name = node.name().empty() ? node.output(0) : node.name();
  vector.y = new_tensor(node.output(0), std::move(dims));
  graph_.nodes.push_back(std::move(vector));
  return Ok{};
}

}  // namespace weft::compiler
