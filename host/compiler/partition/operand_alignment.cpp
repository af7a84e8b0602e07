// Operands of an elementwise operator side by side: as they lie if they lie alike, else in rows of one length.
#include <algorithm>
#include <bit>

#include "host/compiler/partition/graph_builder.hpp"

namespace weft::compiler {

using ir::Op;

namespace {

template <typename Element>
bool equal_bits(Element a, Element b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

template <typename Element>
bool all_equal(const std::vector<Element>& values) {
  return std::ranges::all_of(values, [&](Element v) { return equal_bits(v, values[0]); });
}

uint64_t elements_of(const Tensor& tensor) { return tensor.rows * tensor.columns; }

}  // namespace

/// A number or a tensor.
GraphBuilder::Second GraphBuilder::constant_second(const std::string& name, const std::vector<int32_t>& integers,
                                                   uint64_t columns) {
  if (all_equal(integers)) return integers[0];
  return constant_tensor(name, integers, columns);
}

/// A number, a row or a tensor, whichever says it.
GraphBuilder::Second GraphBuilder::constant_second(const std::string& name, std::vector<float> values,
                                                   uint64_t columns) {
  if (all_equal(values)) return values[0];
  if (std::equal(values.begin() + static_cast<ptrdiff_t>(columns), values.end(), values.begin(), equal_bits<float>)) {
    values.resize(columns);
    return values;
  }
  return constant_tensor(name, values, columns);
}

/// Where all operands are the same elements of tensors of one shape, or constants: the tensors themselves are read, and
/// the result's elements lie as theirs do.
bool GraphBuilder::align_in_place(const Op& op, Aligned& aligned) {
  const uint64_t count = module_.type(op.results[0]).count();
  const ValueView* first = nullptr;
  bool whole = true;  // each element of the tensors is one of the result
  for (const auto value : op.operands) {
    if (is_constant(value)) continue;
    const ValueView& other = views_.at(value);
    if (other.tensors.size() != 1) return false;
    if (first == nullptr) {
      first = &other;
      const Tensor& tensor = graph_.tensors[other.tensors[0]];
      if ((tensor.uniform ? tensor.rows : elements_of(tensor)) > count) return false;
      aligned.from = other.from, aligned.rows = tensor.rows, aligned.columns = tensor.columns;
      whole = !tensor.uniform && elements_of(tensor) == count;
      if (whole && other.from) {
        std::vector<bool> seen(count);
        for (const uint32_t i : *other.from) seen[i] = true;
        whole = std::ranges::all_of(seen, [](bool s) { return s; });
      }
      continue;
    }
    const Tensor &a = graph_.tensors[first->tensors[0]], &b = graph_.tensors[other.tensors[0]];
    if (a.rows != b.rows || a.columns != b.columns) return false;
    if (first->from != other.from && !(first->from && other.from && *first->from == *other.from)) return false;
  }
  for (const auto value : op.operands) {
    if (!is_constant(value)) {
      aligned.operands.emplace_back(views_.at(value).tensors[0]);
      continue;
    }
    const bool integers = lies_as_i32(module_.type(value).element);
    if (const auto row = integers || aligned.from || !whole ? std::nullopt : repeated_row(module_, value);
        row && row->size() == aligned.columns) {
      aligned.operands.push_back(constant_second(op.origin.node, *row, aligned.columns));
      continue;
    }
    auto constant = integers ? constant_in_place(op.origin.node, constant_integers(module_, value), aligned, whole)
                             : constant_in_place(op.origin.node, constant_values(module_, value), aligned, whole);
    if (!constant) return false;
    aligned.operands.push_back(std::move(*constant));
  }
  return true;
}

/// A constant in the order of the tensors beside it; nothing: it is no number, and they are not `whole`.
template <typename Element>
std::optional<GraphBuilder::Second> GraphBuilder::constant_in_place(const std::string& name,
                                                                    std::vector<Element> values, const Aligned& beside,
                                                                    bool whole) {
  if (all_equal(values)) return values[0];
  if (!whole) return std::nullopt;
  if (beside.from) {
    std::vector<Element> ordered(values.size());
    for (size_t i = 0; i < values.size(); i++) ordered[(*beside.from)[i]] = values[i];
    values = std::move(ordered);
  }
  return constant_second(name, std::move(values), beside.columns);
}

GraphBuilder::Aligned GraphBuilder::align(const Op& op) {
  Aligned aligned;
  if (align_in_place(op, aligned)) return aligned;
  aligned = {};
  if (align_as_pixels(op, aligned)) return aligned;
  const uint64_t count = module_.type(op.results[0]).count();
  uint64_t columns = 0;
  if (const auto known = wanted_.find(op.results[0]); known != wanted_.end()) columns = known->second;
  for (const auto value : op.operands)
    if (columns == 0 && !is_constant(value))
      if (const ValueView& v = views_.at(value); !v.from && !graph_.tensors[v.tensors[0]].uniform)
        columns = graph_.tensors[v.tensors[0]].columns;
  if (columns == 0) columns = last_columns(module_.type(op.results[0]).dims);
  aligned.rows = count / columns, aligned.columns = columns;
  for (const auto value : op.operands) {
    if (!is_constant(value))
      aligned.operands.emplace_back(tensor_of(op.origin.node, views_.at(value), count, columns));
    else if (lies_as_i32(module_.type(value).element))
      aligned.operands.push_back(constant_second(op.origin.node, constant_integers(module_, value), columns));
    else
      aligned.operands.push_back(constant_second(op.origin.node, constant_values(module_, value), columns));
  }
  return aligned;
}

}  // namespace weft::compiler
