// Operators of L1 as nodes of a Graph. Movements of elements are put together until an operator reads them.
#include "host/compiler/partition/device_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/partition/graph_builder.hpp"

namespace weft::compiler {

using ir::Dims;
using ir::Module;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

namespace {

constexpr size_t kHashed = 256;  // elements of a map

uint64_t elements_of(const Tensor& tensor) { return tensor.rows * tensor.columns; }

/// Few rows of words that are long, as more of them: an operation of the vector unit goes over rows of a block of columns.
/// What is one element everywhere is the same in any shape, as the key of random bits is.
uint64_t folded_columns(const Dims& dims) {
  constexpr uint64_t kFewRows = 8, kWide = 128;
  const uint64_t columns = last_columns(dims);
  if (ir::count_of(dims) / columns >= kFewRows || columns <= kWide) return columns;
  for (uint64_t folded = kWide; folded > kFewRows; folded--)
    if (columns % folded == 0) return folded;
  return columns;
}

/// None, if these are the tensor's elements in their order.
ElementMap map_of(const Tensor& tensor, std::vector<uint32_t> from) {
  bool same = from.size() == elements_of(tensor);
  for (size_t i = 0; same && i < from.size(); i++) same = from[i] == i;
  return same ? nullptr : std::make_shared<const std::vector<uint32_t>>(std::move(from));
}

}  // namespace

Result<Graph> GraphBuilder::run(const std::vector<ir::Output>& inputs, const std::vector<ir::Output>& outputs) {
  graph_.name = module_.name;
  count_readers(outputs);
  for (size_t i = 0; i < state_.columns.size(); i++) wanted_.emplace(inputs[i].value, state_.columns[i]);
  find_tables();
  find_columns();
  find_quantizers();
  for (const auto& input : inputs) {
    const auto& dims = module_.type(input.value).dims;
    const uint64_t columns = columns_of(input.value);
    const size_t tensor = new_tensor(input.name, dims, module_.type(input.value).count() / columns, columns);
    if (lies_as_i32(module_.type(input.value).element)) graph_.tensors[tensor].dtype = WEFT_VPU_DTYPE_I32;
    views_[input.value] = {{tensor}, nullptr};
    graph_.inputs.push_back(tensor);
  }
  for (const uint32_t index : ops_) {
    const Op& op = module_.ops()[index];
    if (!op.origin.op_type.empty()) graph_.op_types.emplace(op.origin.node, op.origin.op_type);
    add(op);
  }
  keep_outputs_apart(outputs);
  drop_unread();
  join_factors();
  settle_types();
  if (auto status = check_graph(graph_); !status.ok()) return status.error();
  return std::move(graph_);
}

void GraphBuilder::count_readers(const std::vector<ir::Output>& outputs) {
  for (const uint32_t index : ops_) {
    const Op& op = module_.ops()[index];
    for (const auto operand : op.operands) readers_[operand]++;
    if (moves_to_known_places(module_, op)) moved_[op.results[0]] = op.operands[0];
  }
  for (const auto& output : outputs) readers_[output.value]++;
}

/// Whether one operator reads the value, and those that it is a view of.
bool GraphBuilder::is_exclusive(ValueId value) const {
  for (;;) {
    const auto readers = readers_.find(value);
    if (readers == readers_.end() || readers->second != 1) return false;
    const auto before = moved_.find(value);
    if (before == moved_.end()) return true;
    value = before->second;
  }
}

/// A table has a row of it in each row, whatever else reads it.
void GraphBuilder::find_tables() {
  for (const uint32_t index : ops_) {
    const Op& op = module_.ops()[index];
    if (op.kind != OpKind::kGather || moves_to_known_places(module_, op)) continue;
    const auto places = places_of(module_, op);
    if (!places || !takes_rows(module_, op, *places)) continue;
    const auto& table = module_.type(op.operands[0]);
    wanted_.emplace(op.operands[0], table.count() / static_cast<uint64_t>(table.dims[0]));
    wanted_.emplace(op.operands[places->components[0].operand], places->batch);
  }
}

/// From the last operator to the first: in how many columns values are read.
void GraphBuilder::find_columns() {
  for (size_t i = ops_.size(); i-- > 0;) find_columns(module_.ops()[ops_[i]]);
}

void GraphBuilder::find_columns(const Op& op) {
  const auto& out = module_.type(op.results[0]);
  const auto want = [&](ValueId value, uint64_t columns) {
    if (columns != 0) wanted_.emplace(value, columns);
  };
  const auto known = wanted_.find(op.results[0]);
  uint64_t columns = known == wanted_.end() ? 0 : known->second;
  if (op.kind == OpKind::kReshape) return want(op.operands[0], columns);
  if (op.kind == OpKind::kCollective)
    return want(op.operands[0], op.attributes.contains("dimension") ? shared_columns(op) : columns);
  if (op.kind == OpKind::kSlice && keeps_rows(op, columns)) return want(op.operands[0], columns);
  // Turned rows of a computed value have the columns of what computes it.
  if (op.kind == OpKind::kTranspose && module_.op_of(op.operands[0]).kind == OpKind::kParameter)
    return want(op.operands[0], last_columns(module_.type(op.operands[0]).dims));
  if (op.kind == OpKind::kReduce || op.kind == OpKind::kReduceBy) {
    const auto& gone = op.list("dimensions");
    const auto& dims = module_.type(op.operands[0]).dims;
    Dims last(gone.size());
    std::iota(last.begin(), last.end(), static_cast<int64_t>(dims.size() - gone.size()));
    if (std::ranges::is_permutation(gone, last))
      want(op.operands[0], module_.type(op.operands[0]).count() / out.count());
    return;
  }
  if (op.kind == OpKind::kConvolution && module_.type(op.operands[0]).rank() == 4)
    return want(op.operands[0], static_cast<uint64_t>(module_.type(op.operands[0]).dims[3]));
  if (op.kind == OpKind::kDotGeneral) {
    uint64_t k = 1;
    for (const int64_t d : op.list("lhs_contract"))
      k *= static_cast<uint64_t>(module_.type(op.operands[0]).dims[static_cast<size_t>(d)]);
    if (op.list("lhs_contract") == Dims{static_cast<int64_t>(module_.type(op.operands[0]).rank()) - 1})
      want(op.operands[0], k);
    if (op.list("rhs_contract") != Dims{static_cast<int64_t>(module_.type(op.operands[1]).rank()) - 1})
      want(op.operands[1], last_columns(module_.type(op.operands[1]).dims));
    return;
  }
  if (!is_elementwise_kind(op.kind)) return;
  if (columns == 0)
    for (const auto operand : op.operands)
      if (const Op& before = module_.op_of(operand);
          !is_constant(operand) && data_operands(before) != 0 && before.kind != OpKind::kReshape)
        columns = std::max(columns, lies_as_i32(out.element) && module_.type(before.operands[0]).count() == 1
                                        ? folded_columns(out.dims)
                                        : last_columns(out.dims));
  want(op.results[0], columns);
  for (const auto operand : op.operands)
    if (!is_constant(operand)) want(operand, columns);
}

/// Whether rows of so many columns are whole rows of what is sliced.
bool GraphBuilder::keeps_rows(const Op& op, uint64_t columns) const {
  const Dims &sizes = module_.type(op.results[0]).dims, &all = module_.type(op.operands[0]).dims;
  uint64_t kept = 1;  // elements of the last dimensions that are taken whole
  for (size_t d = sizes.size(); d-- > 0 && sizes[d] == all[d];) kept *= static_cast<uint64_t>(sizes[d]);
  return columns != 0 && kept % columns == 0;
}

uint64_t GraphBuilder::columns_of(ValueId value) const {
  const auto found = wanted_.find(value);
  return found == wanted_.end() ? matrix_shape(module_.type(value).dims).columns : found->second;
}

size_t GraphBuilder::new_tensor(const std::string& name, const Dims& dims, uint64_t rows, uint64_t columns) {
  graph_.tensors.push_back({name, dims, rows, columns});
  return graph_.tensors.size() - 1;
}

void GraphBuilder::add(const Op& op) {
  if (is_constant(op.results[0])) return;
  if (op.kind == OpKind::kDotGeneral) return add_product(op);
  if (op.kind == OpKind::kCollective) return add_collective(op);
  if (op.kind == OpKind::kConvolution) return add_convolution(op);
  if (op.kind == OpKind::kReduce) return add_reduce(op);
  if (op.kind == OpKind::kReduceWindow) return add_window(op);
  if (op.kind == OpKind::kReduceBy) return add_search(op);
  if (op.kind == OpKind::kSelectAndScatter) return add_window_scatter(op);
  if (op.kind == OpKind::kScatter) return add_scatter(op);
  if (moves_to_known_places(module_, op)) return add_movement(op);
  if (op.kind == OpKind::kDynamicUpdateSlice) return add_update(op);
  if (data_operands(op) != 0) return add_gather(op);
  add_vector(op);
}

ValueView GraphBuilder::view(ValueId value, const std::string& reader) {
  const auto found = views_.find(value);
  if (found != views_.end()) return found->second;
  const uint64_t count = module_.type(value).count();
  const bool integers = lies_as_i32(module_.type(value).element);
  return views_[value] = {{integers ? constant_tensor(reader, constant_integers(module_, value), count)
                                    : constant_tensor(reader, constant_values(module_, value), count)},
                          nullptr};
}

ValueView GraphBuilder::picked(const Graph& graph, const ValueView& view, std::vector<uint32_t> pick) {
  if (view.from)
    for (uint32_t& i : pick) i = (*view.from)[i];
  if (view.tensors.size() == 1) return {view.tensors, map_of(graph.tensors[view.tensors[0]], std::move(pick))};
  // Tensors that nothing is taken from any more are left out.
  std::vector<uint64_t> begins;
  uint64_t next = 0;
  for (const size_t t : view.tensors) {
    begins.push_back(next);
    next += elements_of(graph.tensors[t]);
  }
  std::vector<bool> used(view.tensors.size());
  const auto source_of = [&](uint32_t i) {
    return static_cast<size_t>(std::ranges::upper_bound(begins, uint64_t{i}) - begins.begin()) - 1;
  };
  for (const uint32_t i : pick) used[source_of(i)] = true;
  ValueView result;
  std::vector<uint64_t> less(view.tensors.size());
  uint64_t dropped = 0;
  for (size_t s = 0; s < used.size(); s++) {
    less[s] = dropped;
    if (used[s])
      result.tensors.push_back(view.tensors[s]);
    else
      dropped += elements_of(graph.tensors[view.tensors[s]]);
  }
  if (dropped != 0)
    for (uint32_t& i : pick) i -= static_cast<uint32_t>(less[source_of(i)]);
  result.from = result.tensors.size() == 1 ? map_of(graph.tensors[result.tensors[0]], std::move(pick))
                                           : std::make_shared<const std::vector<uint32_t>>(std::move(pick));
  return result;
}

void GraphBuilder::add_movement(const Op& op) {
  if (op.kind == OpKind::kReshape) {
    views_[op.results[0]] = view(op.operands[0], op.origin.node);
    return;
  }
  if (data_operands(op) == 1) {
    views_[op.results[0]] = shared(picked(graph_, view(op.operands[0], op.origin.node), moved_from(module_, op)));
    return;
  }
  ValueView all;
  std::vector<uint32_t> from;
  uint64_t base = 0;
  for (size_t i = 0; i < data_operands(op); i++) {
    const ValueView part = view(op.operands[i], op.origin.node);
    const uint64_t count = module_.type(op.operands[i]).count();
    for (uint32_t e = 0; e < count; e++)
      from.push_back(static_cast<uint32_t>(base) + (part.from ? (*part.from)[e] : e));
    for (const size_t t : part.tensors) base += elements_of(graph_.tensors[t]);
    all.tensors.insert(all.tensors.end(), part.tensors.begin(), part.tensors.end());
  }
  all.from = std::make_shared<const std::vector<uint32_t>>(std::move(from));
  views_[op.results[0]] = shared(picked(graph_, all, moved_from(module_, op)));
}

/// Equal layers move their elements alike: equal maps are one.
ValueView GraphBuilder::shared(ValueView view) {
  if (!view.from) return view;
  uint64_t hash = view.from->size();
  for (size_t i = 0, step = view.from->size() / kHashed + 1; i < view.from->size(); i += step)
    hash = hash * 31 + (*view.from)[i];
  auto& maps = maps_[hash];
  for (const ElementMap& map : maps)
    if (*map == *view.from) return {std::move(view.tensors), map};
  maps.push_back(view.from);
  return view;
}

/// Of a uniform tensor all columns are the same: those are taken whose lanes need not change.
ElementMap GraphBuilder::normalized(const ValueView& view, uint64_t count, uint64_t columns) const {
  const Tensor& tensor = graph_.tensors[view.tensors[0]];
  if (view.tensors.size() != 1 || !tensor.uniform) return view.from;
  std::vector<uint32_t> from(count);
  for (uint64_t i = 0; i < count; i++) from[i] = view.from ? (*view.from)[i] : static_cast<uint32_t>(i);
  for (uint64_t row = 0; row < count; row += columns) {
    const uint64_t source = from[row] / tensor.columns;
    bool one = true;  // row of the tensor
    for (uint64_t c = 0; one && c < columns; c++) one = from[row + c] / tensor.columns == source;
    for (uint64_t c = 0; one && c < std::min(columns, tensor.columns); c++)
      from[row + c] = static_cast<uint32_t>(source * tensor.columns + c);
  }
  bool same = count == elements_of(tensor);
  for (uint64_t i = 0; same && i < count; i++) same = from[i] == i;
  return same ? nullptr : std::make_shared<const std::vector<uint32_t>>(std::move(from));
}

size_t GraphBuilder::tensor_of(const std::string& name, const ValueView& view, uint64_t count, uint64_t columns) {
  ElementMap from = normalized(view, count, columns);
  if (!from && graph_.tensors[view.tensors[0]].columns == columns) return view.tensors[0];
  auto& made = made_[{view.tensors, columns}];
  for (const auto& [other, tensor] : made)
    if (other == from || (other && from && *other == *from)) return tensor;
  const size_t y = new_tensor(name, {static_cast<int64_t>(count)}, count / columns, columns);
  if (is_i32(view.tensors[0])) graph_.tensors[y].dtype = WEFT_VPU_DTYPE_I32;
  made.emplace_back(from, y);
  if (!from) {
    std::vector<uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0u);
    from = std::make_shared<const std::vector<uint32_t>>(std::move(all));
  }
  graph_.nodes.emplace_back(RearrangeNode{name, view.tensors, y, shared({view.tensors, from}).from});
  return y;
}

