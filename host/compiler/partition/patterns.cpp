// Regions are told by their expressions, written out; places by the parts that their indices are put together from.
#include "host/compiler/partition/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "host/compiler/partition/value_views.hpp"

namespace weft::compiler {

using ir::Dims;
using ir::ElementType;
using ir::Module;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

namespace {

/// A region's value as a term of its inputs a, b, c, ...
std::string term(const Module& region, ValueId value) {
  const auto input = std::ranges::find(region.inputs, value);
  if (input != region.inputs.end()) return std::string(1, static_cast<char>('a' + (input - region.inputs.begin())));
  const Op& op = region.op_of(value);
  if (op.constant) return fmt::format("{}", op.constant->number(0));
  std::string text(name_of(op.kind));
  if (op.kind == OpKind::kCompare) text = op.word("direction");
  for (size_t i = 0; i < op.operands.size(); i++)
    text += fmt::format("{}{}", i == 0 ? "(" : ",", term(region, op.operands[i]));
  return text + ")";
}

bool is_scalar(const Module& module, ValueId value, double number) {
  const Op* constant = constant_behind(module, value);
  return constant != nullptr && constant->constant && constant->constant->number(0) == number;
}

/// Whether a constant counts along dimension d.
bool counts_along(const Module& module, ValueId value, size_t d) {
  if (constant_behind(module, value) == nullptr) return false;
  const auto tensor = constant_tensor_of(module, value);
  const Dims strides = ir::strides_of(tensor->type.dims);
  for (uint64_t i = 0; i < tensor->type.count(); i++)
    if (tensor->integer(i) != static_cast<int64_t>(i) / strides[d] % tensor->type.dims[d]) return false;
  return true;
}

bool contains(const Dims& list, size_t d) { return std::ranges::find(list, static_cast<int64_t>(d)) != list.end(); }

}  // namespace

std::optional<Extreme> search_of(const Module& module, const Op& op) {
  if (op.operands.size() != 4 || op.list("dimensions").size() != 1) return std::nullopt;
  const auto& in = module.type(op.operands[0]);
  const ElementType places = module.type(op.operands[1]).element;
  if (in.element != ElementType::kF32 || places != ElementType::kI32 || in.count() == 0) return std::nullopt;
  const Module& region = *op.regions[0];
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Extreme extreme : {Extreme::kLargest, Extreme::kSmallest}) {
    const bool largest = extreme == Extreme::kLargest;
    const std::string better = fmt::format("or({}(a,c),ne(a,a))", largest ? "gt" : "lt");
    if (term(region, region.outputs[0].value) == fmt::format("select({},a,c)", better) &&
        term(region, region.outputs[1].value) == fmt::format("select(or({},and(eq(a,c),lt(b,d))),b,d)", better) &&
        is_scalar(module, op.operands[2], largest ? -kInfinity : kInfinity) && is_scalar(module, op.operands[3], 0) &&
        counts_along(module, op.operands[1], static_cast<size_t>(op.list("dimensions")[0])))
      return extreme;
  }
  return std::nullopt;
}

std::optional<Extreme> window_scatter_of(const Module& module, const Op& op) {
  const Module &chooses = *op.regions[0], &combines = *op.regions[1];
  const std::string choice = term(chooses, chooses.outputs[0].value);
  if (term(combines, combines.outputs[0].value) != "add(a,b)" || !is_scalar(module, op.operands[2], 0))
    return std::nullopt;
  if (choice == "ge(a,b)") return Extreme::kLargest;
  if (choice == "le(a,b)") return Extreme::kSmallest;
  return std::nullopt;
}

