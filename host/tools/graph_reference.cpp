// Node by node over dense arrays.
#include "host/tools/graph_reference.hpp"

#include <algorithm>
#include <cmath>

#include "host/compiler/layout.hpp"
#include "host/compiler/sharding.hpp"
#include "model/golden/arith.hpp"
#include "model/golden/matmul.hpp"
#include "model/golden/rows.hpp"

namespace weft::tools {
namespace {

using compiler::CopyNode;
using compiler::DenseNode;
using compiler::Graph;
using compiler::VectorNode;

std::vector<uint16_t> round_bf16(const std::vector<float>& values) {
  std::vector<uint16_t> rounded(values.size());
  golden::cast_f32_to_bf16(values, rounded);
  return rounded;
}

class GoldenEvaluation {
 public:
  GoldenEvaluation(const Graph& graph, unsigned parts, uint64_t unit)
      : graph_(graph),
        parts_(parts),
        unit_(unit),
        bf16_(graph.tensors.size()),
        f32_(graph.tensors.size()),
        output_(graph.tensors.size()) {
    for (const size_t t : graph.outputs) output_[t] = true;
  }

  std::vector<std::vector<float>> run(const std::vector<std::vector<float>>& inputs) {
    for (size_t i = 0; i < inputs.size(); i++) bf16_[graph_.inputs[i]] = round_bf16(inputs[i]);
    for (const auto& node : graph_.nodes) std::visit([this](const auto& n) { evaluate(n); }, node);
    std::vector<std::vector<float>> results;
    for (const size_t t : graph_.outputs) results.push_back(f32_[t]);
    return results;
  }

 private:
  /// An output keeps fp32; any other tensor is rounded once, as the epilogue's cast does.
  void store(size_t t, std::vector<float> values) {
    if (output_[t])
      f32_[t] = std::move(values);
    else
      bf16_[t] = round_bf16(values);
  }

  void evaluate(const DenseNode& node) {
    const uint64_t rows = graph_.tensors[node.x].rows;
    const auto weights = round_bf16(node.weights);
    std::vector<float> y, part(rows * node.n), sum(rows * node.n);
    for (unsigned i = 0; i < parts_; i++) {
      const auto [first, count] = compiler::shard(node.k, unit_, parts_, i);
      if (count == 0) continue;
      golden::gemm_bf16(rows, count, node.n, bf16_[node.x].data() + first, node.k, weights.data() + first * node.n,
                        node.n, part.data(), node.n);
      if (y.empty()) {
        y = part;
      } else {
        golden::elementwise_f32(WEFT_VPU_OP_ADD, y, part, sum);
        std::swap(y, sum);
      }
    }
    const std::span<const float> bias = node.bias ? std::span<const float>(*node.bias) : std::span<const float>();
    for (uint64_t row = 0; row < rows; row++) {
      const std::span<float> values(&y[row * node.n], node.n);
      golden::epilogue_row_f32(values, bias, node.relu ? WEFT_VPU_ACTIVATION_RELU : WEFT_VPU_ACTIVATION_NONE, values);
    }
    store(node.y, std::move(y));
  }

  void evaluate(const VectorNode& node) {
    const auto& a = bf16_[node.a];
    std::vector<uint16_t> b;
    if (const auto* tensor = std::get_if<size_t>(&node.b)) {
      b = bf16_[*tensor];
    } else if (const auto* row = std::get_if<std::vector<float>>(&node.b)) {
      const auto bits = round_bf16(*row);
      for (size_t i = 0; i < a.size(); i++) b.push_back(bits[i % bits.size()]);
    } else {
      b.assign(a.size(), round_bf16({std::get<float>(node.b)})[0]);
    }
    std::vector<uint16_t> d(a.size());
    golden::elementwise_bf16(node.op, a, b, d);
    std::vector<float> values(d.size());
    golden::cast_bf16_to_f32(d, values);
    if (output_[node.y])
      f32_[node.y] = std::move(values);
    else
      bf16_[node.y] = std::move(d);
  }