size_t GraphBuilder::constant_tensor(const std::string& name, const std::vector<float>& values, uint64_t columns) {
  const size_t y = new_tensor(name, {static_cast<int64_t>(values.size())}, values.size() / columns, columns);
  graph_.nodes.emplace_back(ConstantNode{name, y, values});
  return y;
}

size_t GraphBuilder::constant_tensor(const std::string& name, const std::vector<int32_t>& integers, uint64_t columns) {
  const size_t y = new_tensor(name, {static_cast<int64_t>(integers.size())}, integers.size() / columns, columns);
  graph_.tensors[y].dtype = WEFT_VPU_DTYPE_I32;
  graph_.nodes.emplace_back(ConstantNode{name, y, {}, integers});
  return y;
}

void GraphBuilder::add_vector(const Op& op) {
  const ValueId result = op.results[0];
  if (op.kind == OpKind::kConvert && module_.type(result).element == ir::ElementType::kF32 &&
      !lies_as_i32(module_.type(op.operands[0]).element)) {
    views_[result] = view(op.operands[0], op.origin.node);  // pred is 0 or 1
    return;
  }
  const Aligned operands = align(op);
  const auto& all = operands.operands;
  size_t y = 0;
  if (op.kind == OpKind::kSelect) {
    y = select(op, operands);
  } else if (all.size() == 1) {
    y = function(op, std::get<size_t>(all[0]));
  } else if (fuse(op, operands)) {
    y = std::get<size_t>(all[is_constant(op.operands[0]) ? 1 : 0]);
  } else {
    // A constant is the second operand, whichever it was; a tensor of constants can be either.
    const bool reversed = !std::holds_alternative<size_t>(all[0]);
    y = operation(op, std::get<size_t>(all[reversed ? 1 : 0]), all[reversed ? 0 : 1], reversed);
  }
  views_[result] = {{y}, operands.from};
}