namespace {

/// One piece of the indices: some of each vector's components.
struct Piece {
  ValueId value;
  size_t first = 0, count = 1, operand = 1;
};

/// What gather, scatter and the dynamic slices have in common.
struct Indexing {
  Dims batched;      ///< of the result, or of what is written
  Dims window_dims;  ///< of these, the ones that count within a window
  Dims kept, map;    ///< dimensions of the operand: that a window has, that the indices count along
  Dims sizes;        ///< of a window, by dimension of the operand
  std::vector<Piece> pieces;
  uint64_t inner = 1;  ///< index vectors between neighbours in the dimension before the components
  bool clamps = true;  ///< else what lies beside the operand is dropped
};

Indexing dynamic_indexing(const Module& module, const Op& op) {
  const size_t data = data_operands(op);
  Indexing by;
  by.batched = by.sizes = op.kind == OpKind::kDynamicSlice ? op.list("slice_sizes") : module.type(op.operands[1]).dims;
  for (size_t d = 0; d < by.batched.size(); d++) {
    const auto dim = static_cast<int64_t>(d);
    by.window_dims.push_back(dim), by.kept.push_back(dim), by.map.push_back(dim);
    by.pieces.push_back({op.operands[data + d], d, 1, data + d});
  }
  return by;
}

Indexing vector_indexing(const Module& module, const Op& op) {
  const bool gathers = op.kind == OpKind::kGather;
  Indexing by;
  by.clamps = gathers;
  by.batched = module.type(gathers ? op.results[0] : op.operands[2]).dims;
  by.window_dims = op.list(gathers ? "offset_dims" : "update_window_dims");
  by.map = op.list(gathers ? "start_index_map" : "scatter_dims_to_operand_dims");
  const Dims& dropped = op.list(gathers ? "collapsed_slice_dims" : "inserted_window_dims");
  Dims windows;
  for (size_t d = 0; d < by.batched.size(); d++)
    if (contains(by.window_dims, d)) windows.push_back(by.batched[d]);
  for (size_t d = 0; d < module.type(op.operands[0]).rank(); d++) {
    by.sizes.push_back(contains(dropped, d) ? 1 : windows[by.kept.size()]);
    if (!contains(dropped, d)) by.kept.push_back(static_cast<int64_t>(d));
  }
  const Op& indices = module.op_of(op.operands[1]);
  const auto vector = static_cast<size_t>(op.integer("index_vector_dim"));
  const auto& dims = module.type(op.operands[1]).dims;
  for (size_t d = vector + 1; d < dims.size(); d++) by.inner *= static_cast<uint64_t>(dims[d]);
  if (indices.kind == OpKind::kConcatenate && indices.integer("dimension") == static_cast<int64_t>(vector)) {
    size_t first = 0;
    for (const ValueId part : indices.operands) {
      const auto count = static_cast<size_t>(module.type(part).dims[vector]);
      by.pieces.push_back({part, first, count});
      first += count;
    }
  } else {
    by.pieces.push_back({op.operands[1], 0, by.map.size()});
  }
  return by;
}

}  // namespace

std::vector<const PlaceComponent*> Places::computed() const {
  std::vector<const PlaceComponent*> found;
  for (const auto& component : components)
    if (component.computed) found.push_back(&component);
  return found;
}

