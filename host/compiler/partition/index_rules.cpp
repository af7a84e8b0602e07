// Gather, scatter and dynamic slices whose places are computed. No command takes an address from a tensor, so a place is
// compared with all that it may be: the elements of the row that matches are chosen and summed up with zeros, or, where
// rows are many, multiplied by the matches, in three parts of bf16 each of which a product of the MXU keeps exact. Whole
// rows of what lies in memory are read by their indices.
#include <algorithm>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/partition/graph_builder.hpp"
#include "host/compiler/partition/patterns.hpp"

namespace weft::compiler {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

namespace {

constexpr uint64_t kMaxChosen = 1u << 14;  // elements that are compared one by one where a product could do it
constexpr float kNothing = -0.0f;          // what a sum keeps every element beside; of i32, 0

}  // namespace

/// The place of each window among all that it may have, counted along the computed dimensions, in f32. `clamped`: moved
/// into the operand; else a place beside it is one that nothing has.
size_t GraphBuilder::place_numbers(const Op& op, const Places& places, bool clamped) {
  size_t numbers = 0;
  const auto computed = places.computed();
  for (const auto* component : computed) {
    const ValueView v = picked(graph_, view(op.operands[component->operand], op.origin.node), component->elements);
    const uint64_t columns =
        computed.size() == 1 && !v.from ? graph_.tensors[v.tensors[0]].columns : places.batch_columns;
    size_t at = tensor_of(op.origin.node, v, places.batch, columns);
    if (clamped) {
      at = emit(op, WEFT_VPU_OP_MAX, at, int32_t{0});
      at = emit(op, WEFT_VPU_OP_MIN, at, static_cast<int32_t>(component->choices - 1));
    }
    at = cast(op, at, WEFT_VPU_DTYPE_F32);
    if (component == computed[0])
      numbers = at;
    else
      numbers = emit(op, WEFT_VPU_OP_AXPY, numbers, at, static_cast<float>(component->choices));
  }
  return numbers;
}

/// [windows, choices]: 1 where the window's place is the choice.
size_t GraphBuilder::matches(const Op& op, size_t numbers, uint64_t windows, uint64_t choices) {
  std::vector<uint32_t> repeated(windows * choices);
  for (uint64_t i = 0; i < repeated.size(); i++) repeated[i] = static_cast<uint32_t>(i / choices);
  const size_t beside =
      tensor_of(op.origin.node, picked(graph_, {{numbers}, nullptr}, repeated), repeated.size(), choices);
  std::vector<float> counting(choices);
  for (uint64_t v = 0; v < choices; v++) counting[v] = static_cast<float>(v);
  return emit(op, WEFT_VPU_OP_EQ, beside, counting);
}

/// Rows of ones and zeros times a table, to the last bit: the table is what three tables of bf16 sum up to.
size_t GraphBuilder::exact_product(const Op& op, size_t matches, size_t table) {
  std::vector<size_t> parts;
  for (size_t rest = table; parts.size() < 3;) {
    const uint64_t rows = graph_.tensors[matches].rows, columns = graph_.tensors[table].columns;
    parts.push_back(
        new_tensor(op.origin.node, {static_cast<int64_t>(rows), static_cast<int64_t>(columns)}, rows, columns));
    graph_.nodes.emplace_back(PairProductNode{op.origin.node, matches, rest, parts.back(), 1});
    if (parts.size() < 3) rest = emit(op, WEFT_VPU_OP_SUB, rest, widened(op, cast(op, rest, WEFT_VPU_DTYPE_BF16)));
  }
  return emit(op, WEFT_VPU_OP_ADD, emit(op, WEFT_VPU_OP_ADD, parts[2], parts[1]), parts[0]);
}

/// mask ? a : `otherwise`, a of f32 or i32.
size_t GraphBuilder::where(const Op& op, size_t mask, const Second& a, bool integers, float otherwise) {
  return emit(op, WEFT_VPU_OP_SELECT, integers ? cast(op, mask, WEFT_VPU_DTYPE_I32) : mask, a, otherwise);
}

/// Whether a value is a zero, repeated.
bool GraphBuilder::is_zeros(ValueId value) const {
  const Op* constant = constant_behind(module_, value);
  return constant != nullptr && constant->constant && constant->constant->type.count() == 1 &&
         constant->constant->number(0) == 0;
}

/// The first operand, in rows of so many columns.
size_t GraphBuilder::table_of(const Op& op, uint64_t width) {
  const ValueId value = op.operands[0], base = module_.before_reshapes(value);
  if (is_constant(base)) {
    const auto [found, fresh] = tables_.try_emplace({base, width});
    if (fresh)
      found->second = lies_as_i32(module_.type(base).element)
                          ? constant_tensor(op.origin.node, constant_integers(module_, base), width)
                          : constant_tensor(op.origin.node, constant_values(module_, base), width);
    return found->second;
  }
  const ValueView table = view(value, op.origin.node);
  // Turns of a loop have what they carry as the first of them reads it.
  if (table.from || table.tensors.size() != 1 || graph_.tensors[table.tensors[0]].columns != width)
    ir::unsupported("rows of a table that lies in other rows");
  return table.tensors[0];
}

/// Whole rows of a table, whose indices are moved into it before.
void GraphBuilder::add_rows(const Op& op, const Places& places) {
  const auto& type = module_.type(op.operands[0]);
  const uint64_t width = type.count() / static_cast<uint64_t>(type.dims[0]);
  const size_t table = table_of(op, width);
  const PlaceComponent& component = places.components[0];
  const ValueView indices = picked(graph_, view(op.operands[component.operand], op.origin.node), component.elements);
  size_t at = tensor_of(op.origin.node, indices, places.batch, places.batch);
  at = emit(op, WEFT_VPU_OP_MAX, at, int32_t{0});
  at = emit(op, WEFT_VPU_OP_MIN, at, static_cast<int32_t>(component.choices - 1));
  const size_t y = new_tensor(op.origin.node, module_.type(op.results[0]).dims, places.batch, width);
  if (is_i32(table)) graph_.tensors[y].dtype = WEFT_VPU_DTYPE_I32;
  graph_.nodes.emplace_back(RowsNode{op.origin.node, table, at, y});
  views_[op.results[0]] = {{y}, nullptr};
}

void GraphBuilder::add_gather(const Op& op) {
  const Places places = *places_of(module_, op);
  if (takes_rows(module_, op, places)) return add_rows(op, places);
  const auto computed = places.computed();
  const ir::Dims strides = ir::strides_of(module_.type(op.operands[0]).dims);
  const bool integers = lies_as_i32(module_.type(op.results[0]).element);
  const size_t numbers = place_numbers(op, places, true);
  // How far each choice is from the first one.
  std::vector<uint32_t> offsets{0};
  for (const auto* component : computed) {
    std::vector<uint32_t> wider;
    for (const uint32_t offset : offsets)
      for (uint64_t v = 0; v < component->choices; v++)
        wider.push_back(offset + static_cast<uint32_t>(v * static_cast<uint64_t>(strides[component->dimension])));
    offsets = std::move(wider);
  }
  const uint64_t elements = places.first.size(), choices = offsets.size(), width = elements / places.batch;
  const ValueView operand = view(op.operands[0], op.origin.node);
  if (!integers && computed.size() == places.components.size() && elements * choices > kMaxChosen) {
    // One table for all windows: its rows are the choices.
    std::vector<uint32_t> table(choices * width), order(elements);
    std::vector<uint64_t> seen(places.batch);
    for (uint64_t i = 0; i < elements; i++) {
      const uint64_t inside = seen[places.window[i]]++;
      order[i] = static_cast<uint32_t>(places.window[i] * width + inside);
      if (places.window[i] != 0) continue;
      for (uint64_t v = 0; v < choices; v++)
        table[v * width + inside] = static_cast<uint32_t>(places.first[i]) + offsets[v];
    }
    const size_t rows = tensor_of(op.origin.node, picked(graph_, operand, std::move(table)), choices * width, width);
    const size_t y = exact_product(op, matches(op, numbers, places.batch, choices), rows);
    views_[op.results[0]] = picked(graph_, {{y}, nullptr}, std::move(order));
    return;
  }
  std::vector<uint32_t> from(elements * choices), at(elements * choices);
  std::vector<float> counting(choices);
  for (uint64_t v = 0; v < choices; v++) counting[v] = static_cast<float>(v);
  for (uint64_t i = 0; i < from.size(); i++) {
    from[i] = static_cast<uint32_t>(places.first[i / choices]) + offsets[i % choices];
    at[i] = places.window[i / choices];
  }
  const size_t beside =
      tensor_of(op.origin.node, picked(graph_, {{numbers}, nullptr}, std::move(at)), from.size(), choices);
  const size_t mask = emit(op, WEFT_VPU_OP_EQ, beside, counting);
  const size_t all = tensor_of(op.origin.node, picked(graph_, operand, std::move(from)), elements * choices, choices);
  const size_t y = reduced(op, WEFT_VPU_OP_SUM, where(op, mask, all, integers, kNothing));
  std::vector<uint32_t> first(elements);
  for (uint64_t i = 0; i < elements; i++) first[i] = static_cast<uint32_t>(i * choices);
  views_[op.results[0]] = picked(graph_, {{y}, nullptr}, std::move(first));
}

/// Elements of the updates that `update` names in place of the operand's where the place is the one of `choice`.
void GraphBuilder::overwrite(const Op& op, ValueId updates, const Places& places, const Writers& writers,
                             const std::optional<size_t>& numbers, bool adds, ValueView& target) {
  const auto& type = module_.type(op.results[0]);
  const bool integers = lies_as_i32(type.element);
  const uint64_t count = type.count(), columns = columns_of(op.results[0]);
  std::vector<uint32_t> from(count), at(count);
  for (uint64_t e = 0; e < count; e++) {
    const auto update = static_cast<uint64_t>(std::max<int64_t>(writers.update[e], 0));
    from[e] = static_cast<uint32_t>(update), at[e] = places.window[update];
  }
  const Second written =
      tensor_of(op.origin.node, picked(graph_, view(updates, op.origin.node), std::move(from)), count, columns);
  size_t mask = 0;
  if (numbers) {
    const size_t beside =
        tensor_of(op.origin.node, picked(graph_, {{*numbers}, nullptr}, std::move(at)), count, columns);
    mask = emit(op, WEFT_VPU_OP_EQ, beside, constant_second(op.origin.node, writers.choice, columns));
  } else {
    std::vector<float> known(count);
    for (uint64_t e = 0; e < count; e++) known[e] = writers.update[e] < 0 ? 0.0f : 1.0f;
    mask = constant_tensor(op.origin.node, known, columns);
  }
  const bool zeros = target.tensors.empty() && is_zeros(op.operands[0]);
  size_t y = where(op, mask, written, integers, zeros ? 0.0f : kNothing);
  if (!zeros) {
    if (target.tensors.empty()) target = view(op.operands[0], op.origin.node);
    size_t kept = tensor_of(op.origin.node, target, count, columns);
    if (!adds) kept = where(op, emit(op, WEFT_VPU_OP_EQ, mask, 0.0f), kept, integers, kNothing);
    y = emit(op, WEFT_VPU_OP_ADD, kept, y);
  }
  target = {{y}, nullptr};
}

void GraphBuilder::add_scatter(const Op& op) {
  const Places places = *places_of(module_, op);
  const auto computed = places.computed();
  const bool adds = op.word("kind") == "add";
  std::optional<size_t> numbers;
  if (!computed.empty()) numbers = place_numbers(op, places, false);
  ValueView& result = views_[op.results[0]];
  if (const auto writers = writers_of(module_, op, places)) {
    overwrite(op, op.operands[2], places, *writers, numbers, adds, result);
    return;
  }
  // Several windows may be added to one place: matches, turned, times the updates.
  const uint64_t choices = computed[0]->choices, elements = places.first.size(), width = elements / places.batch;
  const size_t by_window = matches(op, *numbers, places.batch, choices);
  std::vector<uint32_t> turned(choices * places.batch), rows(elements);
  for (uint64_t i = 0; i < turned.size(); i++)
    turned[i] = static_cast<uint32_t>(i % places.batch * choices + i / places.batch);
  const size_t by_choice = tensor_of(op.origin.node, picked(graph_, {{by_window}, nullptr}, std::move(turned)),
                                     choices * places.batch, places.batch);
  const uint64_t step =
      static_cast<uint64_t>(ir::strides_of(module_.type(op.operands[0]).dims)[computed[0]->dimension]);
  std::vector<uint32_t> order(choices * width);
  std::vector<uint64_t> seen(places.batch);
  for (uint64_t i = 0; i < elements; i++) {
    const uint64_t inside = seen[places.window[i]]++;
    rows[places.window[i] * width + inside] = static_cast<uint32_t>(i);
    if (places.window[i] != 0) continue;
    for (uint64_t v = 0; v < choices; v++)
      order[static_cast<uint64_t>(places.first[i]) + v * step] = static_cast<uint32_t>(v * width + inside);
  }
  const size_t updates =
      tensor_of(op.origin.node, picked(graph_, view(op.operands[2], op.origin.node), std::move(rows)), elements, width);
  const ValueView sums = picked(graph_, {{exact_product(op, by_choice, updates)}, nullptr}, std::move(order));
  if (is_zeros(op.operands[0])) {
    result = sums;
    return;
  }
  const uint64_t count = module_.type(op.results[0]).count(), columns = columns_of(op.results[0]);
  const size_t before = tensor_of(op.origin.node, view(op.operands[0], op.origin.node), count, columns);
  result = {{emit(op, WEFT_VPU_OP_ADD, before, tensor_of(op.origin.node, sums, count, columns))}, nullptr};
}

/// Row by row of the update along the computed dimension.
void GraphBuilder::add_update(const Op& op) {
  const Places places = *places_of(module_, op);
  const auto computed = places.computed();
  const auto &dims = module_.type(op.operands[0]).dims, &update = module_.type(op.operands[1]).dims;
  const size_t numbers = place_numbers(op, places, true), d = computed[0]->dimension;
  const auto stride = static_cast<uint64_t>(ir::strides_of(dims)[d]);
  const auto inner = static_cast<uint64_t>(ir::strides_of(update)[d]);
  ValueView target;
  for (int64_t row = 0; row < update[d]; row++) {
    Writers writers{std::vector<int64_t>(ir::count_of(dims), -1), std::vector<float>(ir::count_of(dims), -1)};
    for (uint64_t u = 0; u < places.first.size(); u++)
      for (uint64_t v = 0; static_cast<int64_t>(u / inner) % update[d] == row && v < computed[0]->choices; v++) {
        const uint64_t e = static_cast<uint64_t>(places.first[u]) + v * stride;
        writers.update[e] = static_cast<int64_t>(u), writers.choice[e] = static_cast<float>(v);
      }
    overwrite(op, op.operands[1], places, writers, numbers, false, target);
  }
  views_[op.results[0]] = target;
}

}  // namespace weft::compiler
