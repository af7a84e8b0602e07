// Elementwise operators: a table of functions. Elements are computed in blocks: converted to the type of their
// arithmetic, computed, converted back.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/reference/rules.hpp"

namespace weft::compiler::reference {
namespace {

using ir::ElementType;
using ir::OpKind;

constexpr size_t kBlock = 512;

template <typename C>
using UnaryLoop = void (*)(const C*, C*, size_t);
template <typename C>
using BinaryLoop = void (*)(const C*, const C*, C*, size_t);

template <typename F, typename C>
void unary_loop(const C* x, C* y, size_t n) {
  for (size_t i = 0; i < n; i++) y[i] = F{}(x[i]);
}
template <typename F, typename C>
void binary_loop(const C* a, const C* b, C* y, size_t n) {
  for (size_t i = 0; i < n; i++) y[i] = F{}(a[i], b[i]);
}

/// The loops of one operator in each kind of arithmetic; null: the operator has none of these.
struct Unary {
  UnaryLoop<float> f32 = nullptr;
  UnaryLoop<double> f64 = nullptr;
  UnaryLoop<int64_t> i64 = nullptr;
  UnaryLoop<uint64_t> u64 = nullptr;
};
struct Binary {
  BinaryLoop<float> f32 = nullptr;
  BinaryLoop<double> f64 = nullptr;
  BinaryLoop<int64_t> i64 = nullptr;
  BinaryLoop<uint64_t> u64 = nullptr;
};

template <typename F>
Unary floats(F) {
  return {unary_loop<F, float>, unary_loop<F, double>};
}
template <typename F>
Unary numbers(F) {
  return {unary_loop<F, float>, unary_loop<F, double>, unary_loop<F, int64_t>, unary_loop<F, uint64_t>};
}
template <typename F>
Binary binary_numbers(F) {
  return {binary_loop<F, float>, binary_loop<F, double>, binary_loop<F, int64_t>, binary_loop<F, uint64_t>};
}
template <typename F>
Binary binary_integers(F) {
  return {nullptr, nullptr, binary_loop<F, int64_t>, binary_loop<F, uint64_t>};
}

template <typename C>
C divide(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    if (b == 0) return static_cast<C>(-1);
    if (std::is_signed_v<C> && b == static_cast<C>(-1)) return static_cast<C>(0 - static_cast<uint64_t>(a));
  }
  return a / b;
}
template <typename C>
C remainder(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    if (b == 0) return a;
    return std::is_signed_v<C> && b == static_cast<C>(-1) ? C{0} : static_cast<C>(a % b);
  } else {
    return std::fmod(a, b);
  }
}
template <typename C>
C power(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    return std::pow(a, b);
  } else {
    if (b < C{0}) return a == C{1} ? C{1} : a == static_cast<C>(-1) ? (b % 2 ? a : C{1}) : C{0};
    uint64_t result = 1, square = static_cast<uint64_t>(a);
    for (auto rest = static_cast<uint64_t>(b); rest != 0; rest >>= 1, square *= square)
      if (rest & 1) result *= square;
    return static_cast<C>(result);
  }
}
template <typename C>
C sign(C x) {
  if constexpr (std::is_floating_point_v<C>) return std::isnan(x) || x == 0 ? x : std::copysign(C{1}, x);
  return static_cast<C>((x > C{0}) - (x < C{0}));
}
template <typename C>
C absolute(C x) {
  if constexpr (std::is_floating_point_v<C>)
    return std::abs(x);
  else
    return x < C{0} ? static_cast<C>(0 - static_cast<uint64_t>(x)) : x;
}
template <typename C>
C negate(C x) {
  if constexpr (std::is_floating_point_v<C>)
    return -x;
  else
    return static_cast<C>(0 - static_cast<uint64_t>(x));
}
template <typename C>
C logistic(C x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

constexpr auto kArcTangent = [](auto y, auto x) { return std::atan2(y, x); };

Unary unary_of(OpKind kind) {
  switch (kind) {
    case OpKind::kAbs:
      return numbers([](auto x) { return absolute(x); });
    case OpKind::kNegate:
      return numbers([](auto x) { return negate(x); });
    case OpKind::kSign:
      return numbers([](auto x) { return sign(x); });
    case OpKind::kCeil:
      return floats([](auto x) { return std::ceil(x); });
    case OpKind::kFloor:
      return floats([](auto x) { return std::floor(x); });
    case OpKind::kRoundNearestEven:
      return floats([](auto x) { return std::nearbyint(x); });
    case OpKind::kRoundNearestAway:
      return floats([](auto x) { return std::round(x); });
    case OpKind::kExponential:
      return floats([](auto x) { return std::exp(x); });
    case OpKind::kExponentialMinusOne:
      return floats([](auto x) { return std::expm1(x); });
    case OpKind::kLog:
      return floats([](auto x) { return std::log(x); });
    case OpKind::kLogPlusOne:
      return floats([](auto x) { return std::log1p(x); });
    case OpKind::kLogistic:
      return floats([](auto x) { return logistic(x); });
    case OpKind::kSqrt:
      return floats([](auto x) { return std::sqrt(x); });
    case OpKind::kRsqrt:
      return floats([](auto x) { return 1 / std::sqrt(x); });
    case OpKind::kCbrt:
      return floats([](auto x) { return std::cbrt(x); });
    case OpKind::kSine:
      return floats([](auto x) { return std::sin(x); });
    case OpKind::kCosine:
      return floats([](auto x) { return std::cos(x); });
    case OpKind::kTan:
      return floats([](auto x) { return std::tan(x); });
    case OpKind::kAsin:
      return floats([](auto x) { return std::asin(x); });
    case OpKind::kAcos:
      return floats([](auto x) { return std::acos(x); });
    case OpKind::kAtan:
      return floats([](auto x) { return std::atan(x); });
    case OpKind::kSinh:
      return floats([](auto x) { return std::sinh(x); });
    case OpKind::kCosh:
      return floats([](auto x) { return std::cosh(x); });
    case OpKind::kTanh:
      return floats([](auto x) { return std::tanh(x); });
    case OpKind::kAsinh:
      return floats([](auto x) { return std::asinh(x); });
    case OpKind::kAcosh:
      return floats([](auto x) { return std::acosh(x); });
    case OpKind::kAtanh:
      return floats([](auto x) { return std::atanh(x); });
    case OpKind::kErf:
      return floats([](auto x) { return std::erf(x); });
    default:
      return {};
  }
}

Binary binary_of(OpKind kind) {
  switch (kind) {
    case OpKind::kAdd:
      return binary_numbers([](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x + y; }); });
    case OpKind::kSubtract:
      return binary_numbers([](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x - y; }); });
    case OpKind::kMultiply:
      return binary_numbers([](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x * y; }); });
    case OpKind::kDivide:
      return binary_numbers([](auto a, auto b) { return divide(a, b); });
    case OpKind::kRemainder:
      return binary_numbers([](auto a, auto b) { return remainder(a, b); });
    case OpKind::kPower:
      return binary_numbers([](auto a, auto b) { return power(a, b); });
    case OpKind::kAtan2:
      return {binary_loop<decltype(kArcTangent), float>, binary_loop<decltype(kArcTangent), double>};
    case OpKind::kMaximum:
      return binary_numbers([](auto a, auto b) { return maximum(a, b); });
    case OpKind::kMinimum:
      return binary_numbers([](auto a, auto b) { return minimum(a, b); });
    case OpKind::kAnd:
      return binary_integers([](auto a, auto b) { return a & b; });
    case OpKind::kOr:
      return binary_integers([](auto a, auto b) { return a | b; });
    case OpKind::kXor:
      return binary_integers([](auto a, auto b) { return a ^ b; });
    default:
      return {};
  }
}

