// docs/training.md in golden arithmetic. Values are bits (uint32_t) where the VPU works on them.
#include "host/reference/training_reference.hpp"

#include <bit>
#include <cstring>

#include "model/golden/arith.hpp"
#include "model/golden/lane_operations.hpp"
#include "model/golden/matmul.hpp"

namespace weft::tools {
namespace {

using compiler::ParameterLayout;
using Bf16 = std::vector<uint16_t>;
using Bits = std::vector<uint32_t>;

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
      y[i] = std::bit_cast<float>(last ? sum : golden::relu_f32(sum));
    }
    if (last)
      out.scores = std::move(y);
    else
      out.inputs.push_back(rounded(y));
  }
  return out;
}

struct Loss {
  Bf16 gradient;
  float loss = 0;
};

/// Row by row; reductions over classes, and of the losses over rows, are chains in ascending order.
Loss softmax_loss(const std::vector<float>& scores, const std::vector<float>& targets, uint64_t classes, float scale) {
  Loss out;
  const uint64_t rows = scores.size() / classes;
  uint32_t total = 0;
  for (uint64_t r = 0; r < rows; r++) {
    const auto score = [&](uint64_t c) { return bits_of(scores[r * classes + c]); };
    const auto target = [&](uint64_t c) { return bits_of(targets[r * classes + c]); };
    uint32_t largest = score(0);
    for (uint64_t c = 1; c < classes; c++) largest = golden::max_f32(largest, score(c));
    Bits z(classes), e(classes);
    uint32_t sum = 0, dot = 0;
    for (uint64_t c = 0; c < classes; c++) {
      z[c] = golden::mul_f32(golden::sub_f32(score(c), largest), bits_of(kLog2E));
      e[c] = operate(WEFT_VPU_OP_EXP2, z[c]);
      sum = c == 0 ? e[c] : golden::add_f32(sum, e[c]);
      const uint32_t part = golden::mul_f32(z[c], target(c));
      dot = c == 0 ? part : golden::add_f32(dot, part);
    }
    const uint32_t inverse = operate(WEFT_VPU_OP_RCP, sum);
    for (uint64_t c = 0; c < classes; c++) {
      const uint32_t less = golden::sub_f32(golden::mul_f32(e[c], inverse), target(c));
      out.gradient.push_back(golden::f32_to_bf16(golden::mul_f32(less, bits_of(scale))));
    }
    const uint32_t loss = golden::sub_f32(operate(WEFT_VPU_OP_LOG2, sum), dot);
    total = r == 0 ? loss : golden::add_f32(total, loss);
  }
  out.loss = std::bit_cast<float>(golden::mul_f32(total, bits_of(kLn2 * scale)));
  return out;
}

void weight_gradient(const ParameterLayout::Layer& layer, const Bf16& x, const Bf16& dy, uint64_t rows,
                     LayoutBuffer& gradients) {
  const auto dw = product(transposed(x, rows, layer.k), dy, layer.k, rows, layer.n);
  for (uint64_t k = 0; k < layer.k; k++)
    std::memcpy(&gradients[(layer.weights_offset + k * layer.weights_pitch) / 4], &dw[k * layer.n], layer.n * 4);
  for (uint64_t n = 0; n < layer.n; n++) {
    uint32_t sum = golden::bf16_to_f32(dy[n]);
    for (uint64_t r = 1; r < rows; r++) sum = golden::add_f32(sum, golden::bf16_to_f32(dy[r * layer.n + n]));
    gradients[layer.bias_offset / 4 + n] = std::bit_cast<float>(sum);
  }
}

}  // namespace

std::vector<float> reference_scores(const ParameterLayout& layout, const LayoutBuffer& parameters,
                                    const TrainingBatch& batch) {
  return forward(layout, parameters, batch).scores;
}

LayoutBuffer reference_gradients(const ParameterLayout& layout, const LayoutBuffer& parameters,
                                 const TrainingBatch& batch, float scale) {
  const Forward values = forward(layout, parameters, batch);
  LayoutBuffer gradients(layout.bytes / 4);
  Loss loss = softmax_loss(values.scores, batch.targets, layout.layers.back().n, scale);
  gradients[layout.loss_offset / 4] = loss.loss;
  Bf16 dy = std::move(loss.gradient);
  for (size_t l = layout.layers.size(); l-- > 0;) {
    const auto& layer = layout.layers[l];
    weight_gradient(layer, values.inputs[l], dy, batch.rows, gradients);
    if (l == 0) break;
    const Bf16 turned = transposed(rounded(weights_of(layer, parameters)), layer.k, layer.n);
    dy = rounded(product(dy, turned, batch.rows, layer.n, layer.k));
    for (size_t i = 0; i < dy.size(); i++)
      dy[i] = golden::f32_to_bf16(
          operate(WEFT_VPU_OP_SELECT, golden::bf16_to_f32(values.inputs[l][i]), golden::bf16_to_f32(dy[i]), 0));
  }
  return gradients;
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