std::optional<Places> places_of(const Module& module, const Op& op) {
  const bool dynamic = op.kind == OpKind::kDynamicSlice || op.kind == OpKind::kDynamicUpdateSlice;
  const Indexing by = dynamic ? dynamic_indexing(module, op) : vector_indexing(module, op);
  const Dims& dims = module.type(op.operands[0]).dims;
  const Dims strides = ir::strides_of(dims);
  Places places;
  Dims batch_dims;
  for (size_t d = 0; d < by.batched.size(); d++)
    if (!contains(by.window_dims, d)) batch_dims.push_back(by.batched[d]);
  places.batch = ir::count_of(batch_dims), places.batch_columns = last_columns(batch_dims);
  // Where the constant components of each window's index lie; computed ones are 0.
  std::vector<int64_t> begins(places.batch);
  for (const Piece& piece : by.pieces) {
    const bool constant = constant_behind(module, piece.value) != nullptr;
    if (!constant && piece.count != 1) return std::nullopt;
    const auto values = constant ? constant_tensor_of(module, piece.value) : nullptr;
    for (size_t c = 0; c < piece.count; c++) {
      const auto d = static_cast<size_t>(by.map[piece.first + c]);
      const int64_t last = dims[d] - by.sizes[d];
      PlaceComponent component{d, static_cast<uint64_t>(last + 1), !constant, piece.operand, {}};
      const uint64_t vector = dynamic ? 1 : by.map.size(), at_vector = dynamic ? 0 : piece.first + c;
      for (uint64_t b = 0; b < places.batch; b++)
        component.elements.push_back(
            static_cast<uint32_t>((b / by.inner * vector + at_vector) * by.inner + b % by.inner));
      places.components.push_back(std::move(component));
      for (uint64_t b = 0; constant && b < places.batch; b++) {
        int64_t at = values->integer((b / by.inner * piece.count + c) * by.inner + b % by.inner);
        if (by.clamps) at = std::clamp<int64_t>(at, 0, last);
        if (at < 0 || at > last)
          begins[b] = -1;
        else if (begins[b] >= 0)
          begins[b] += at * strides[d];
      }
    }
  }
  const Dims batched_strides = ir::strides_of(by.batched), batch_strides = ir::strides_of(batch_dims);
  const uint64_t count = ir::count_of(by.batched);
  for (uint64_t i = 0; i < count; i++) {
    int64_t inside = 0, window = 0;
    for (size_t d = 0, kept = 0, batch = 0; d < by.batched.size(); d++) {
      const int64_t at = static_cast<int64_t>(i) / batched_strides[d] % by.batched[d];
      if (contains(by.window_dims, d))
        inside += at * strides[static_cast<size_t>(by.kept[kept++])];
      else
        window += at * batch_strides[batch++];
    }
    places.window.push_back(static_cast<uint32_t>(window));
    const int64_t begin = begins[static_cast<size_t>(window)];
    places.first.push_back(begin < 0 ? -1 : begin + inside);
  }
  return places;
}

bool takes_rows(const Module& module, const Op& op, const Places& places) {
  constexpr uint64_t kMostRows = 65535;  // of one command
  if (op.kind != OpKind::kGather || places.components.size() != 1) return false;
  const PlaceComponent& component = places.components[0];
  const auto& table = module.type(op.operands[0]);
  // An input lies in rows of one length for all of its readers.
  const bool in_memory = module.op_of(op.operands[0]).kind == OpKind::kParameter ||
                         module.op_of(module.before_reshapes(op.operands[0])).kind == OpKind::kConstant;
  if (!in_memory || !component.computed || component.dimension != 0 || table.rank() < 2 || table.dims[0] > INT32_MAX ||
      component.choices != static_cast<uint64_t>(table.dims[0]) || places.batch > kMostRows ||
      (table.element != ElementType::kF32 && !is_word(table.element)))
    return false;
  const uint64_t width = table.count() / static_cast<uint64_t>(table.dims[0]);
  if (places.first.size() != places.batch * width) return false;
  for (uint64_t i = 0; i < places.first.size(); i++)
    if (places.first[i] != static_cast<int64_t>(i % width) || places.window[i] != i / width) return false;
  return true;
}

std::string refusal_of_places(const Module& module, const Op& op, uint64_t most) {
  const auto at_computed = [&](const char* why) {
    return fmt::format("{} at computed places{}", name_of(op.kind), why);
  };
  const bool dynamic = op.kind == OpKind::kDynamicSlice || op.kind == OpKind::kDynamicUpdateSlice;
  for (size_t i = dynamic ? data_operands(op) : 1; i < (dynamic ? op.operands.size() : 2); i++)
    if (module.type(op.operands[i]).element != ElementType::kI32) return at_computed(" that are not i32");
  const auto places = places_of(module, op);
  if (!places) return at_computed("");
  const auto computed = places->computed();
  const auto& operand = module.type(op.operands[0]);
  uint64_t choices = 1;
  for (const auto* component : computed) choices *= component->choices;
  const uint64_t elements = places->first.size();
  if (elements <= most && takes_rows(module, op, *places)) return {};
  if (operand.count() > most || elements > most) return at_computed(fmt::format(" of {} elements", elements).c_str());
  if (op.kind == OpKind::kGather || op.kind == OpKind::kDynamicSlice) {
    if (choices <= most / elements) return {};
    const bool product = computed.size() == places->components.size() && operand.element == ElementType::kF32;
    if (product && choices <= most / places->batch && choices <= most / (elements / places->batch)) return {};
    return at_computed(fmt::format(", {} of them for each of {} elements", choices, elements).c_str());
  }
  if (computed.size() > 1) return at_computed(" in several dimensions");
  if (op.kind == OpKind::kDynamicUpdateSlice) {
    const auto d = computed.empty() ? size_t{0} : computed[0]->dimension;
    constexpr int64_t kMaxWide = 16;
    if (!computed.empty() && module.type(op.operands[1]).dims[d] > kMaxWide) return at_computed(" of many rows");
    return {};
  }
  const auto& kind = op.word("kind");
  if (kind != "set" && kind != "add") return at_computed(fmt::format(", of kind {}", kind).c_str());
  if (!computed.empty() && computed[0]->choices != static_cast<uint64_t>(operand.dims[computed[0]->dimension]))
    return at_computed(" of several rows");
  const bool product = kind == "add" && operand.element == ElementType::kF32 &&
                       computed.size() == places->components.size() && choices <= most / places->batch &&
                       elements / places->batch * choices == operand.count();
  if (product) return {};
  if (choices > most / elements) return at_computed(fmt::format(", {} for {} elements", choices, elements).c_str());
  return writers_of(module, op, *places) ? "" : at_computed(" that may be equal");
}

