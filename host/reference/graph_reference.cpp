// Node by node over dense arrays.
#include "host/reference/graph_reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "host/compiler/layout.hpp"
#include "host/reference/plain_operations.hpp"
#include "host/reference/window_reference.hpp"
#include "model/golden/arith.hpp"
#include "model/golden/lane_operations.hpp"
#include "model/golden/matmul.hpp"
#include "model/golden/rows.hpp"

namespace weft::tools {
namespace {

using compiler::ConstantNode;
using compiler::ConvolutionNode;
using compiler::CopyNode;
using compiler::DenseNode;
using compiler::Graph;
using compiler::PairProductNode;
using compiler::RearrangeNode;
using compiler::ReduceNode;
using compiler::RowsNode;
using compiler::VectorNode;
using compiler::WindowNode;

std::vector<uint16_t> round_bf16(const std::vector<float>& values) {
  std::vector<uint16_t> rounded(values.size());
  golden::cast_f32_to_bf16(values, rounded);
  return rounded;
}

class GoldenEvaluation {
 public:
  GoldenEvaluation(const Graph& graph, unsigned parts)
      : graph_(graph),
        parts_(parts),
        bf16_(graph.tensors.size()),
        f32_(graph.tensors.size()),
        output_(graph.tensors.size()) {
    for (const size_t t : graph.outputs) output_[t] = true;
  }

  std::vector<std::vector<float>> run(const std::vector<std::vector<float>>& inputs) {
    for (size_t i = 0; i < inputs.size(); i++) store(graph_.inputs[i], inputs[i]);
    for (const auto& node : graph_.nodes) std::visit([this](const auto& n) { evaluate(n); }, node);
    std::vector<std::vector<float>> results;
    for (const size_t t : graph_.outputs) results.push_back(f32_[t]);
    return results;
  }

 private:
  void evaluate(const compiler::CollectiveNode&) const {}  // a network of one chip has none
  /// A tensor of bf16 is rounded once, as the epilogue's cast does; values of i32 are bits.
  void store(size_t t, std::vector<float> values) {
    if (is_i32(t) || lies_as_f32(t))
      f32_[t] = std::move(values);
    else
      bf16_[t] = round_bf16(values);
  }

  void evaluate(const DenseNode& node) {
    const uint64_t rows = graph_.tensors[node.x].rows;
    if (graph_.tensors[node.x].dtype == WEFT_VPU_DTYPE_I8) return integer_product(node, bytes_of(node.x), rows);
    const auto weights = round_bf16(node.weights);
    std::vector<float> y, part(rows * node.n), sum(rows * node.n);
    const uint64_t count = node.k % parts_ == 0 ? node.k / parts_ : node.k;
    for (uint64_t first = 0; first < node.k; first += count) {
      golden::gemm_bf16(rows, count, node.n, bf16_[node.x].data() + first, node.k, weights.data() + first * node.n,
                        node.n, part.data(), node.n);
      if (y.empty()) {
        y = part;
      } else {
        golden::elementwise_f32(WEFT_VPU_OP_ADD, y, part, sum);
        std::swap(y, sum);
      }
    }
    finish(node, std::move(y));
  }

  /// The values of a tensor as they are cast to i8; those of i8 have been.
  [[nodiscard]] std::vector<int8_t> bytes_of(size_t t, const compiler::ToBytes& by = {}) const {
    const auto bits = bits_of(values_of(t));
    std::vector<int8_t> bytes(bits.size());
    std::ranges::transform(bits, bytes.begin(), [&](uint32_t b) {
      return static_cast<int8_t>(golden::f32_to_i8(
          golden::mul_f32(is_i32(t) ? golden::i32_to_f32(b) : b, std::bit_cast<uint32_t>(by.scale)), by.zero_point));
    });
    return bytes;
  }

  template <typename Product>
  void integer_product(const Product& node, const std::vector<int8_t>& x, uint64_t rows) {
    const std::vector<int8_t> weights(node.weights.begin(), node.weights.end());
    std::vector<int32_t> y(rows * node.n);
    golden::gemm_int8(rows, node.k, node.n, x.data(), node.k, weights.data(), node.n, y.data(), node.n);
    for (size_t row = 0; row < y.size(); row += node.n) {
      const std::span<int32_t> values(&y[row], node.n);
      golden::epilogue_row_i32(values, node.integer_bias,
                               node.relu ? WEFT_VPU_ACTIVATION_RELU : WEFT_VPU_ACTIVATION_NONE, values);
    }
    store(node.y, values_of_bits({y.begin(), y.end()}));
  }

