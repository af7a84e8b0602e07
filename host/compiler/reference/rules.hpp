/// The rule of each operator's value; private to the reference.
#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include "host/compiler/ir/op.hpp"

namespace weft::compiler::reference {

using Operands = std::vector<ir::TensorPtr>;
using Results = std::vector<ir::TensorPtr>;
using Rule = Results (*)(const ir::Op& op, const Operands& in, const ir::Types& out);

/// The rule of an operator; null: it has no value of its own (parameter).
[[nodiscard]] Rule rule_of(ir::OpKind kind);

// elementwise.cpp
Results elementwise(const ir::Op& op, const Operands& in, const ir::Types& out);
Results compare(const ir::Op& op, const Operands& in, const ir::Types& out);
Results select(const ir::Op& op, const Operands& in, const ir::Types& out);
// convert.cpp
Results convert(const ir::Op& op, const Operands& in, const ir::Types& out);
Results bitcast_convert(const ir::Op& op, const Operands& in, const ir::Types& out);
Results reduce_precision(const ir::Op& op, const Operands& in, const ir::Types& out);
// movement.cpp
Results constant(const ir::Op& op, const Operands& in, const ir::Types& out);
Results iota(const ir::Op& op, const Operands& in, const ir::Types& out);
Results broadcast(const ir::Op& op, const Operands& in, const ir::Types& out);
Results reshape(const ir::Op& op, const Operands& in, const ir::Types& out);
Results transpose(const ir::Op& op, const Operands& in, const ir::Types& out);
Results slice(const ir::Op& op, const Operands& in, const ir::Types& out);
Results pad(const ir::Op& op, const Operands& in, const ir::Types& out);
Results concatenate(const ir::Op& op, const Operands& in, const ir::Types& out);
Results reverse(const ir::Op& op, const Operands& in, const ir::Types& out);
Results dynamic_slice(const ir::Op& op, const Operands& in, const ir::Types& out);
Results dynamic_update_slice(const ir::Op& op, const Operands& in, const ir::Types& out);
// indexing.cpp
Results gather(const ir::Op& op, const Operands& in, const ir::Types& out);
Results scatter(const ir::Op& op, const Operands& in, const ir::Types& out);
Results scatter_by(const ir::Op& op, const Operands& in, const ir::Types& out);
Results sort(const ir::Op& op, const Operands& in, const ir::Types& out);
// products.cpp
Results dot_general(const ir::Op& op, const Operands& in, const ir::Types& out);
Results convolution(const ir::Op& op, const Operands& in, const ir::Types& out);
// decompositions.cpp
Results cholesky(const ir::Op& op, const Operands& in, const ir::Types& out);
Results triangular_solve(const ir::Op& op, const Operands& in, const ir::Types& out);
Results lu(const ir::Op& op, const Operands& in, const ir::Types& out);
Results qr(const ir::Op& op, const Operands& in, const ir::Types& out);
Results householder_product(const ir::Op& op, const Operands& in, const ir::Types& out);
Results eigh(const ir::Op& op, const Operands& in, const ir::Types& out);
// reductions.cpp
Results reduce(const ir::Op& op, const Operands& in, const ir::Types& out);
Results reduce_window(const ir::Op& op, const Operands& in, const ir::Types& out);
// regions.cpp
Results while_loop(const ir::Op& op, const Operands& in, const ir::Types& out);
Results case_of(const ir::Op& op, const Operands& in, const ir::Types& out);
Results reduce_by(const ir::Op& op, const Operands& in, const ir::Types& out);
Results reduce_window_by(const ir::Op& op, const Operands& in, const ir::Types& out);
Results select_and_scatter(const ir::Op& op, const Operands& in, const ir::Types& out);
Results sort_by(const ir::Op& op, const Operands& in, const ir::Types& out);

// devices.cpp
Results manual(const ir::Op& op, const Operands& in, const ir::Types& out);
Results collective(const ir::Op& op, const Operands& in, const ir::Types& out);
Results partition_id(const ir::Op& op, const Operands& in, const ir::Types& out);
// callbacks.cpp
Results callback(const ir::Op& op, const Operands& in, const ir::Types& out);

/// The type in which elements of type T are computed.
template <typename T>
struct Computed {
  using type =
      std::conditional_t<std::is_same_v<T, double>, double, std::conditional_t<std::is_integral_v<T>, T, float>>;
};
template <typename T>
using computed_t = typename Computed<T>::type;

/// `value` as an element: a float is rounded once, an integer loses what does not fit.
template <typename T, typename C>
T narrow(C value) {
  if constexpr (std::is_same_v<T, bool>)
    return value != C{};
  else if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(value);
  else
    return static_cast<T>(static_cast<double>(value));
}

/// An element in the type of an arithmetic.
template <typename C, typename T>
C widen(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<C>(value);
  else
    return static_cast<C>(static_cast<float>(value));
}

/// The operation of a reduction and what it begins with.
enum class Combine : uint8_t { kAdd, kMultiply, kMaximum, kMinimum, kAnd, kOr };
[[nodiscard]] Combine combine_of(const ir::Op& op);

template <typename C>
C identity(Combine kind) {
  using Limits = std::numeric_limits<C>;
  switch (kind) {
    case Combine::kAdd:
    case Combine::kOr:
      return C{0};
    case Combine::kMultiply:
      return C{1};
    case Combine::kMaximum:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case Combine::kMinimum:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case Combine::kAnd:
      break;
  }
  if constexpr (std::is_same_v<C, bool>)
    return true;
  else
    return static_cast<C>(-1);
}

/// Integers wrap: they are added and multiplied as unsigned ones.
template <typename C, typename F>
C wrapping(C a, C b, F f) {
  if constexpr (std::is_integral_v<C> && !std::is_same_v<C, bool>) {
    return static_cast<C>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  } else {
    return static_cast<C>(f(a, b));
  }
}

template <typename C>
bool is_nan(C value) {
  if constexpr (std::is_floating_point_v<C>) return std::isnan(value);
  return false;
}

/// NaN if one of them is.
template <typename C>
C maximum(C a, C b) {
  return is_nan(a) || a > b ? a : b;
}
template <typename C>
C minimum(C a, C b) {
  return is_nan(a) || a < b ? a : b;
}

template <typename C>
C combine(Combine kind, C a, C b) {
  switch (kind) {
    case Combine::kAdd:
      return wrapping(a, b, [](auto x, auto y) { return x + y; });
    case Combine::kMultiply:
      return wrapping(a, b, [](auto x, auto y) { return x * y; });
    case Combine::kMaximum:
      return maximum(a, b);
    case Combine::kMinimum:
      return minimum(a, b);
    case Combine::kAnd:
      if constexpr (std::is_integral_v<C>) return static_cast<C>(a & b);
      break;
    case Combine::kOr:
      if constexpr (std::is_integral_v<C>) return static_cast<C>(a | b);
      break;
  }
  return a;
}

/// Coordinates that count up like the digits of a number, the last one fastest.
class Odometer {
 public:
  explicit Odometer(const ir::Dims& dims) : dims_(dims), at_(dims.size()) {}
  [[nodiscard]] const ir::Dims& at() const { return at_; }
  void next() {
    for (size_t i = dims_.size(); i-- > 0;) {
      if (++at_[i] < dims_[i]) return;
      at_[i] = 0;
    }
  }

 private:
  const ir::Dims& dims_;
  ir::Dims at_;
};

/// Refuses more than kMaxWork elementary operations in one operator.
constexpr double kMaxWork = 4e12;
void check_work(const ir::Op& op, double work);

[[nodiscard]] inline std::shared_ptr<ir::Tensor> make(const ir::TensorType& type) {
  return std::make_shared<ir::Tensor>(type);
}

}  // namespace weft::compiler::reference
