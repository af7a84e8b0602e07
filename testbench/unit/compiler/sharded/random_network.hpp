/// Networks in L1 drawn from a seed, for the tests of sharded programs.
#pragma once
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/passes/pass.hpp"

namespace weft::test {

inline compiler::ir::TensorPtr random_tensor(const compiler::ir::Dims& dims, std::mt19937& random) {
  auto tensor = std::make_shared<compiler::ir::Tensor>(compiler::ir::TensorType{compiler::ir::ElementType::kF32, dims});
  std::uniform_real_distribution<float> value(-1, 1);
  for (uint64_t i = 0; i < tensor->type.count(); i++) tensor->as<float>()[i] = value(random);
  return tensor;
}

inline compiler::ir::Module simplified(compiler::ir::Module module) {
  auto made = compiler::passes::run_all(std::move(module));
  if (!made.ok()) FAIL(made.error().message);
  return std::move(made.value());
}

/// Dense layers of these widths, the first one the input's, each with a bias; relu between them.
inline compiler::ir::Module random_network(int64_t rows, const std::vector<int64_t>& widths) {
  using compiler::ir::ElementType;
  std::mt19937 random(1);
  compiler::ir::Module module;
  auto x = module.add_parameter("x", {ElementType::kF32, {rows, widths[0]}});
  module.inputs = {x};
  compiler::ir::Builder b(module);
  for (size_t i = 1; i < widths.size(); i++) {
    const compiler::ir::Dims dims{rows, widths[i]};
    x = b.dot(x, b.constant(random_tensor({widths[i - 1], widths[i]}, random)), {}, {}, {1}, {0}, ElementType::kF32);
    x = b.plus(x, b.broadcast_in(b.constant(random_tensor({widths[i]}, random)), dims, {1}));
    if (i + 1 < widths.size()) x = b.max(x, b.fill({ElementType::kF32, dims}, 0));
  }
  module.outputs.push_back({"y", x});
  return simplified(std::move(module));
}

}  // namespace weft::test