  /// Sums of products on their way out of ACC.
  template <typename Product>
  void finish(const Product& node, std::vector<float> y) {
    const std::span<const float> bias = node.bias ? std::span<const float>(*node.bias) : std::span<const float>();
    for (size_t row = 0; row < y.size(); row += node.n) {
      const std::span<float> values(&y[row], node.n);
      golden::epilogue_row_f32(values, bias, node.relu ? WEFT_VPU_ACTIVATION_RELU : WEFT_VPU_ACTIVATION_NONE, values);
    }
    store(node.y, std::move(y));
  }

  void evaluate(const ConvolutionNode& node) {
    if (node.int8) {
      std::vector<std::vector<int8_t>> bytes;
      for (const size_t t : node.sources) bytes.push_back(bytes_of(t, node.bytes));
      return integer_product(node, under_windows(node, graph_, bytes), node.windows.results());
    }
    std::vector<std::vector<uint16_t>> sources;
    for (const size_t t : node.sources) sources.push_back(lies_as_f32(t) ? round_bf16(f32_[t]) : bf16_[t]);
    const auto x = under_windows(node, graph_, sources);
    const auto weights = round_bf16(node.weights);
    const uint64_t rows = node.windows.results();
    std::vector<float> part(rows * node.n), y(rows * node.spread[0] * node.spread[1] * node.n);
    for (uint64_t residue = 0; residue < node.spread[0] * node.spread[1]; residue++) {
      golden::gemm_bf16(rows, node.k, node.n, x.data(), node.k, &weights[residue * node.k * node.n], node.n,
                        part.data(), node.n);
      spread(node, residue, part, y);
    }
    finish(node, std::move(y));
  }

  void evaluate(const WindowNode& node) {
    const auto operate = [](weft_vpu_op op, float a, float b) {
      return std::bit_cast<float>(golden::binary_f32(op)(std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b)));
    };
    store(node.y, fold_windows(node, f32_[node.x], graph_.tensors[node.x].columns, operate));
  }

  /// In f32, whatever the type.
  [[nodiscard]] std::vector<float> values_of(size_t t) const {
    if (is_i32(t) || lies_as_f32(t)) return f32_[t];
    std::vector<float> values(bf16_[t].size());
    golden::cast_bf16_to_f32(bf16_[t], values);
    return values;
  }
  [[nodiscard]] bool lies_as_f32(size_t t) const { return output_[t] || graph_.tensors[t].dtype == WEFT_VPU_DTYPE_F32; }
  /// Or i8, whose numbers are kept as i32.
  [[nodiscard]] bool is_i32(size_t t) const {
    return graph_.tensors[t].dtype == WEFT_VPU_DTYPE_I32 || graph_.tensors[t].dtype == WEFT_VPU_DTYPE_I8;
  }
  /// A constant in the type of the tensor that it meets.
  [[nodiscard]] std::vector<float> constant(std::vector<float> values, size_t beside) const {
    if (!lies_as_f32(beside)) golden::cast_bf16_to_f32(round_bf16(values), values);
    return values;
  }
  static std::vector<float> values_of_bits(const std::vector<uint32_t>& bits) {
    std::vector<float> values(bits.size());
    std::ranges::transform(bits, values.begin(), [](uint32_t b) { return std::bit_cast<float>(b); });
    return values;
  }
  static std::vector<uint32_t> bits_of(const std::vector<float>& values) {
    std::vector<uint32_t> bits(values.size());
    std::ranges::transform(values, bits.begin(), [](float v) { return std::bit_cast<uint32_t>(v); });
    return bits;
  }

  /// One rounding to the type in which `a` lies, then one to that of the result.
  void operate(weft_vpu_op op, size_t a, const std::vector<float>& b, float c, size_t y) {
    const auto first = bits_of(values_of(a)), second = bits_of(b);
    std::vector<uint32_t> d(first.size());
    if (is_i32(a)) {
      golden::operate_i32(op, first, second, static_cast<uint32_t>(static_cast<int32_t>(c)), d);
      return store(y, values_of_bits(d));
    }
    golden::operate_f32(op, first, second, std::bit_cast<uint32_t>(c), d);
    store(y, constant(values_of_bits(d), a));
  }

