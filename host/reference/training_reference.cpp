// docs/training.md in golden arithmetic. Values are bits (uint32_t) where the VPU works on them.
#include "host/reference/training_reference.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "model/golden/arith.hpp"
#include "model/golden/lane_operations.hpp"
#include "model/golden/matmul.hpp"

namespace weft::tools {
namespace {

using compiler::ParameterLayout;
using Bf16 = std::vector<uint16_t>;
using Bits = std::vector<uint32_t>;

constexpr uint64_t kBlockRows = 64;
constexpr float kLog2E = 1.44269504F, kLn2 = 0.693147181F;

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

uint32_t operate(weft_vpu_op op, uint32_t a, uint32_t b = 0, uint32_t c = 0) {
  uint32_t d = 0;
  golden::operate_f32(op, {&a, 1}, {&b, 1}, c, {&d, 1});
  return d;
}

Bf16 transposed(const Bf16& a, uint64_t rows, uint64_t cols) {
  Bf16 y(a.size());
  for (uint64_t r = 0; r < rows; r++)
    for (uint64_t c = 0; c < cols; c++) y[c * rows + r] = a[r * cols + c];
  return y;
}

Bf16 rounded(const std::vector<float>& a) {
  Bf16 y;
  for (const float value : a) y.push_back(golden::f32_to_bf16(bits_of(value)));
  return y;
}

/// The master weights of a layer, dense.
std::vector<float> weights_of(const ParameterLayout::Layer& layer, const LayoutBuffer& buffer) {
  std::vector<float> w;
  for (uint64_t k = 0; k < layer.k; k++) {
    const float* row = &buffer[(layer.weights_offset + k * layer.weights_pitch) / 4];
    w.insert(w.end(), row, row + layer.n);
  }
  return w;
}

std::vector<float> product(const Bf16& x, const Bf16& w, uint64_t m, uint64_t k, uint64_t n) {
  std::vector<float> y(m * n);
  golden::gemm_bf16(m, k, n, x.data(), k, w.data(), n, y.data(), n);
  return y;
}

struct Forward {
  std::vector<Bf16> inputs;  ///< of each layer
  std::vector<float> scores;
};

Forward forward(const ParameterLayout& layout, const LayoutBuffer& parameters, const TrainingBatch& batch) {
  Forward out;
  out.inputs = {batch.x};
  for (size_t l = 0; l < layout.layers.size(); l++) {
    const auto& layer = layout.layers[l];
    auto y = product(out.inputs[l], rounded(weights_of(layer, parameters)), batch.rows, layer.k, layer.n);
    const bool last = l + 1 == layout.layers.size();
    for (uint64_t i = 0; i < y.size(); i++) {
      const uint32_t sum = golden::add_f32(bits_of(y[i]), bits_of(parameters[layer.bias_offset / 4 + i % layer.n]));
      y[i] = std::bit_cast<float>(last ? sum : golden::max_f32(sum, 0));
    }
    if (last)
      out.scores = std::move(y);
    else
      out.inputs.push_back(rounded(y));
  }
  return out;
}

/// A tree: neighbours first, then neighbours of those; one without a neighbour goes on as it is.
uint32_t sum_of(Bits values) {
  while (values.size() > 1) {
    Bits pairs;
    for (size_t i = 0; i < values.size(); i += 2)
      pairs.push_back(i + 1 == values.size() ? values[i] : golden::add_f32(values[i], values[i + 1]));
    values = std::move(pairs);
  }
  return values[0];
}

struct Loss {
  std::vector<float> gradient;
  float loss = 0;
};

Loss softmax_loss(const std::vector<float>& scores, const std::vector<float>& targets, uint64_t classes, float scale) {
  Loss out;
  Bits losses;
  for (uint64_t r = 0; r < scores.size() / classes; r++) {
    const auto score = [&](uint64_t c) { return bits_of(scores[r * classes + c]); };
    const auto target = [&](uint64_t c) { return bits_of(targets[r * classes + c]); };
    uint32_t largest = score(0);
    for (uint64_t c = 1; c < classes; c++) largest = golden::max_f32(largest, score(c));
    const uint32_t shift = golden::mul_f32(largest, bits_of(-kLog2E));
    Bits e, own;
    for (uint64_t c = 0; c < classes; c++) {
      e.push_back(operate(WEFT_VPU_OP_EXP2, operate(WEFT_VPU_OP_AXPY, score(c), shift, bits_of(kLog2E))));
      own.push_back(golden::mul_f32(golden::sub_f32(score(c), largest), target(c)));
    }
    const uint32_t sum = sum_of(e), factor = golden::mul_f32(operate(WEFT_VPU_OP_RCP, sum), bits_of(scale));
    for (uint64_t c = 0; c < classes; c++)
      out.gradient.push_back(std::bit_cast<float>(
          golden::add_f32(golden::mul_f32(target(c), bits_of(-scale)), golden::mul_f32(factor, e[c]))));
    losses.push_back(
        golden::sub_f32(golden::mul_f32(operate(WEFT_VPU_OP_LOG2, sum), bits_of(kLn2)), sum_of(std::move(own))));
  }
  out.loss = std::bit_cast<float>(golden::mul_f32(sum_of(std::move(losses)), bits_of(scale)));
  return out;
}

void weight_gradient(const ParameterLayout::Layer& layer, const Bf16& x, const std::vector<float>& dy, uint64_t rows,
                     LayoutBuffer& gradients) {
  const auto dw = product(transposed(x, rows, layer.k), rounded(dy), layer.k, rows, layer.n);
  for (uint64_t k = 0; k < layer.k; k++)
    std::memcpy(&gradients[(layer.weights_offset + k * layer.weights_pitch) / 4], &dw[k * layer.n], layer.n * 4);
  for (uint64_t n = 0; n < layer.n; n++) {
    Bits column;
    for (uint64_t r = 0; r < rows; r++) column.push_back(bits_of(dy[r * layer.n + n]));
    gradients[layer.bias_offset / 4 + n] = std::bit_cast<float>(sum_of(std::move(column)));
  }
}

/// Of a block of rows.
LayoutBuffer block_gradients(const ParameterLayout& layout, const LayoutBuffer& parameters, const TrainingBatch& batch,
                             float scale) {
  const Forward values = forward(layout, parameters, batch);
  LayoutBuffer gradients(layout.bytes / 4);
  Loss loss = softmax_loss(values.scores, batch.targets, layout.layers.back().n, scale);
  gradients[layout.loss_offset / 4] = loss.loss;
  std::vector<float> dy = std::move(loss.gradient);
  for (size_t l = layout.layers.size(); l-- > 0;) {
    const auto& layer = layout.layers[l];
    weight_gradient(layer, values.inputs[l], dy, batch.rows, gradients);
    if (l == 0) break;
    const Bf16 turned = transposed(rounded(weights_of(layer, parameters)), layer.k, layer.n);
    dy = product(rounded(dy), turned, batch.rows, layer.n, layer.k);
    for (size_t i = 0; i < dy.size(); i++)
      if (golden::bf16_to_f32(values.inputs[l][i]) << 1 == 0) dy[i] = 0;
  }
  return gradients;
}

}  // namespace

std::vector<float> reference_scores(const ParameterLayout& layout, const LayoutBuffer& parameters,
                                    const TrainingBatch& batch) {
  return forward(layout, parameters, batch).scores;
}

LayoutBuffer reference_gradients(const ParameterLayout& layout, const LayoutBuffer& parameters,
                                 const TrainingBatch& batch, float scale) {
  const uint64_t inputs = layout.layers.front().k, classes = layout.layers.back().n;
  LayoutBuffer sums;
  for (uint64_t row = 0; row < batch.rows; row += kBlockRows) {
    const uint64_t rows = std::min(kBlockRows, batch.rows - row);
    const auto part = [&](const auto& values, uint64_t width) {
      const auto first = values.begin() + static_cast<ptrdiff_t>(row * width);
      return std::decay_t<decltype(values)>(first, first + static_cast<ptrdiff_t>(rows * width));
    };
    auto gradients =
        block_gradients(layout, parameters, {rows, part(batch.x, inputs), part(batch.targets, classes)}, scale);
    for (size_t i = 0; row != 0 && i < sums.size(); i++)
      gradients[i] = std::bit_cast<float>(golden::add_f32(bits_of(sums[i]), bits_of(gradients[i])));
    sums = std::move(gradients);
  }
  return sums;
}

void reference_update(const ParameterLayout& layout, const compiler::Sgd& sgd, LayoutBuffer& parameters,
                      LayoutBuffer& momentum, const LayoutBuffer& gradients) {
  for (uint64_t i = 0; i < layout.parameter_bytes / 4; i++) {
    const uint32_t v = operate(WEFT_VPU_OP_AXPY, bits_of(momentum[i]), bits_of(gradients[i]), bits_of(sgd.momentum));
    momentum[i] = std::bit_cast<float>(v);
    parameters[i] = std::bit_cast<float>(operate(WEFT_VPU_OP_AXPY, v, bits_of(parameters[i]), bits_of(-sgd.rate)));
  }
}

}  // namespace weft::tools