template <typename C, typename T>
void load(const T* from, size_t n, C* to) {
  for (size_t i = 0; i < n; i++) to[i] = static_cast<C>(from[i]);
}
template <typename C, typename T>
void store(const C* from, size_t n, T* to) {
  for (size_t i = 0; i < n; i++) to[i] = narrow<T>(from[i]);
}

/// Calls f with a value of the type of the arithmetic and one of the elements' type.
template <typename F>
void visit_arithmetic(ElementType type, F f) {
  ir::visit_type(type, [&](auto t) {
    using T = typename decltype(t)::type;
    if constexpr (std::is_same_v<T, double>)
      f(double{}, T{});
    else if constexpr (!std::is_integral_v<T>)
      f(float{}, T{});
    else if constexpr (std::is_signed_v<T>)
      f(int64_t{}, T{});
    else
      f(uint64_t{}, T{});
  });
}

template <typename C, typename Loops>
auto loop_for(const Loops& loops) {
  if constexpr (std::is_same_v<C, float>)
    return loops.f32;
  else if constexpr (std::is_same_v<C, double>)
    return loops.f64;
  else if constexpr (std::is_same_v<C, int64_t>)
    return loops.i64;
  else
    return loops.u64;
}

/// Logical not of pred, bitwise of integers; shifts by as many bits as the type has give 0.
template <typename T, typename F>
void each(const Operands& in, ir::Tensor& out, F f) {
  const T* a = in[0]->as<T>();
  const T* b = in.size() > 1 ? in[1]->as<T>() : a;
  for (uint64_t i = 0, n = out.type.count(); i < n; i++) out.as<T>()[i] = f(a[i], b[i]);
}
void bitwise(OpKind kind, const Operands& in, ir::Tensor& out) {
  ir::visit_type(out.type.element, [&](auto t) {
    using T = typename decltype(t)::type;
    if constexpr (std::is_same_v<T, bool>) {
      each<T>(in, out, [](bool a, bool) { return !a; });
    } else if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      constexpr uint64_t kBits = 8 * sizeof(T);
      const auto shift = [](T a, T b, auto f) {
        return static_cast<U>(b) >= kBits ? T{0} : static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
      };
      if (kind == OpKind::kNot) each<T>(in, out, [](T a, T) { return static_cast<T>(~a); });
      if (kind == OpKind::kShiftLeft)
        each<T>(in, out,
                [&](T a, T b) { return shift(a, b, [](auto x, auto y) { return static_cast<uint64_t>(x) << y; }); });
      if (kind == OpKind::kShiftRightArithmetic)
        each<T>(in, out, [&](T a, T b) {
          const auto count = std::min<uint64_t>(static_cast<U>(b), kBits - 1);
          return static_cast<T>(static_cast<std::make_signed_t<T>>(a) >> count);
        });
      if (kind == OpKind::kPopulationCount)
        each<T>(in, out, [](T a, T) { return static_cast<T>(std::popcount(static_cast<U>(a))); });
      if (kind == OpKind::kCountLeadingZeros)
        each<T>(in, out, [](T a, T) { return static_cast<T>(std::countl_zero(static_cast<U>(a))); });
      if (kind == OpKind::kShiftRight)
        each<T>(in, out, [&](T a, T b) { return shift(a, b, [](auto x, auto y) { return x >> y; }); });
    }
  });
}