  void evaluate(const VectorNode& node) {
    const size_t count = values_of(node.a).size();
    std::vector<float> b;
    if (const auto* tensor = std::get_if<size_t>(&node.b)) {
      b = values_of(*tensor);
    } else if (const auto* row = std::get_if<std::vector<float>>(&node.b)) {
      const auto values = constant(*row, node.a);
      for (size_t i = 0; i < count; i++) b.push_back(values[i % values.size()]);
    } else if (const auto* scalar = std::get_if<float>(&node.b)) {
      b.assign(count, constant({*scalar}, node.a)[0]);
    } else if (const auto* integer = std::get_if<int32_t>(&node.b)) {
      b.assign(count, std::bit_cast<float>(*integer));
    }
    operate(node.op, node.a, b, is_i32(node.a) ? node.c : constant({node.c}, node.a)[0], node.y);
  }

  void evaluate(const CopyNode& node) {
    if (node.bits) return store(node.y, values_of(node.a));
    if (graph_.tensors[node.y].dtype == WEFT_VPU_DTYPE_I8) {
      const auto bytes = bytes_of(node.a, node.bytes);
      const std::vector<int32_t> numbers(bytes.begin(), bytes.end());
      return store(node.y, values_of_bits({numbers.begin(), numbers.end()}));
    }
    if (is_i32(node.a) != is_i32(node.y)) {
      auto bits = bits_of(values_of(node.a));
      std::ranges::transform(bits, bits.begin(), is_i32(node.a) ? golden::i32_to_f32 : golden::f32_to_i32);
      return store(node.y, values_of_bits(bits));
    }
    if (is_i32(node.a)) return store(node.y, values_of(node.a));
    operate(WEFT_VPU_OP_MUL, node.a, std::vector<float>(values_of(node.a).size(), 1.0f), 0, node.y);
  }

  void evaluate(const RowsNode& node) {
    const auto table = values_of(node.table);
    const uint64_t columns = graph_.tensors[node.table].columns;
    std::vector<float> rows;
    for (const uint32_t index : bits_of(values_of(node.indices)))
      rows.insert(rows.end(), table.begin() + static_cast<ptrdiff_t>(index * columns),
                  table.begin() + static_cast<ptrdiff_t>((index + 1) * columns));
    store(node.y, std::move(rows));
  }

  void evaluate(const RearrangeNode& node) {
    std::vector<float> all, moved;
    for (const size_t t : node.sources) {
      const auto values = values_of(t);
      all.insert(all.end(), values.begin(), values.end());
    }
    for (const uint32_t i : *node.from) moved.push_back(all[i]);
    if (is_i32(node.y)) return store(node.y, std::move(moved));
    const std::vector<uint32_t> one(moved.size(), std::bit_cast<uint32_t>(1.0f));
    std::vector<uint32_t> d(moved.size());
    golden::operate_f32(WEFT_VPU_OP_MUL, bits_of(moved), one, 0, d);  // moved values are canonical
    store(node.y, values_of_bits(d));
  }

  void evaluate(const ReduceNode& node) {
    const auto& a = graph_.tensors[node.a];
    std::vector<float> y(a.rows * a.columns);
    for (uint64_t row = 0; row < a.rows; row++) {
      auto values = bits_of({f32_[node.a].begin() + static_cast<ptrdiff_t>(row * a.columns),
                             f32_[node.a].begin() + static_cast<ptrdiff_t>((row + 1) * a.columns)});
      const auto combine = is_i32(node.a) ? golden::binary_i32(node.op) : golden::binary_f32(node.op);
      if (values.size() == 1 && !is_i32(node.a)) golden::operate_f32(WEFT_VPU_OP_MAX, values, values, 0, values);
      while (values.size() > 1) {
        std::vector<uint32_t> pairs;
        for (size_t i = 0; i < values.size(); i += 2)
          pairs.push_back(i + 1 == values.size() ? values[i] : combine(values[i], values[i + 1]));
        values = std::move(pairs);
      }
      std::fill_n(y.begin() + static_cast<ptrdiff_t>(row * a.columns), a.columns, std::bit_cast<float>(values[0]));
    }
    store(node.y, std::move(y));
  }

  void evaluate(const PairProductNode& node) {
    const auto &x = graph_.tensors[node.x], &w = graph_.tensors[node.w];
    const uint64_t m = x.rows / node.batch, k = x.columns, n = w.columns;
    const auto weights = lies_as_f32(node.w) ? round_bf16(f32_[node.w]) : bf16_[node.w];
    std::vector<float> y(x.rows * n);
    for (uint64_t b = 0; b < node.batch; b++)
      golden::gemm_bf16(m, k, n, &bf16_[node.x][b * m * k], k, &weights[b * k * n], n, &y[b * m * n], n);
    store(node.y, std::move(y));
  }