/// Nodes whose results nothing reads: patterns have made others in their place.
void GraphBuilder::drop_unread() {
  std::vector<bool> read(graph_.tensors.size());
  for (const size_t t : graph_.outputs) read[t] = true;
  std::vector<Node> kept;
  for (size_t i = graph_.nodes.size(); i-- > 0;) {
    if (!read[result_of(graph_.nodes[i])]) continue;
    for (const size_t t : operands_of(graph_.nodes[i])) read[t] = true;
    kept.push_back(std::move(graph_.nodes[i]));
  }
  std::ranges::reverse(kept);
  graph_.nodes = std::move(kept);
}

/// An output that nodes read too, that is an input, or that is two outputs at once gets a copy of its own.
void GraphBuilder::keep_outputs_apart(const std::vector<ir::Output>& outputs) {
  std::vector<size_t> tensors;
  for (size_t i = 0; i < outputs.size(); i++) {
    const auto& output = outputs[i];
    const ValueView v = view(output.value, output.name);
    const Tensor& first = graph_.tensors[v.tensors[0]];
    const uint64_t count = module_.type(output.value).count();
    // Rows that are put together stay whole.
    const bool alike = std::ranges::all_of(
        v.tensors, [&](size_t t) { return graph_.tensors[t].columns == first.columns && !graph_.tensors[t].uniform; });
    const bool rows = alike && first.columns == last_columns(module_.type(output.value).dims);
    const uint64_t wanted = i < state_.stored_columns.size() ? state_.stored_columns[i] : 0;
    const uint64_t columns = wanted != 0                            ? wanted
                             : i < state_.count                     ? graph_.tensors[graph_.inputs[i]].columns
                             : first.uniform && first.rows == count ? 1
                             : v.from && !rows                      ? columns_of(output.value)
                                                                    : first.columns;
    tensors.push_back(tensor_of(output.name, v, count, columns));
  }
  std::set<size_t> taken(graph_.inputs.begin(), graph_.inputs.end());
  for (const auto& node : graph_.nodes) {
    for (const size_t t : operands_of(node)) taken.insert(t);
    if (std::holds_alternative<ConstantNode>(node)) taken.insert(result_of(node));
  }
  for (size_t t = 0; t < graph_.tensors.size(); t++)
    if (graph_.tensors[t].uniform) taken.insert(t);
  for (size_t i = 0; i < outputs.size(); i++) {
    const size_t tensor = tensors[i];
    Tensor named = graph_.tensors[tensor];
    named.name = outputs[i].name;
    named.dims = module_.type(outputs[i].value).dims;
    if (taken.insert(tensor).second) {
      graph_.tensors[tensor] = std::move(named);
      graph_.outputs.push_back(tensor);
      continue;
    }
    named.uniform = false;
    graph_.nodes.emplace_back(CopyNode{named.name, tensor, graph_.tensors.size()});
    graph_.outputs.push_back(graph_.tensors.size());
    graph_.tensors.push_back(std::move(named));
  }
}

