// Operators that compute: products, which take the constant Add and the Relu behind them in, and element-wise ones.
#include "host/compiler/onnx_importer.hpp"

namespace weft::compiler {

Status OnnxImporter::add_gemm(const onnx::NodeProto& node) {
  if (auto status = only(node, {"alpha", "beta", "transA", "transB"}); !status.ok()) return status;
  const auto* a_alpha = attribute(node, "alpha");
  const auto* a_beta = attribute(node, "beta");
  const auto* trans_a = attribute(node, "transA");
  const auto* trans_b = attribute(node, "transB");
  if (trans_a && trans_a->i() != 0) return unsupported("attribute transA = 1 on a computed tensor; supported: 0");
  const auto x = tensor_input(node, 0);
  if (!x.ok()) return x.error();
  const auto* w = constant_input(node, 1);
  if (!w) return unsupported(fmt::format("input 1 must be a constant (weights)"));
  const float alpha = a_alpha ? a_alpha->f() : 1.0f;
  const float beta = a_beta ? a_beta->f() : 1.0f;
  DenseNode dense;
  if (auto status = fill_weights(dense, x.value(), *w, trans_b && trans_b->i() != 0, alpha); !status.ok())
    return status;
  if (node.input_size() > 2 && !node.input(2).empty()) {
    const auto* c = constant_input(node, 2);
    if (!c) return unsupported("input 2 (bias) must be a constant");
    auto row = row_constant(*c, dense.n);
    if (!row.ok()) return row.error();
    for (float& value : row.value()) value *= beta;
    dense.bias = std::move(row.value());
  }
  return finish_dense(node, std::move(dense),
                      {static_cast<int64_t>(graph_.tensors[x.value().tensor].rows), static_cast<int64_t>(dense.n)});
}

Status OnnxImporter::add_matmul(const onnx::NodeProto& node) {
  if (auto status = only(node, {}); !status.ok()) return status;
  const auto x = tensor_input(node, 0);
  if (!x.ok()) return x.error();
  const auto* w = constant_input(node, 1);
  if (!w) return unsupported("input 1 must be a constant (weights)");
  if (x.value().dims.size() != 2)
    return unsupported(fmt::format("input 0 has shape {}; supported: matrices", dims_text(x.value().dims)));
  DenseNode dense;
  if (auto status = fill_weights(dense, x.value(), *w, false, 1.0f); !status.ok()) return status;
  return finish_dense(node, std::move(dense),
                      {static_cast<int64_t>(graph_.tensors[x.value().tensor].rows), static_cast<int64_t>(dense.n)});
}

Status OnnxImporter::fill_weights(DenseNode& dense, const Value& x, const ConstantTensor& w, bool transposed,
                                  float alpha) const {
  if (w.is_integer || w.dims.size() != 2 || w.count() == 0)
    return unsupported(fmt::format("weights of shape {}{}; supported: float matrices", dims_text(w.dims),
                                   w.is_integer ? " of integers" : ""));
  dense.name = where_;
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
  return Ok{};
}

Status OnnxImporter::finish_dense(const onnx::NodeProto& node, DenseNode dense, std::vector<int64_t> dims) {
  dense.name = node.name().empty() ? node.output(0) : node.name();
  dense.y = new_tensor(node.output(0), std::move(dims));
  producer_[dense.y] = graph_.nodes.size();
  graph_.nodes.push_back(std::move(dense));
  return Ok{};
}

Result<std::vector<float>> OnnxImporter::row_constant(const ConstantTensor& c, uint64_t n) const {
  if (c.is_integer) return unsupported("an integer constant; supported: float");
  if (c.count() == 1) return std::vector<float>(n, c.values[0]);
  const bool row = c.count() == n && static_cast<uint64_t>(c.dims.back()) == n;
  if (!row)
    return unsupported(fmt::format("a constant of shape {} added to rows of {}; supported: one value, [{}], [1, {}]",
                                   dims_text(c.dims), n, n, n));
  return c.values;
}

DenseNode* OnnxImporter::fusable(size_t t) {
  const auto made = producer_.find(t);
  return made == producer_.end() || readers_[t] != 1 ? nullptr : std::get_if<DenseNode>(&graph_.nodes[made->second]);
}

void OnnxImporter::fuse(const Value& value, const std::string& output) {
  graph_.tensors[value.tensor].name = output;
  values_[output] = value;
  readers_[value.tensor] = uses_[output];
}

Status OnnxImporter::add_add(const onnx::NodeProto& node) {
  if (auto status = only(node, {}); !status.ok()) return status;
  if (node.input_size() != 2) return invalid(fmt::format("{} inputs, Add has 2", node.input_size()));
  const int constant_at = constant_input(node, 0) ? 0 : constant_input(node, 1) ? 1 : -1;
  if (constant_at >= 0) {
    const auto x = tensor_input(node, 1 - constant_at);
    if (!x.ok()) return x.error();
    const ConstantTensor& c = *constant_input(node, constant_at);
    auto row = row_constant(c, graph_.tensors[x.value().tensor].columns);
    if (!row.ok()) return row.error();
    if (auto* dense = fusable(x.value().tensor); dense && !dense->bias && !dense->relu) {
      dense->bias = std::move(row.value());
      fuse(x.value(), node.output(0));
      return Ok{};
    }
    VectorNode add{node.name(), WEFT_VPU_OP_ADD, x.value().tensor, 0, std::move(row.value())};
    if (c.count() == 1) add.b = c.values[0];
    return finish_vector(node, std::move(add), x.value().dims);
  }
  const auto a = tensor_input(node, 0);
  if (!a.ok()) return a.error();
  const auto b = tensor_input(node, 1);
  if (!b.ok()) return b.error();
  if (a.value().dims != b.value().dims)
    return unsupported(fmt::format("shapes {} and {} of two computed tensors; supported: equal shapes",
                                   dims_text(a.value().dims), dims_text(b.value().dims)));
  return finish_vector(node, {node.name(), WEFT_VPU_OP_ADD, a.value().tensor, 0, b.value().tensor}, a.value().dims);
}

Status OnnxImporter::add_relu(const onnx::NodeProto& node) {
  if (auto status = only(node, {}); !status.ok()) return status;
  const auto x = tensor_input(node, 0);
  if (!x.ok()) return x.error();
  if (auto* dense = fusable(x.value().tensor)) {
    dense->relu = true;
    fuse(x.value(), node.output(0));
    return Ok{};
  }
  return finish_vector(node, {node.name(), WEFT_VPU_OP_MAX, x.value().tensor, 0, 0.0f}, x.value().dims);
}

Status OnnxImporter::finish_vector(const onnx::NodeProto& node, VectorNode vector, std::vector<int64_t> dims) {
  vector.name = node.name().empty() ? node.output(0) : node.name();
  vector.y = new_tensor(node.output(0), std::move(dims));
  graph_.nodes.push_back(std::move(vector));
  return Ok{};
}

}  // namespace weft::compiler