  void evaluate(const ConstantNode& node) {
    if (!is_i32(node.y)) return store(node.y, node.values);
    store(node.y, values_of_bits({node.integers.begin(), node.integers.end()}));
  }

  const Graph& graph_;
  const unsigned parts_;
  std::vector<std::vector<uint16_t>> bf16_;
  std::vector<std::vector<float>> f32_;
  std::vector<bool> output_;
};

class Fp64Evaluation {
 public:
  explicit Fp64Evaluation(const Graph& graph) : graph_(graph), values_(graph.tensors.size()) {}

  std::vector<std::vector<double>> run(const std::vector<std::vector<float>>& inputs) {
    for (size_t i = 0; i < inputs.size(); i++) {
      auto& values = values_[graph_.inputs[i]];
      values.assign(inputs[i].begin(), inputs[i].end());
      if (graph_.tensors[graph_.inputs[i]].dtype == WEFT_VPU_DTYPE_I32)
        std::ranges::transform(inputs[i], values.begin(), [](float v) { return std::bit_cast<int32_t>(v); });
    }
    for (const auto& node : graph_.nodes) std::visit([this](const auto& n) { evaluate(n); }, node);
    std::vector<std::vector<double>> results;
    for (const size_t t : graph_.outputs) results.push_back(values_[t]);
    return results;
  }

 private:
  void evaluate(const DenseNode& node) { multiply(node, values_[node.x]); }
  void evaluate(const compiler::CollectiveNode&) const {}  // a network of one chip has none
  static std::vector<double> bytes_of(std::vector<double> values, const compiler::ToBytes& by) {
    for (double& v : values)
      v = std::clamp(std::nearbyint(v * static_cast<double>(by.scale)) + by.zero_point, -128.0, 127.0);
    return values;
  }
  void evaluate(const ConvolutionNode& node) {
    std::vector<std::vector<double>> sources;
    for (const size_t t : node.sources) sources.push_back(node.int8 ? bytes_of(values_[t], node.bytes) : values_[t]);
    const auto x = under_windows(node, graph_, sources);
    const uint64_t residues = node.spread[0] * node.spread[1];
    std::vector<double> y(node.windows.results() * residues * node.n);
    for (uint64_t residue = 0; residue < residues; residue++) {
      multiply(node, x, residue * node.k * node.n);
      spread(node, residue, values_[node.y], y);
    }
    values_[node.y] = std::move(y);
  }

  template <typename Product>
  void multiply(const Product& node, const std::vector<double>& x, uint64_t first_weight = 0) {
    const uint64_t rows = x.size() / node.k;
    std::vector<double> y(rows * node.n);
    for (uint64_t row = 0; row < rows; row++) {
      double* out = &y[row * node.n];
      if (node.bias) std::copy(node.bias->begin(), node.bias->end(), out);
      std::ranges::copy(node.integer_bias, out);
      for (uint64_t k = 0; k < node.k; k++)
        for (uint64_t n = 0; n < node.n; n++)
          out[n] += x[row * node.k + k] * static_cast<double>(node.weights[first_weight + k * node.n + n]);
      if (node.relu)
        for (uint64_t n = 0; n < node.n; n++) out[n] = std::max(out[n], 0.0);
    }
    values_[node.y] = std::move(y);
  }

  double second(const VectorNode& node, size_t i) const {
    if (std::holds_alternative<std::monostate>(node.b)) return 0;
    if (const auto* tensor = std::get_if<size_t>(&node.b)) return values_[*tensor][i];
    if (const auto* row = std::get_if<std::vector<float>>(&node.b)) return static_cast<double>((*row)[i % row->size()]);
    if (const auto* integer = std::get_if<int32_t>(&node.b)) return *integer;
    return static_cast<double>(std::get<float>(node.b));
  }

  void evaluate(const WindowNode& node) {
    values_[node.y] = fold_windows(node, values_[node.x], graph_.tensors[node.x].columns,
                                   [](weft_vpu_op op, double a, double b) { return operate_fp64(op, a, b, 0); });
  }

  void evaluate(const VectorNode& node) {
    const auto& a = values_[node.a];
    std::vector<double> y(a.size());
    const auto operate = graph_.tensors[node.a].dtype == WEFT_VPU_DTYPE_I32 ? operate_words : operate_fp64;
    for (size_t i = 0; i < a.size(); i++) y[i] = operate(node.op, a[i], second(node, i), static_cast<double>(node.c));
    values_[node.y] = std::move(y);
  }

