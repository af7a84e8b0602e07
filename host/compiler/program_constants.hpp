/// Constants of a program as its steps read them: weights in tiles, biases in whole blocks.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "base/round_up.hpp"
#include "host/compiler/executable/constant_section.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/step.hpp"

namespace weft::compiler {

class ProgramConstants {
 public:
  explicit ProgramConstants(const spec::Chip& chip) : chip_(chip) {}

  [[nodiscard]] TensorPlace constant(const void* data, uint64_t bytes, uint64_t pitch) {
    return {1, section_.add({static_cast<const std::byte*>(data), bytes}), pitch};
  }

  /// Of a product, a node with n columns of `weights`, the first k rows.
  template <typename Product>
  [[nodiscard]] TensorPlace weights(const Product& node, uint64_t k) {
    std::vector<uint16_t> rounded(k * node.n);
    std::transform(node.weights.begin(), node.weights.begin() + static_cast<ptrdiff_t>(rounded.size()), rounded.begin(),
                   bf16_from_f32);
    const auto packed = pack_weights_bf16(chip_, rounded, k, node.n);
    return constant(packed.data(), packed.size(), 0);
  }

  /// All weights of a product of i8; each `part` of k is filled up with a zero to whole pairs.
  template <typename Product>
  [[nodiscard]] TensorPlace int8_weights(const Product& node, uint64_t part) {
    const uint64_t padded = part + part % 2, parts = node.k / part;
    std::vector<int8_t> block(parts * padded * node.n);
    for (uint64_t row = 0; row < node.k; row++)
      for (uint64_t c = 0; c < node.n; c++)
        block[(row / part * padded + row % part) * node.n + c] = static_cast<int8_t>(node.weights[row * node.n + c]);
    const auto packed = pack_weights_int8(chip_, block, parts * padded, node.n);
    return constant(packed.data(), packed.size(), 0);
  }

  template <typename Product>
  [[nodiscard]] std::optional<TensorPlace> bias(const Product& node) {
    if (!node.integer_bias.empty()) return row(node.integer_bias);
    return node.bias ? std::optional(row(*node.bias)) : std::nullopt;
  }

  [[nodiscard]] std::vector<std::byte> take() { return section_.take(); }

 private:
  /// Padded with zeros to whole blocks of N.
  template <typename Element>
  TensorPlace row(std::vector<Element> values) {
    values.resize(round_up(values.size(), uint64_t{chip_.n}));
    return constant(values.data(), values.size() * sizeof(Element), 0);
  }

  const spec::Chip& chip_;
  ConstantSection section_;
};

}  // namespace weft::compiler
