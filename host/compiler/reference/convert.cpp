// Conversion of element types: floats are rounded once, to nearest even; a float becomes the nearest integer toward
// zero, the last one of the range beyond it, and 0 from NaN; an integer loses what does not fit.
#include "host/compiler/reference/rules.hpp"

namespace weft::compiler::reference {
namespace {

template <typename To>
To from_float(double value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<To>) {
    using Limits = std::numeric_limits<To>;
    if (std::isnan(value)) return 0;
    if (value <= static_cast<double>(Limits::min())) return Limits::min();
    if (value >= static_cast<double>(Limits::max())) return Limits::max();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <typename To, typename From>
To element(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (!std::is_integral_v<From>) {
    return from_float<To>(static_cast<double>(value));
  } else if constexpr (std::is_same_v<To, float>) {
    return static_cast<float>(value);  // from the integer itself: by way of a double it would be rounded twice
  } else if constexpr (std::is_integral_v<To>) {
    return narrow<To>(value);
  } else {
    return static_cast<To>(static_cast<double>(value));
  }
}

}  // namespace

Results bitcast_convert(const ir::Op&, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  result->data = in[0]->data;
  return {result};
}

Results reduce_precision(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const auto exponent = static_cast<int>(op.integer("exponent_bits")),
             fraction = static_cast<int>(op.integer("mantissa_bits"));
  const int bias = (1 << (exponent - 1)) - 1;
  const auto rounded = [&](double x) {
    if (!std::isfinite(x) || x == 0) return x;
    const int power = std::ilogb(x);
    if (power < 1 - bias) return std::copysign(0.0, x);  // subnormal values become zero
    const double unit = std::ldexp(1.0, power - fraction), y = std::nearbyint(x / unit) * unit;
    return std::abs(y) >= std::ldexp(1.0, bias + 1) ? std::copysign(std::numeric_limits<double>::infinity(), x) : y;
  };
  ir::visit_type(out[0].element, [&](auto t) {
    using T = typename decltype(t)::type;
    if constexpr (!std::is_integral_v<T>)
      for (uint64_t i = 0, n = out[0].count(); i < n; i++)
        result->as<T>()[i] = static_cast<T>(rounded(static_cast<double>(in[0]->as<T>()[i])));
  });
  return {result};
}

Results convert(const ir::Op&, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  ir::visit_type(in[0]->type.element, [&](auto f) {
    ir::visit_type(out[0].element, [&](auto t) {
      using From = typename decltype(f)::type;
      using To = typename decltype(t)::type;
      for (uint64_t i = 0, n = out[0].count(); i < n; i++) result->as<To>()[i] = element<To>(in[0]->as<From>()[i]);
    });
  });
  return {result};
}

}  // namespace weft::compiler::reference
