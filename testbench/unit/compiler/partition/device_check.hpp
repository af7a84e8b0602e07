/// A module in text as a device program: bit by bit what the reference computes, and what the golden arithmetic gives, in
/// any order of execution over VMEM full of NaN.
#pragma once
#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "host/compiler/ir/text.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/lower.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/partition/value_views.hpp"
#include "host/compiler/reference/evaluate.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/reference/graph_reference.hpp"
#include "testbench/unit/compiler/program_executor.hpp"

namespace weft::compiler::test_support {

/// Bits of a tensor as a device program reads and writes them: pred as 0 or 1 in f32.
inline std::vector<float> bits_of(const ir::Tensor& tensor) {
  std::vector<float> bits(tensor.type.count());
  for (uint64_t i = 0; i < bits.size(); i++) {
    const auto number =
        tensor.type.element == ir::ElementType::kF32 ? tensor.as<float>()[i] : static_cast<float>(tensor.number(i));
    bits[i] = lies_as_i32(tensor.type.element) ? std::bit_cast<float>(static_cast<int32_t>(tensor.integer(i))) : number;
  }
  return bits;
}

inline std::vector<uint32_t> words(const std::vector<float>& values) {
  std::vector<uint32_t> bits(values.size());
  if (!bits.empty()) std::memcpy(bits.data(), values.data(), 4 * bits.size());
  return bits;
}

using Numbers = std::vector<double>;

/// A program of `inputs` in text, whose outputs are to be what the reference computes, as a device program with all its
/// inputs in one argument and all its outputs in another; `order` is the seed of the order in which its commands run.
inline Kernel check(const std::string& text, const std::vector<Numbers>& inputs, const char* chip_name = "nano",
                    uint64_t order = 1) {
  INFO(text << chip_name);
  const auto& chip = *spec::find_chip(chip_name);
  const auto parsed = ir::parse(text);
  if (!parsed.ok()) FAIL(parsed.error().message);
  const ir::Module& module = parsed.value();
  std::vector<ir::TensorPtr> tensors;
  std::vector<std::vector<float>> bits;
  std::vector<ir::Output> from;
  REQUIRE(module.inputs.size() == inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    auto tensor = std::make_shared<ir::Tensor>(module.type(module.inputs[i]));
    REQUIRE(inputs[i].size() == tensor->type.count());
    for (size_t e = 0; e < inputs[i].size(); e++) {
      if (tensor->type.element == ir::ElementType::kF32) tensor->as<float>()[e] = static_cast<float>(inputs[i][e]);
      if (tensor->type.element == ir::ElementType::kI32) tensor->as<int32_t>()[e] = static_cast<int32_t>(inputs[i][e]);
      if (tensor->type.element == ir::ElementType::kU32)
        tensor->as<uint32_t>()[e] = static_cast<uint32_t>(static_cast<int64_t>(inputs[i][e]));
      if (tensor->type.element == ir::ElementType::kI8) tensor->as<int8_t>()[e] = static_cast<int8_t>(inputs[i][e]);
      if (tensor->type.element == ir::ElementType::kU8) tensor->as<uint8_t>()[e] = static_cast<uint8_t>(inputs[i][e]);
      if (tensor->type.element == ir::ElementType::kPred) tensor->as<uint8_t>()[e] = inputs[i][e] != 0;
    }
    bits.push_back(bits_of(*tensor));
    tensors.push_back(std::move(tensor));
    from.push_back({module.input_name(module.inputs[i]), module.inputs[i]});
  }
  std::vector<uint32_t> ops;
  for (uint32_t i = 0; i < module.ops().size(); i++) {
    const auto verdict = device_use(module, module.ops()[i]);
    if (module.ops()[i].kind == ir::OpKind::kParameter) continue;
    if (verdict.use == DeviceUse::kNone) FAIL(name_of(module.ops()[i].kind) << ": " << verdict.reason);
    ops.push_back(i);
  }
  const auto graph = device_graph(module, ops, from, module.outputs);
  if (!graph.ok()) FAIL(graph.error().message);
  const auto golden = tools::evaluate_golden(graph.value(), bits);
  const auto expected = reference::evaluate(module, tensors);
  if (!expected.ok()) FAIL(expected.error().message);
  const auto program = lower(chip, graph.value(), Arguments::kOne);
  if (!program.ok()) FAIL(program.error().message);
  const auto& places = program.value().places;
  const auto kernel = tiles::compile_resident(chip, program.value());
  if (!kernel.ok()) FAIL(kernel.error().message);
  REQUIRE(kernel.value().arguments.size() == 2);
  std::vector<std::vector<std::byte>> arguments(1);
  for (size_t i = 0; i < inputs.size(); i++) {
    const auto& tensor = graph.value().tensors[graph.value().inputs[i]];
    const auto rows = pack_rows_as(bits[i], tensor.rows, tensor.columns, tensor.dtype);
    REQUIRE(places[i].argument == 0);
    arguments[0].resize(places[i].offset_bytes);
    arguments[0].insert(arguments[0].end(), rows.begin(), rows.end());
  }
  const uint64_t bytes = kernel.value().arguments[1].size_bytes;
  arguments.emplace_back(bytes);
  test::ProgramExecutor executor(chip, kernel.value(), arguments, order);
  REQUIRE(executor.run() == "");
  const auto all = executor.argument(1, bytes);
  for (size_t o = 0; o < module.outputs.size(); o++) {
    INFO("output " << o);
    const auto& y = graph.value().tensors[graph.value().outputs[o]];
    const auto& place = places[inputs.size() + o];
    REQUIRE(place.argument == 1);
    const auto dense = unpack_rows(std::span(all).subspan(place.offset_bytes, place.size_bytes), y.rows, y.columns, 4);
    std::vector<float> made(dense.size() / 4);
    std::memcpy(made.data(), dense.data(), dense.size());
    CHECK(words(made) == words(golden[o]));
    CHECK(words(golden[o]) == words(bits_of(*expected.value()[o])));
  }
  return kernel.value();
}

inline std::string parameter(int number, const char* element, const std::string& dims) {
  return fmt::format("%{} = parameter() {{dims = {}, element = {}, name = \"x{}\"}} : {}{}\n", number, dims, element,
                     number, element, dims);
}

inline Numbers draw(uint64_t seed, size_t count, int64_t first, int64_t last, double scale = 1) {
  std::mt19937_64 random(seed);
  Numbers numbers(count);
  for (double& n : numbers)
    n = static_cast<double>(first + static_cast<int64_t>(random() % static_cast<uint64_t>(last - first + 1))) * scale;
  return numbers;
}

}  // namespace weft::compiler::test_support
