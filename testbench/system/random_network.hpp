/// Networks and inputs drawn from a seed, for the tests of sharded programs.
#pragma once
#include <random>
#include <string>
#include <vector>

#include "host/compiler/graph.hpp"

namespace weft::test {

/// Dense layers of these widths, the first one the input's; relu between them, each with a bias. `addition`: behind the
/// first layer a row is added to its result.
inline compiler::Graph random_network(uint64_t rows, const std::vector<uint64_t>& widths, uint32_t seed,
                                      bool addition = false) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-1, 1);
  const auto draw = [&](uint64_t count) {
    std::vector<float> values(count);
    for (float& v : values) v = value(random);
    return values;
  };
  compiler::Graph graph;
  graph.name = "network";
  const auto tensor = [&](uint64_t columns) {
    graph.tensors.push_back(
        {"t" + std::to_string(graph.tensors.size()), {int64_t(rows), int64_t(columns)}, rows, columns});
    return graph.tensors.size() - 1;
  };
  graph.inputs = {tensor(widths[0])};
  size_t x = 0;
  for (size_t i = 1; i < widths.size(); i++) {
    compiler::DenseNode dense;
    dense.name = "layer" + std::to_string(i);
    dense.x = x, dense.y = x = tensor(widths[i]);
    dense.k = widths[i - 1], dense.n = widths[i];
    dense.weights = draw(dense.k * dense.n);
    dense.bias = draw(dense.n);
    dense.relu = i + 1 < widths.size();
    graph.nodes.emplace_back(dense);
    if (i > 1 || !addition) continue;
    compiler::VectorNode vector;
    vector.name = "shift";
    vector.a = x, vector.y = x = tensor(widths[i]);
    vector.b = draw(widths[i]);
    graph.nodes.emplace_back(vector);
  }
  graph.outputs = {x};
  return graph;
}

inline std::vector<std::vector<float>> random_inputs(const compiler::Graph& graph, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<std::vector<float>> inputs;
  for (const size_t t : graph.inputs) {
    auto& values = inputs.emplace_back(graph.tensors[t].rows * graph.tensors[t].columns);
    for (float& v : values) v = value(random);
  }
  return inputs;
}

}  // namespace weft::test
