#include "host/compiler/tiles/step_text.hpp"

#include <fmt/format.h>

#include "weft/spec/names.hpp"

namespace weft::compiler::tiles {
namespace {

struct Operator {
  std::string operator()(const DenseStep&) const { return "product by constants"; }
  std::string operator()(const VectorStep& s) const {
    return fmt::format("vector operation {}", spec::vpu_op_name(static_cast<uint64_t>(s.op)));
  }
  std::string operator()(const RearrangeStep&) const { return "movement of elements"; }
  std::string operator()(const ReduceStep& s) const {
    return fmt::format("reduction {}", spec::vpu_op_name(static_cast<uint64_t>(s.op)));
  }
  std::string operator()(const PairProductStep& s) const {
    return s.batch == 1 ? "product" : fmt::format("batch of {} products", s.batch);
  }
  std::string operator()(const ConvolutionStep&) const { return "convolution"; }
  std::string operator()(const WindowStep&) const { return "window operation"; }
  std::string operator()(const CollectiveStep&) const { return "collective"; }
  std::string operator()(const RowsStep&) const { return "gather of rows"; }
};

}  // namespace

std::string text_of(const Program& program, size_t step) {
  const Step& of = program.steps.at(step);
  const auto name = std::visit([](const auto& s) { return s.name; }, of);
  const auto text = fmt::format("step {} of {}, a {}", step + 1, program.steps.size(), std::visit(Operator{}, of));
  if (name.empty()) return text;
  const auto node = program.nodes.find(name);
  if (node == program.nodes.end()) return fmt::format("{} ('{}')", text, name);
  const auto& [whole, op_types] = node->second;
  return fmt::format("{} ({}{}'{}')", text, fmt::join(op_types, " or "), op_types.empty() ? "" : " ", whole);
}

}  // namespace weft::compiler::tiles
