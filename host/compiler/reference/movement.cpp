// Operators that make tensors or move elements: what moves is bytes, whatever the type.
#include <algorithm>
#include <cstring>

#include "host/compiler/reference/region.hpp"
#include "host/compiler/reference/rules.hpp"

namespace weft::compiler::reference {
namespace {

using ir::Dims;

/// A type of as many bytes as an element.
template <typename F>
void visit_bytes(ir::ElementType type, F f) {
  switch (ir::bytes_of(type)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

/// Copies an array of `dims` between two tensors whose elements are `from` and `to` apart in each dimension.
template <typename T>
void copy_strided(const T* source, const Dims& from, T* target, const Dims& to, const Dims& dims) {
  if (ir::count_of(dims) == 0) return;
  if (dims.empty()) {
    *target = *source;
    return;
  }
  const size_t last = dims.size() - 1;
  Dims outer(dims.begin(), dims.end() - 1);
  Odometer at(outer);
  for (uint64_t row = 0, rows = ir::count_of(outer); row < rows; row++, at.next()) {
    int64_t s = 0, t = 0;
    for (size_t d = 0; d < last; d++) s += at.at()[d] * from[d], t += at.at()[d] * to[d];
    for (int64_t i = 0; i < dims[last]; i++) target[t + i * to[last]] = source[s + i * from[last]];
  }
}

/// Start indices are moved so that a slice of `sizes` lies inside.
Dims starts_of(const Operands& in, size_t first, const Dims& sizes) {
  Dims start;
  for (size_t d = 0; d < sizes.size(); d++) {
    const ir::Tensor& index = *in[first + d];
    const int64_t most = in[0]->type.dims[d] - sizes[d];
    // An index of 64 bits without a sign may be beyond what the others hold.
    const bool beyond = index.type.element == ir::ElementType::kU64 && index.integer(0) < 0;
    start.push_back(beyond ? most : std::clamp<int64_t>(index.integer(0), 0, most));
  }
  return start;
}

int64_t offset(const Dims& at, const Dims& strides) {
  int64_t sum = 0;
  for (size_t d = 0; d < at.size(); d++) sum += at[d] * strides[d];
  return sum;
}

}  // namespace

Results constant(const ir::Op& op, const Operands&, const ir::Types&) { return {op.constant}; }

Results iota(const ir::Op& op, const Operands&, const ir::Types& out) {
  auto result = make(out[0]);
  const auto d = static_cast<size_t>(op.integer("dimension"));
  const int64_t stride = ir::strides_of(out[0].dims)[d], size = out[0].dims[d];
  ir::visit_type(out[0].element, [&](auto t) {
    using T = typename decltype(t)::type;
    for (int64_t i = 0, n = static_cast<int64_t>(out[0].count()); i < n; i++) {
      const int64_t value = i / stride % size;
      if constexpr (std::is_integral_v<T>)
        result->as<T>()[i] = narrow<T>(value);
      else
        result->as<T>()[i] = static_cast<T>(static_cast<double>(value));
    }
  });
  return {result};
}

Results broadcast(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const Dims own = ir::strides_of(in[0]->type.dims);
  const Dims& where = op.list("dimensions");
  Dims from(out[0].rank());
  for (size_t i = 0; i < where.size(); i++)
    if (in[0]->type.dims[i] != 1) from[static_cast<size_t>(where[i])] = own[i];
  visit_bytes(out[0].element, [&]<typename T>(T) {
    copy_strided(in[0]->as<T>(), from, result->as<T>(), ir::strides_of(out[0].dims), out[0].dims);
  });
  return {result};
}

Results reshape(const ir::Op&, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  if (!result->data.empty()) std::memcpy(result->data.data(), in[0]->data.data(), result->data.size());
  return {result};
}

Results transpose(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const Dims own = ir::strides_of(in[0]->type.dims);
  Dims from;
  for (const int64_t d : op.list("permutation")) from.push_back(own[static_cast<size_t>(d)]);
  visit_bytes(out[0].element, [&]<typename T>(T) {
    copy_strided(in[0]->as<T>(), from, result->as<T>(), ir::strides_of(out[0].dims), out[0].dims);
  });
  return {result};
}

Results slice(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  Dims from = ir::strides_of(in[0]->type.dims);
  const int64_t first = offset(op.list("start"), from);
  for (size_t d = 0; d < from.size(); d++) from[d] *= op.list("stride")[d];
  visit_bytes(out[0].element, [&]<typename T>(T) {
    copy_strided(in[0]->as<T>() + first, from, result->as<T>(), ir::strides_of(out[0].dims), out[0].dims);
  });
  return {result};
}

Results dynamic_slice(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const Dims from = ir::strides_of(in[0]->type.dims), start = starts_of(in, 1, op.list("slice_sizes"));
  visit_bytes(out[0].element, [&]<typename T>(T) {
    copy_strided(in[0]->as<T>() + offset(start, from), from, result->as<T>(), ir::strides_of(out[0].dims), out[0].dims);
  });
  return {result};
}

Results dynamic_update_slice(const ir::Op&, const Operands& in, const ir::Types& out) {
  const Dims start = starts_of(in, 2, in[1]->type.dims), to = ir::strides_of(out[0].dims);
  // In place if nothing else reads the operand: a loop that fills an array writes each element once.
  auto result = in[0].use_count() == 1 ? std::const_pointer_cast<ir::Tensor>(in[0]) : writable(in[0]);
  visit_bytes(out[0].element, [&]<typename T>(T) {
    copy_strided(in[1]->as<T>(), ir::strides_of(in[1]->type.dims), result->as<T>() + offset(start, to), to,
                 in[1]->type.dims);
  });
  return {result};
}

Results pad(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const Dims &low = op.list("low"), &interior = op.list("interior"), &size = in[0]->type.dims;
  const Dims from = ir::strides_of(size), to = ir::strides_of(out[0].dims);
  // The elements of the operand that land inside the result, in each dimension.
  Dims first(size.size()), count(size.size()), source(size.size()), target(size.size());
  for (size_t d = 0; d < size.size(); d++) {
    const int64_t step = interior[d] + 1;
    first[d] = low[d] >= 0 ? 0 : (-low[d] + step - 1) / step;
    int64_t end = size[d];
    while (end > first[d] && low[d] + (end - 1) * step >= out[0].dims[d]) end--;
    count[d] = std::max<int64_t>(end - first[d], 0);
    source[d] = from[d];
    target[d] = to[d] * step;
  }
  visit_bytes(out[0].element, [&]<typename T>(T) {
    T* y = result->as<T>();
    std::fill_n(y, out[0].count(), in[1]->as<T>()[0]);
    if (ir::count_of(count) == 0) return;
    int64_t begin = 0;
    for (size_t d = 0; d < size.size(); d++) begin += (low[d] + first[d] * (interior[d] + 1)) * to[d];
    copy_strided(in[0]->as<T>() + offset(first, from), source, y + begin, target, count);
  });
  return {result};
}

Results concatenate(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const auto d = static_cast<size_t>(op.integer("dimension"));
  const size_t bytes = ir::bytes_of(out[0].element);
  const auto inner = ir::count_of(std::span(out[0].dims).subspan(d + 1)) * bytes;
  const uint64_t outer = ir::count_of(std::span(out[0].dims).first(d));
  std::byte* to = result->data.data();
  for (uint64_t row = 0; row < outer; row++)
    for (const auto& part : in) {
      const uint64_t piece = static_cast<uint64_t>(part->type.dims[d]) * inner;
      if (piece != 0) std::memcpy(to, part->data.data() + row * piece, piece);
      to += piece;
    }
  return {result};
}

Results reverse(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const Dims to = ir::strides_of(out[0].dims);
  Dims from = to;
  int64_t first = 0;
  for (const int64_t d : op.list("dimensions")) {
    const auto at = static_cast<size_t>(d);
    first += (out[0].dims[at] - 1) * from[at];
    from[at] = -from[at];
  }
  if (out[0].count() == 0) return {result};
  visit_bytes(out[0].element,
              [&]<typename T>(T) { copy_strided(in[0]->as<T>() + first, from, result->as<T>(), to, out[0].dims); });
  return {result};
}

}  // namespace weft::compiler::reference