std::optional<Writers> writers_of(const Module& module, const Op& op, const Places& places) {
  const auto computed = places.computed();
  const auto& operand = module.type(op.operands[0]);
  const Dims strides = ir::strides_of(operand.dims);
  Writers writers{std::vector<int64_t>(operand.count(), -1), std::vector<float>(operand.count(), -1)};
  const uint64_t choices = computed.empty() ? 1 : computed[0]->choices;
  const int64_t step = computed.empty() ? 0 : strides[computed[0]->dimension];
  for (size_t u = 0; u < places.first.size(); u++) {
    if (places.first[u] < 0) continue;
    for (uint64_t v = 0; v < choices; v++) {
      const auto e = static_cast<size_t>(places.first[u] + static_cast<int64_t>(v) * step);
      if (writers.update[e] >= 0) return std::nullopt;
      writers.update[e] = static_cast<int64_t>(u), writers.choice[e] = static_cast<float>(v);
    }
  }
  return writers;
}

std::optional<ValueId> divided_by_its_sums(const Module& module, const Op& product) {
  const auto last = static_cast<int64_t>(module.type(product.operands[0]).rank()) - 1;
  const Op& quotient = module.op_of(product.operands[0]);
  if (product.list("lhs_contract") != Dims{last} || quotient.kind != OpKind::kDivide) return std::nullopt;
  const Op* sums = &module.op_of(quotient.operands[1]);
  if (sums->kind != OpKind::kBroadcast) return std::nullopt;
  // The sum of row r stands in all columns of row r.
  const auto& wide = module.type(quotient.operands[1]).dims;
  const auto& narrow = module.type(sums->operands[0]).dims;
  const auto& where = sums->list("dimensions");
  for (size_t d = 0; d < where.size(); d++)
    if (where[d] != static_cast<int64_t>(d) || (where[d] == last ? narrow[d] != 1 : narrow[d] != wide[d]))
      return std::nullopt;
  if (static_cast<int64_t>(where.size()) < last) return std::nullopt;
  sums = &module.op_of(sums->operands[0]);
  if (sums->kind == OpKind::kReshape) {
    Dims kept = module.type(sums->operands[0]).dims;
    kept.push_back(1);
    if (static_cast<int64_t>(kept.size()) != last + 1 || kept != module.type(sums->results[0]).dims)
      return std::nullopt;
    sums = &module.op_of(sums->operands[0]);
  }
  if (sums->kind != OpKind::kReduce || sums->operands.size() != 1 || sums->word("kind") != "add" ||
      sums->list("dimensions") != Dims{last} || sums->operands[0] != quotient.operands[0])
    return std::nullopt;
  // Of numbers with signs a sum of what is rounded may be far from the rounded sum.
  if (module.op_of(quotient.operands[0]).kind != OpKind::kExponential) return std::nullopt;
  return quotient.operands[0];
}

}  // namespace weft::compiler
