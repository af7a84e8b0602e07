// Types of operators that run regions. Loops and branches run any module; what is applied element by element
// (reductions, scatter, sort) runs one of elementwise operators on scalars.
#include <algorithm>
#include <cstddef>

#include "host/compiler/ir/infer_rules.hpp"
#include "host/compiler/ir/module.hpp"
#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/ir/region.hpp"

namespace weft::compiler::ir {
namespace {

std::string text_of(const Types& types) {
  std::vector<std::string> texts;
  for (const auto& type : types) texts.push_back(type.text());
  return fmt::format("({})", fmt::join(texts, ", "));
}

Types inputs_of(const Module& module) {
  Types types;
  for (const ValueId input : module.inputs) types.push_back(module.type(input));
  return types;
}

Types outputs_of(const Module& module) {
  Types types;
  for (const auto& output : module.outputs) types.push_back(module.type(output.value));
  return types;
}

const Module& region(const Op& op, size_t i) {
  if (i >= op.regions.size() || !op.regions[i]) invalid("{}: region {} is missing", name_of(op.kind), i);
  return *op.regions[i];
}

void check_signature(const Op& op, const Module& module, const Types& inputs, const Types& outputs) {
  if (inputs_of(module) != inputs || outputs_of(module) != outputs)
    invalid("{}: a region takes {} and returns {}; it should take {} and return {}", name_of(op.kind),
            text_of(inputs_of(module)), text_of(outputs_of(module)), text_of(inputs), text_of(outputs));
}

/// The only region: on scalars of these elements.
void check_elementwise(const Op& op, const std::vector<ElementType>& inputs, const std::vector<ElementType>& outputs) {
  if (op.regions.size() != 1) invalid("{}: {} regions; it takes 1", name_of(op.kind), op.regions.size());
  const auto scalars = [](const std::vector<ElementType>& elements) {
    Types types;
    for (const ElementType element : elements) types.push_back({element, {}});
    return types;
  };
  check_signature(op, region(op, 0), scalars(inputs), scalars(outputs));
  for (const auto& inside : region(op, 0).ops())
    if (!is_elementwise(inside)) unsupported("{}: its region has {}", name_of(op.kind), name_of(inside.kind));
}

/// Tensors of one shape and as many initial values, and the region that combines them. The tensors' elements.
std::vector<ElementType> check_reduction(const Op& op, const Types& in) {
  const size_t count = in.size() / 2;
  const auto initial = in.begin() + static_cast<std::ptrdiff_t>(count);
  if (in.size() % 2 != 0)
    invalid("{}: {} operands; it takes tensors and as many initial values", name_of(op.kind), in.size());
  std::vector<ElementType> elements;
  for (size_t i = 0; i < count; i++) {
    if (in[i].dims != in[0].dims || in[count + i] != TensorType{in[i].element, {}})
      invalid("{}: operands of types {} with initial values {}", name_of(op.kind), text_of({in.begin(), initial}),
              text_of({initial, in.end()}));
    elements.push_back(in[i].element);
  }
  std::vector<ElementType> pairs = elements;
  pairs.insert(pairs.end(), elements.begin(), elements.end());
  check_elementwise(op, pairs, elements);
  return elements;
}

}  // namespace

bool is_elementwise(const Op& op) {
  switch (op.kind) {
    case OpKind::kParameter:
    case OpKind::kConstant:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kConvert:
      return true;
    case OpKind::kBitcastConvert:  // of elements of one size; others are not scalars on both sides
    case OpKind::kReshape:
    case OpKind::kBroadcast:  // of scalars to scalars: a region for scalars has no others
      return true;
    default:
      return op.kind < OpKind::kCompare && op.kind != OpKind::kIota;
  }
}

Types infer_while(const Op& op, const Types& in) {
  if (op.regions.size() != 2) invalid("while: {} regions; it takes 2", op.regions.size());
  const int64_t carried = op.integer("carried");
  if (carried < 1 || static_cast<size_t>(carried) > in.size())
    invalid("while: {} of {} operands go from turn to turn", carried, in.size());
  const Types values(in.begin(), in.begin() + carried);
  check_signature(op, region(op, 0), in, {{ElementType::kPred, {}}});
  check_signature(op, region(op, 1), in, values);
  return values;
}

Types infer_case(const Op& op, const Types& in) {
  if (in[0].rank() != 0 || in[0].element != ElementType::kI32) invalid("case: an index of type {}", in[0].text());
  if (op.regions.empty()) invalid("case: no region");
  const Types values(in.begin() + 1, in.end()), results = outputs_of(region(op, 0));
  if (results.empty()) invalid("case: no results");
  for (size_t i = 0; i < op.regions.size(); i++) check_signature(op, region(op, i), values, results);
  return results;
}

Types infer_reduce_by(const Op& op, const Types& in) {
  const Dims& gone = dimensions(op, "dimensions", in[0].rank());
  Dims kept;
  for (size_t d = 0; d < in[0].rank(); d++)
    if (std::ranges::find(gone, static_cast<int64_t>(d)) == gone.end()) kept.push_back(in[0].dims[d]);
  Types results;
  for (const ElementType element : check_reduction(op, in)) results.push_back({element, kept});
  return results;
}

Types infer_reduce_window_by(const Op& op, const Types& in) {
  const Dims places = window_places(op, in[0].dims, entries(op, "dilation", in[0].rank(), 1));
  Types results;
  for (const ElementType element : check_reduction(op, in)) results.push_back({element, places});
  return results;
}

Types infer_select_and_scatter(const Op& op, const Types& in) {
  const ElementType element = in[0].element;
  const Dims places = window_places(op, in[0].dims, Dims(in[0].rank(), 1));
  if (in[1] != TensorType{element, places} || in[2] != TensorType{element, {}})
    invalid("select_and_scatter: {} with sources {} and the initial value {}", in[0].text(), in[1].text(),
            in[2].text());
  if (op.regions.size() != 2) invalid("select_and_scatter: {} regions; it takes 2", op.regions.size());
  for (size_t i = 0; i < 2; i++) {
    check_signature(op, region(op, i), {{element, {}}, {element, {}}}, {{i == 0 ? ElementType::kPred : element, {}}});
    for (const auto& inside : region(op, i).ops())
      if (!is_elementwise(inside)) unsupported("select_and_scatter: a region has {}", name_of(inside.kind));
  }
  return {in[0]};
}

Types infer_scatter_by(const Op& op, const Types& in) {
  check_elementwise(op, {in[0].element, in[0].element}, {in[0].element});
  return infer_scatter_places(op, in);
}

Types infer_sort_by(const Op& op, const Types& in) {
  const int64_t d = op.integer("dimension");
  if (d < 0 || static_cast<size_t>(d) >= in[0].rank()) invalid("sort_by: dimension {} of {}", d, in[0].text());
  std::vector<ElementType> pairs;
  for (const auto& type : in) {
    if (type.dims != in[0].dims) invalid("sort_by: operands of types {}", text_of(in));
    pairs.insert(pairs.end(), 2, type.element);
  }
  check_elementwise(op, pairs, {ElementType::kPred});
  return in;
}

}  // namespace weft::compiler::ir