  void evaluate(const CopyNode& node) {
    values_[node.y] = values_[node.a];
    const bool i32 = graph_.tensors[node.y].dtype == WEFT_VPU_DTYPE_I32;
    if (node.bits) {
      std::ranges::transform(values_[node.a], values_[node.y].begin(), [&](double v) {
        return i32 ? std::bit_cast<int32_t>(static_cast<float>(v))
                   : static_cast<double>(std::bit_cast<float>(static_cast<int32_t>(v)));
      });
      return;
    }
    if (graph_.tensors[node.y].dtype == WEFT_VPU_DTYPE_I8) values_[node.y] = bytes_of(values_[node.a], node.bytes);
    if (graph_.tensors[node.y].dtype == WEFT_VPU_DTYPE_I32)
      std::ranges::transform(values_[node.y], values_[node.y].begin(), [](double v) { return std::nearbyint(v); });
  }

  void evaluate(const RowsNode& node) {
    const auto& table = values_[node.table];
    const uint64_t columns = graph_.tensors[node.table].columns;
    std::vector<double> rows;
    for (const double index : values_[node.indices])
      rows.insert(rows.end(), table.begin() + static_cast<ptrdiff_t>(index) * static_cast<ptrdiff_t>(columns),
                  table.begin() + (static_cast<ptrdiff_t>(index) + 1) * static_cast<ptrdiff_t>(columns));
    values_[node.y] = std::move(rows);
  }

  void evaluate(const RearrangeNode& node) {
    std::vector<double> all, moved;
    for (const size_t t : node.sources) all.insert(all.end(), values_[t].begin(), values_[t].end());
    for (const uint32_t i : *node.from) moved.push_back(all[i]);
    values_[node.y] = std::move(moved);
  }

  void evaluate(const ReduceNode& node) {
    const auto& a = values_[node.a];
    const uint64_t columns = graph_.tensors[node.a].columns;
    const auto operate = graph_.tensors[node.a].dtype == WEFT_VPU_DTYPE_I32 ? operate_words : operate_fp64;
    std::vector<double> y(a.size());
    for (uint64_t row = 0; row < a.size(); row += columns) {
      double value = a[row];
      for (uint64_t i = row + 1; i < row + columns; i++)
        value = operate(node.op == WEFT_VPU_OP_SUM    ? WEFT_VPU_OP_ADD
                        : node.op == WEFT_VPU_OP_RMAX ? WEFT_VPU_OP_MAX
                                                      : WEFT_VPU_OP_MIN,
                        value, a[i], 0);
      std::fill_n(y.begin() + static_cast<ptrdiff_t>(row), columns, value);
    }
    values_[node.y] = std::move(y);
  }

  void evaluate(const PairProductNode& node) {
    const auto &x = values_[node.x], &w = values_[node.w];
    const uint64_t m = graph_.tensors[node.x].rows / node.batch, k = graph_.tensors[node.x].columns,
                   n = graph_.tensors[node.w].columns;
    std::vector<double> y(node.batch * m * n);
    for (uint64_t row = 0; row < node.batch * m; row++)
      for (uint64_t i = 0; i < k; i++)
        for (uint64_t j = 0; j < n; j++) y[row * n + j] += x[row * k + i] * w[(row / m * k + i) * n + j];
    values_[node.y] = std::move(y);
  }

  void evaluate(const ConstantNode& node) {
    values_[node.y].assign(node.values.begin(), node.values.end());
    if (!node.integers.empty()) values_[node.y].assign(node.integers.begin(), node.integers.end());
  }

  const Graph& graph_;
  std::vector<std::vector<double>> values_;
};

}  // namespace

std::vector<std::vector<float>> evaluate_golden(const Graph& graph, const std::vector<std::vector<float>>& inputs) {
  return GoldenEvaluation(graph, 1).run(inputs);
}

std::vector<std::vector<float>> evaluate_golden_in_parts(const Graph& graph,
                                                         const std::vector<std::vector<float>>& inputs,
                                                         unsigned parts) {
  return GoldenEvaluation(graph, parts).run(inputs);
}

std::vector<std::vector<double>> evaluate_fp64(const Graph& graph, const std::vector<std::vector<float>>& inputs) {
  return Fp64Evaluation(graph).run(inputs);
}

}  // namespace weft::tools