  void evaluate(const CopyNode& node) {
    if (output_[node.a]) {
      const std::vector<float> one(f32_[node.a].size(), 1.0f);
      f32_[node.y].resize(one.size());
      golden::elementwise_f32(WEFT_VPU_OP_MUL, f32_[node.a], one, f32_[node.y]);
      return;
    }
    const std::vector<uint16_t> one(bf16_[node.a].size(), round_bf16({1.0f})[0]);
    std::vector<uint16_t> product(one.size());
    golden::elementwise_bf16(WEFT_VPU_OP_MUL, bf16_[node.a], one, product);
    f32_[node.y].resize(one.size());
    golden::cast_bf16_to_f32(product, f32_[node.y]);
  }

  const Graph& graph_;
  const unsigned parts_;
  const uint64_t unit_;
  std::vector<std::vector<uint16_t>> bf16_;
  std::vector<std::vector<float>> f32_;
  std::vector<bool> output_;
};

class Fp64Evaluation {
 public:
  explicit Fp64Evaluation(const Graph& graph) : graph_(graph), values_(graph.tensors.size()) {}

  std::vector<std::vector<double>> run(const std::vector<std::vector<float>>& inputs) {
    for (size_t i = 0; i < inputs.size(); i++) values_[graph_.inputs[i]].assign(inputs[i].begin(), inputs[i].end());
    for (const auto& node : graph_.nodes) std::visit([this](const auto& n) { evaluate(n); }, node);
    std::vector<std::vector<double>> results;
    for (const size_t t : graph_.outputs) results.push_back(values_[t]);
    return results;
  }

 private:
  void evaluate(const DenseNode& node) {
    const uint64_t rows = graph_.tensors[node.x].rows;
    const auto& x = values_[node.x];
    std::vector<double> y(rows * node.n);
    for (uint64_t row = 0; row < rows; row++) {
      double* out = &y[row * node.n];
      if (node.bias) std::copy(node.bias->begin(), node.bias->end(), out);
      for (uint64_t k = 0; k < node.k; k++)
        for (uint64_t n = 0; n < node.n; n++)
          out[n] += x[row * node.k + k] * static_cast<double>(node.weights[k * node.n + n]);
      if (node.relu)
        for (uint64_t n = 0; n < node.n; n++) out[n] = std::max(out[n], 0.0);
    }
    values_[node.y] = std::move(y);
  }

  double second(const VectorNode& node, size_t i) const {
    if (const auto* tensor = std::get_if<size_t>(&node.b)) return values_[*tensor][i];
    if (const auto* row = std::get_if<std::vector<float>>(&node.b)) return static_cast<double>((*row)[i % row->size()]);
    return static_cast<double>(std::get<float>(node.b));
  }

  void evaluate(const VectorNode& node) {
    const auto& a = values_[node.a];
    std::vector<double> y(a.size());
    for (size_t i = 0; i < a.size(); i++) {
      const double b = second(node, i);
      y[i] = node.op == WEFT_VPU_OP_ADD ? a[i] + b : node.op == WEFT_VPU_OP_MUL ? a[i] * b : std::max(a[i], b);
    }
    values_[node.y] = std::move(y);
  }

  void evaluate(const CopyNode& node) { values_[node.y] = values_[node.a]; }

  const Graph& graph_;
  std::vector<std::vector<double>> values_;
};

}  // namespace

std::vector<std::vector<float>> evaluate_golden(const Graph& graph, const std::vector<std::vector<float>>& inputs) {
  return GoldenEvaluation(graph, 1, 1).run(inputs);
}

std::vector<std::vector<float>> evaluate_golden_in_parts(const Graph& graph,
                                                         const std::vector<std::vector<float>>& inputs, unsigned parts,
                                                         uint64_t unit) {
  return GoldenEvaluation(graph, parts, unit).run(inputs);
}

std::vector<std::vector<double>> evaluate_fp64(const Graph& graph, const std::vector<std::vector<float>>& inputs) {
  return Fp64Evaluation(graph).run(inputs);
}

}  // namespace weft::tools
