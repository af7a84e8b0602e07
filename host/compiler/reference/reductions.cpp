// Reductions of dimensions and of windows, elements in ascending order.
#include <algorithm>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/reference/rules.hpp"
#include "host/compiler/reference/window.hpp"

namespace weft::compiler::reference {

using ir::Dims;

Combine combine_of(const ir::Op& op) {
  const auto& kind = op.word("kind");
  return kind == "add"        ? Combine::kAdd
         : kind == "multiply" ? Combine::kMultiply
         : kind == "maximum"  ? Combine::kMaximum
         : kind == "minimum"  ? Combine::kMinimum
         : kind == "and"      ? Combine::kAnd
                              : Combine::kOr;
}

namespace {

/// Sums of floats are kept in double, so that long ones lose nothing.
template <typename T>
using sum_t = std::conditional_t<std::is_integral_v<T>, T, double>;

}  // namespace

Results reduce(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const Combine kind = combine_of(op);
  const Dims& dims = in[0]->type.dims;
  Dims kept = ir::strides_of(out[0].dims), to(dims.size());
  size_t next = 0;
  for (size_t d = 0; d < dims.size(); d++)
    if (std::ranges::find(op.list("dimensions"), static_cast<int64_t>(d)) == op.list("dimensions").end())
      to[d] = kept[next++];
  ir::visit_type(out[0].element, [&](auto t) {
    using T = typename decltype(t)::type;
    using S = sum_t<T>;
    std::vector<std::conditional_t<std::is_same_v<S, bool>, uint8_t, S>> sums(out[0].count(), identity<S>(kind));
    Odometer at(dims);
    for (uint64_t i = 0, n = in[0]->type.count(); i < n; i++, at.next()) {
      int64_t place = 0;
      for (size_t d = 0; d < dims.size(); d++) place += at.at()[d] * to[d];
      auto& sum = sums[static_cast<size_t>(place)];
      sum = combine<S>(kind, static_cast<S>(sum), static_cast<S>(in[0]->as<T>()[i]));
    }
    for (uint64_t i = 0; i < sums.size(); i++) result->as<T>()[i] = narrow<T>(static_cast<S>(sums[i]));
  });
  return {result};
}

Results reduce_window(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const Combine kind = combine_of(op);
  const Dims &window = op.list("window"), &size = in[0]->type.dims;
  const Dims dense(size.size(), 1);
  const Window under{size, op.list("strides"), op.list("low"), op.list("dilation"), dense};
  const uint64_t taps = ir::count_of(window);
  check_work(op, static_cast<double>(taps) * static_cast<double>(out[0].count()));
  ir::visit_type(out[0].element, [&](auto t) {
    using T = typename decltype(t)::type;
    using S = sum_t<T>;
    Odometer at(out[0].dims);
    for (uint64_t i = 0, n = out[0].count(); i < n; i++, at.next()) {
      S sum = identity<S>(kind);
      Odometer tap(window);
      for (uint64_t k = 0; k < taps; k++, tap.next()) {
        const int64_t element = under.element(at.at(), tap.at());
        if (element >= 0) sum = combine<S>(kind, sum, static_cast<S>(in[0]->as<T>()[element]));
      }
      result->as<T>()[i] = narrow<T>(sum);
    }
  });
  return {result};
}

}  // namespace weft::compiler::reference
