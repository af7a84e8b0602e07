// Operators with regions. A region that is one operation on its two arguments becomes a word.
#include <algorithm>
#include <limits>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/stablehlo/node.hpp"

namespace weft::compiler::stablehlo {
namespace {

using ir::ElementType;
using ir::TensorType;

/// Whether a value is the scalar constant with which a reduction of this kind begins; JAX may broadcast it to a scalar.
bool is_identity(const ir::Module& module, ValueId value, const std::string& kind) {
  while (module.op_of(value).kind == OpKind::kBroadcast) value = module.op_of(value).operands[0];
  const ir::Op& op = module.op_of(value);
  if (!op.constant) return false;
  const ElementType element = op.constant->type.element;
  const double number = op.constant->number(0);
  if (kind == "add") return number == 0;
  if (kind == "multiply") return number == 1;
  if (element == ElementType::kPred) return (kind == "or" || kind == "maximum") ? number == 0 : number == 1;
  if (kind == "or") return number == 0;
  if (kind == "and") return !ir::is_float(element) && op.constant->integer(0) == -1;
  const double infinity = std::numeric_limits<double>::infinity();
  if (ir::is_float(element)) return number == (kind == "maximum" ? -infinity : infinity);
  return false;
}

/// The same kind on two tensors.
OpKind binary_of(const std::string& kind) { return *ir::op_kind_of(kind); }

bool is_reduction(const std::string& kind, ElementType element) {
  if (kind == "and" || kind == "or") return !ir::is_float(element);
  if (kind == "add" || kind == "multiply") return element != ElementType::kPred;
  return kind == "maximum" || kind == "minimum";
}

/// Scalars for a region's arguments: of each operand, `times` over.
std::vector<TensorType> scalars(const Node& node, size_t operands, size_t times) {
  std::vector<TensorType> types;
  for (size_t turn = 0; turn < times; turn++)
    for (size_t i = 0; i < operands; i++) types.push_back({node.b.element(node.in[i]), {}});
  return types;
}

Dims pairs_of(const Node& node, const char* name, size_t rank, size_t which) {
  Dims both = node.integers_or_none(name), one;
  if (both.empty()) both.assign(2 * rank, 0);
  if (both.size() != 2 * rank) ir::invalid("attribute '{}' has {} entries", name, both.size());
  for (size_t d = 0; d < rank; d++) one.push_back(both[2 * d + which]);
  return one;
}

Dims list_or_ones(const Node& node, const char* name, size_t rank) {
  Dims list = node.integers_or_none(name);
  if (list.empty()) list.assign(rank, 1);
  if (list.size() != rank) ir::invalid("attribute '{}' has {} entries", name, list.size());
  return list;
}

}  // namespace

std::string operation_of(const ir::Module& region) {
  if (region.inputs.size() != 2 || region.outputs.size() != 1) return {};
  const ValueId a = region.inputs[0], b = region.inputs[1], result = region.outputs[0].value;
  if (result == b) return "set";
  const ir::Op& op = region.op_of(result);
  if (op.operands != Values{a, b} && op.operands != Values{b, a}) return {};
  switch (op.kind) {
    case OpKind::kAdd:
    case OpKind::kMultiply:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
    case OpKind::kAnd:
    case OpKind::kOr:
      return std::string(name_of(op.kind));
    default:
      return {};
  }
}

Values reduce(Node& node) {
  const size_t count = node.in.size() / 2;
  if (count == 0 || node.in.size() % 2 != 0) ir::invalid("{} operands", node.in.size());
  const Dims dimensions = node.integers("dimensions");
  const auto region = node.scalar_region(0, scalars(node, count, 2));
  const std::string kind = count == 1 ? operation_of(*region) : std::string();
  if (kind.empty() || !is_reduction(kind, node.b.element(node.in[0])))
    return node.b.add_with_regions(OpKind::kReduceBy, node.in, {{"dimensions", dimensions}}, {region});
  ValueId sum = node.b.add(OpKind::kReduce, {node.in[0]}, {{"kind", kind}, {"dimensions", dimensions}});
  if (!is_identity(node.b.module(), node.in[1], kind)) sum = node.b.binary(binary_of(kind), sum, node.in[1]);
  return {sum};
}

Values reduce_window(Node& node) {
  const size_t count = node.in.size() / 2;
  if (count == 0 || node.in.size() % 2 != 0) ir::invalid("{} operands", node.in.size());
  Values in = node.in;
  const size_t rank = node.b.rank(in[0]);
  Dims low = pairs_of(node, "padding", rank, 0), high = pairs_of(node, "padding", rank, 1);
  Dims interior = list_or_ones(node, "base_dilations", rank);
  for (auto& gap : interior) gap--;
  const auto some = [](const Dims& list) { return std::ranges::any_of(list, [](int64_t v) { return v != 0; }); };
  const auto negative = [](const Dims& list) { return std::ranges::any_of(list, [](int64_t v) { return v < 0; }); };
  if (some(interior) || negative(low) || negative(high)) {
    for (size_t i = 0; i < count; i++) in[i] = node.b.pad(in[i], in[count + i], low, high, interior);
    low.assign(rank, 0), high.assign(rank, 0);
  }
  ir::Attributes attributes{{"window", node.integers("window_dimensions")},
                            {"strides", list_or_ones(node, "window_strides", rank)},
                            {"low", low},
                            {"high", high},
                            {"dilation", list_or_ones(node, "window_dilations", rank)}};
  const auto region = node.scalar_region(0, scalars(node, count, 2));
  const std::string kind = count == 1 ? operation_of(*region) : std::string();
  if (kind.empty() || !is_reduction(kind, node.b.element(in[0])) || !is_identity(node.b.module(), in[1], kind))
    return node.b.add_with_regions(OpKind::kReduceWindowBy, in, std::move(attributes), {region});
  attributes["kind"] = kind;
  return {node.b.add(OpKind::kReduceWindow, {in[0]}, std::move(attributes))};
}

Values select_and_scatter(Node& node) {
  if (node.in.size() != 3) ir::invalid("{} operands; it takes 3", node.in.size());
  const size_t rank = node.b.rank(node.in[0]);
  const auto types = scalars(node, 1, 2);
  return node.b.add_with_regions(OpKind::kSelectAndScatter, node.in,
                                 {{"window", list_or_ones(node, "window_dimensions", rank)},
                                  {"strides", list_or_ones(node, "window_strides", rank)},
                                  {"low", pairs_of(node, "padding", rank, 0)},
                                  {"high", pairs_of(node, "padding", rank, 1)}},
                                 {node.scalar_region(0, types), node.scalar_region(1, types)});
}

Values sort(Node& node) {
  std::vector<TensorType> types;
  for (const ValueId x : node.in) types.insert(types.end(), 2, TensorType{node.b.element(x), {}});
  int64_t dimension = node.integer("dimension");
  if (dimension < 0 && !node.in.empty()) dimension += static_cast<int64_t>(node.b.rank(node.in[0]));
  return node.b.add_with_regions(OpKind::kSortBy, node.in, {{"dimension", dimension}}, {node.scalar_region(0, types)});
}

Values while_loop(Node& node) {
  if (node.op.regions.size() != 2) ir::invalid("{} regions; it takes 2", node.op.regions.size());
  std::vector<TensorType> types;
  for (const ValueId x : node.in) types.push_back(node.b.type(x));
  const auto regions = node.around.regions({&node.op.regions[0], &node.op.regions[1]}, types);
  Values operands = node.in;
  give_token(node, regions[0], operands);
  const auto carried = static_cast<int64_t>(operands.size());
  operands.insert(operands.end(), regions[0].captured.begin(), regions[0].captured.end());
  if (carried == 0) ir::unsupported("a loop that carries nothing");
  auto condition = regions[0].module;
  if (regions[0].calls) {  // it may call the host, and returns one value all the same
    auto made = std::make_shared<ir::Module>(*condition);
    made->outputs.pop_back();
    condition = std::move(made);
  }
  return take_token(node, regions[0],
                    node.b.add_with_regions(OpKind::kWhile, operands, {{"carried", carried}},
                                            {std::move(condition), regions[1].module}));
}

namespace {

Values branches(Node& node, ValueId index) {
  if (node.op.regions.empty()) ir::invalid("no branch");
  std::vector<const Block*> blocks;
  for (const auto& region : node.op.regions) blocks.push_back(&region);
  const auto regions = node.around.regions(blocks, {});
  if (node.op.results.empty() && !regions[0].calls) return {};
  Values operands{index};
  give_token(node, regions[0], operands);
  operands.insert(operands.end(), regions[0].captured.begin(), regions[0].captured.end());
  std::vector<std::shared_ptr<const ir::Module>> modules;
  for (const auto& region : regions) modules.push_back(region.module);
  return take_token(node, regions[0], node.b.add_with_regions(OpKind::kCase, operands, {}, std::move(modules)));
}

}  // namespace

Values case_of(Node& node) {
  if (node.in.size() != 1) ir::invalid("{} operands; it takes 1", node.in.size());
  return branches(node, node.in[0]);
}

Values if_of(Node& node) {
  if (node.in.size() != 1 || node.op.regions.size() != 2)
    ir::invalid("{} operands, {} regions", node.in.size(), node.op.regions.size());
  const ValueId second = node.b.unary(OpKind::kNot, node.in[0]);
  return branches(node, node.b.convert(second, ElementType::kI32));
}

}  // namespace weft::compiler::stablehlo