Result<Graph> device_graph(const Module& module, std::span<const uint32_t> ops, const std::vector<ir::Output>& inputs,
                           const std::vector<ir::Output>& outputs, const LoopState& state) {
  auto graph = ir::guarded([&] { return GraphBuilder(module, ops, state).run(inputs, outputs); });
  if (!graph.ok()) return graph.error();
  return std::move(graph.value());
}

Result<Graph> whole_device_graph(const Module& module, const DeviceOfSlice& of) {
  const auto f32 = [&](ValueId value) {
    const auto& type = module.type(value);
    return type.element == ir::ElementType::kF32 && type.count() != 0;
  };
  std::vector<uint32_t> ops;
  std::vector<ir::Output> inputs;
  for (const ValueId input : module.inputs) {
    const auto& name = module.input_name(input);
    if (!f32(input))
      return Error{WEFT_ERROR_UNSUPPORTED, fmt::format("input '{}' is {}; the device takes f32 that is not empty", name,
                                                       module.type(input).text())};
    inputs.push_back({name, input});
  }
  for (uint32_t i = 0; i < module.ops().size(); i++) {
    const Op& op = module.ops()[i];
    if (op.kind == OpKind::kParameter) continue;
    if (op.kind == OpKind::kCollective && of.slice != nullptr) {
      ops.push_back(i);
      continue;
    }
    const auto verdict = device_use(module, op);
    if (verdict.use == DeviceUse::kNone)
      return Error{WEFT_ERROR_UNSUPPORTED,
                   fmt::format("'{}' ({}) is for the host: {}", op.origin.node, name_of(op.kind), verdict.reason)};
    ops.push_back(i);
  }
  for (const auto& output : module.outputs) {
    if (device_use(module, module.op_of(output.value)).use == DeviceUse::kOperand)
      return Error{WEFT_ERROR_UNSUPPORTED,
                   fmt::format("output '{}' is a constant: it is computed by no node from an input", output.name)};
    if (!f32(output.value))
      return Error{WEFT_ERROR_UNSUPPORTED, fmt::format("output '{}' is {}; the device makes f32", output.name,
                                                       module.type(output.value).text())};
  }
  auto graph = ir::guarded([&] { return GraphBuilder(module, ops, {}, of).run(inputs, module.outputs); });
  if (!graph.ok()) return graph.error();
  return std::move(graph.value());
}

}  // namespace weft::compiler
