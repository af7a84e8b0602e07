/// Constants of a program as its steps read them: weights in tiles, biases in whole blocks.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "host/compiler/executable/constant_section.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/sharded/sharding.hpp"
#include "host/compiler/step.hpp"

namespace weft::compiler {

class ProgramConstants {
 public:
  explicit ProgramConstants(const spec::Chip& chip) : chip_(chip) {}

  [[nodiscard]] TensorPlace constant(const void* data, uint64_t bytes, uint64_t pitch) {
    return {1, section_.add({static_cast<const std::byte*>(data), bytes}), pitch};
  }

  /// Of a product, a node with k x n `weights`: rows k of the blocks of columns n, one behind the other; each but the
  /// last is filled up with zeros to a multiple of N.
  template <typename Product>
  [[nodiscard]] TensorPlace weights(const Product& node, Span k, const std::vector<Span>& n) {
    const uint64_t columns = width(n);
    std::vector<uint16_t> block(k.count * columns);
    for (uint64_t row = 0; row < k.count; row++) {
      uint16_t* to = &block[row * columns];
      for (const Span& part : n) {
        const float* from = &node.weights[(k.first + row) * node.n + part.first];
        std::transform(from, from + part.count, to, bf16_from_f32);
        to += whole_blocks(part.count);
      }
    }
    const auto packed = pack_weights_bf16(chip_, block, k.count, columns);
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
  [[nodiscard]] std::optional<TensorPlace> bias(const Product& node, Span n) {
    if (!node.integer_bias.empty()) return row(&node.integer_bias[n.first], n.count);
    return node.bias ? std::optional(row(&(*node.bias)[n.first], n.count)) : std::nullopt;
  }

  [[nodiscard]] uint64_t whole_blocks(uint64_t count) const { return (count + chip_.n - 1) / chip_.n * chip_.n; }
  [[nodiscard]] uint64_t width(const std::vector<Span>& blocks) const {
    uint64_t columns = 0;
    for (const Span& block : blocks) columns = whole_blocks(columns) + block.count;
    return columns;
  }

  [[nodiscard]] std::vector<std::byte> take() { return section_.take(); }

 private:
  /// Padded with zeros to whole blocks.
  template <typename Element>
  TensorPlace row(const Element* values, uint64_t count) {
    std::vector<Element> padded(whole_blocks(count));
    std::copy_n(values, count, padded.begin());
    return constant(padded.data(), padded.size() * sizeof(Element), 0);
  }

  const spec::Chip& chip_;
  ConstantSection section_;
};

}  // namespace weft::compiler
