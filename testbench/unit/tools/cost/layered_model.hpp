/// Small models with layers of known sizes.
#pragma once
#include <catch2/catch.hpp>

#include "host/compiler/ir/builder.hpp"
#include "host/tools/run/model_program.hpp"

namespace weft::tools::testing {

using compiler::ir::Builder;
using compiler::ir::ElementType;
using compiler::ir::Module;
using compiler::ir::TensorType;
using compiler::ir::ValueId;

inline TensorType f32(compiler::ir::Dims dims) { return {ElementType::kF32, std::move(dims)}; }

/// x[rows, k] W[k, n] under the builder's name.
inline ValueId product(Builder& build, ValueId x, int64_t k, int64_t n) {
  return build.dot(x, build.constant(compiler::ir::splat(f32({k, n}), 0.25)), {}, {}, {1}, {0}, ElementType::kF32);
}

/// fc1 (with a bias and a relu of other names) of x[rows, k] W[k, middle], then tanh, then fc2 by [middle, n].
inline Module two_products(int64_t rows, int64_t k, int64_t middle, int64_t n) {
  Module module;
  const ValueId x = module.add_parameter("x", f32({rows, k}));
  Builder build(module);
  build.origin.node = "fc1";
  ValueId y = product(build, x, k, middle);
  build.origin.node = "bias";
  y = build.plus(y, build.constant(compiler::ir::splat(f32({middle}), 0.5)));
  build.origin.node = "relu";
  y = build.max(y, build.constant(compiler::ir::splat(f32({1}), 0)));
  build.origin.node = "act";
  y = build.unary(compiler::ir::OpKind::kTanh, y);
  build.origin.node = "fc2";
  module.outputs.push_back({"y", product(build, y, middle, n)});
  return module;
}

/// The same, and behind it a sine, which the host computes.
inline Module with_island(int64_t rows) {
  Module module = two_products(rows, 16, 16, 16);
  Builder build(module);
  build.origin.node = "wave";
  module.outputs[0].value = build.unary(compiler::ir::OpKind::kSine, module.outputs[0].value);
  return module;
}

inline ModelProgram compiled(Module module, const char* chip) {
  auto model = compile_parts(std::move(module), *spec::find_chip(chip));
  if (!model.ok()) FAIL(model.error().message);
  return std::move(model.value());
}

}  // namespace weft::tools::testing