bool is_bitwise(OpKind kind) {
  return kind == OpKind::kNot || kind == OpKind::kShiftLeft || kind == OpKind::kShiftRight ||
         kind == OpKind::kShiftRightArithmetic || kind == OpKind::kPopulationCount ||
         kind == OpKind::kCountLeadingZeros;
}

}  // namespace

Results elementwise(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  if (is_bitwise(op.kind)) {
    bitwise(op.kind, in, *result);
    return {result};
  }
  const Unary unary = unary_of(op.kind);
  const Binary binary = binary_of(op.kind);
  visit_arithmetic(out[0].element, [&]<typename C, typename T>(C, T) {
    const auto one = loop_for<C>(unary);
    const auto two = loop_for<C>(binary);
    if (in.size() == 1 ? one == nullptr : two == nullptr)
      ir::unsupported("{}: no arithmetic for {}", name_of(op.kind), in[0]->type.text());
    std::array<C, kBlock> a, b, y;
    for (uint64_t at = 0, count = out[0].count(); at < count; at += kBlock) {
      const size_t n = std::min<uint64_t>(kBlock, count - at);
      load(in[0]->as<T>() + at, n, a.data());
      if (in.size() == 1) {
        one(a.data(), y.data(), n);
      } else {
        load(in[1]->as<T>() + at, n, b.data());
        two(a.data(), b.data(), y.data(), n);
      }
      store(y.data(), n, result->as<T>() + at);
    }
  });
  return {result};
}

Results compare(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const auto& direction = op.word("direction");
  visit_arithmetic(in[0]->type.element, [&]<typename C, typename T>(C, T) {
    const T *a = in[0]->as<T>(), *b = in[1]->as<T>();
    bool* y = result->as<bool>();
    const auto all = [&](auto f) {
      for (uint64_t i = 0, n = out[0].count(); i < n; i++) y[i] = f(static_cast<C>(a[i]), static_cast<C>(b[i]));
    };
    if (direction == "eq") all([](C x, C z) { return x == z; });
    if (direction == "ne") all([](C x, C z) { return x != z; });
    if (direction == "lt") all([](C x, C z) { return x < z; });
    if (direction == "le") all([](C x, C z) { return x <= z; });
    if (direction == "gt") all([](C x, C z) { return x > z; });
    if (direction == "ge") all([](C x, C z) { return x >= z; });
  });
  return {result};
}

Results select(const ir::Op&, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const bool* which = in[0]->as<bool>();
  ir::visit_type(out[0].element, [&](auto t) {
    using T = typename decltype(t)::type;
    const T *a = in[1]->as<T>(), *b = in[2]->as<T>();
    for (uint64_t i = 0, n = out[0].count(); i < n; i++) result->as<T>()[i] = which[i] ? a[i] : b[i];
  });
  return {result};
}

}  // namespace weft::compiler::reference
