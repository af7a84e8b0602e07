/// The operators of L1. They mean what StableHLO's operators of the same names mean; docs/decisions tells what differs.
/// Of several devices: `manual` runs its region once for each entry of the list "ids", on slices of its operands, and
/// joins the results; within, `partition_id` is the entry, and `collective` exchanges values between the entries.
/// `callback` has the host's program compute its results; its first operand and its first result are i32 scalars that mean
/// nothing but the order of such calls.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/compiler/ir/tensor.hpp"

namespace weft::compiler::ir {

// name, text, operands (-1: one or more), rule that infers the results
#define WEFT_IR_OPS(X)                                                    \
  X(Parameter, "parameter", 0, parameter)                                 \
  X(Constant, "constant", 0, constant)                                    \
  X(Iota, "iota", 0, iota)                                                \
  X(Abs, "abs", 1, numeric)                                               \
  X(Negate, "negate", 1, numeric)                                         \
  X(Sign, "sign", 1, numeric)                                             \
  X(Not, "not", 1, bits)                                                  \
  X(Ceil, "ceil", 1, floating)                                            \
  X(Floor, "floor", 1, floating)                                          \
  X(RoundNearestEven, "round_nearest_even", 1, floating)                  \
  X(RoundNearestAway, "round_nearest_afz", 1, floating)                   \
  X(Exponential, "exponential", 1, floating)                              \
  X(ExponentialMinusOne, "exponential_minus_one", 1, floating)            \
  X(Log, "log", 1, floating)                                              \
  X(LogPlusOne, "log_plus_one", 1, floating)                              \
  X(Logistic, "logistic", 1, floating)                                    \
  X(Sqrt, "sqrt", 1, floating)                                            \
  X(Rsqrt, "rsqrt", 1, floating)                                          \
  X(Cbrt, "cbrt", 1, floating)                                            \
  X(Sine, "sine", 1, floating)                                            \
  X(Cosine, "cosine", 1, floating)                                        \
  X(Tan, "tan", 1, floating)                                              \
  X(Asin, "asin", 1, floating)                                            \
  X(Acos, "acos", 1, floating)                                            \
  X(Atan, "atan", 1, floating)                                            \
  X(Sinh, "sinh", 1, floating)                                            \
  X(Cosh, "cosh", 1, floating)                                            \
  X(Tanh, "tanh", 1, floating)                                            \
  X(Asinh, "asinh", 1, floating)                                          \
  X(Acosh, "acosh", 1, floating)                                          \
  X(Atanh, "atanh", 1, floating)                                          \
  X(Erf, "erf", 1, floating)                                              \
  X(ReducePrecision, "reduce_precision", 1, reduce_precision)             \
  X(PopulationCount, "popcnt", 1, integers)                               \
  X(CountLeadingZeros, "count_leading_zeros", 1, integers)                \
  X(Add, "add", 2, numeric)                                               \
  X(Subtract, "subtract", 2, numeric)                                     \
  X(Multiply, "multiply", 2, numeric)                                     \
  X(Divide, "divide", 2, numeric)                                         \
  X(Remainder, "remainder", 2, numeric)                                   \
  X(Power, "power", 2, numeric)                                           \
  X(Atan2, "atan2", 2, floating)                                          \
  X(Maximum, "maximum", 2, any)                                           \
  X(Minimum, "minimum", 2, any)                                           \
  X(And, "and", 2, bits)                                                  \
  X(Or, "or", 2, bits)                                                    \
  X(Xor, "xor", 2, bits)                                                  \
  X(ShiftLeft, "shift_left", 2, integers)                                 \
  X(ShiftRight, "shift_right_logical", 2, integers)                       \
  X(ShiftRightArithmetic, "shift_right_arithmetic", 2, integers)          \
  X(Compare, "compare", 2, compare)                                       \
  X(Select, "select", 3, select)                                          \
  X(Convert, "convert", 1, convert)                                       \
  X(BitcastConvert, "bitcast_convert", 1, bitcast_convert)                \
  X(Broadcast, "broadcast_in_dim", 1, broadcast)                          \
  X(Reshape, "reshape", 1, reshape)                                       \
  X(Transpose, "transpose", 1, transpose)                                 \
  X(Slice, "slice", 1, slice)                                             \
  X(DynamicSlice, "dynamic_slice", -1, dynamic_slice)                     \
  X(DynamicUpdateSlice, "dynamic_update_slice", -1, dynamic_update_slice) \
  X(Pad, "pad", 2, pad)                                                   \
  X(Concatenate, "concatenate", -1, concatenate)                          \
  X(Reverse, "reverse", 1, reverse)                                       \
  X(Gather, "gather", 2, gather)                                          \
  X(Scatter, "scatter", 3, scatter)                                       \
  X(ScatterBy, "scatter_by", 3, scatter_by)                               \
  X(DotGeneral, "dot_general", 2, dot_general)                            \
  X(Convolution, "convolution", 2, convolution)                           \
  X(Cholesky, "cholesky", 1, cholesky)                                    \
  X(TriangularSolve, "triangular_solve", 2, triangular_solve)             \
  X(Lu, "lu", 1, lu)                                                      \
  X(Qr, "qr", 1, qr)                                                      \
  X(HouseholderProduct, "householder_product", 2, householder_product)    \
  X(Eigh, "eigh", 1, eigh)                                                \
  X(Reduce, "reduce", 1, reduce)                                          \
  X(ReduceWindow, "reduce_window", 1, reduce_window)                      \
  X(ReduceBy, "reduce_by", -1, reduce_by)                                 \
  X(ReduceWindowBy, "reduce_window_by", -1, reduce_window_by)             \
  X(SelectAndScatter, "select_and_scatter", 3, select_and_scatter)        \
  X(SortBy, "sort_by", -1, sort_by)                                       \
  X(While, "while", -1, while)                                            \
  X(Case, "case", -1, case)                                               \
  X(Sort, "sort", -1, sort)                                               \
  X(Manual, "manual", -1, manual)                                         \
  X(Collective, "collective", 1, collective)                              \
  X(PartitionId, "partition_id", 0, partition_id)                         \
  X(Callback, "callback", -1, callback)

enum class OpKind : uint8_t {
#define WEFT_IR_KIND(kind, text, operands, rule) k##kind,
  WEFT_IR_OPS(WEFT_IR_KIND)
#undef WEFT_IR_KIND
};

[[nodiscard]] std::string_view name_of(OpKind kind);
[[nodiscard]] std::optional<OpKind> op_kind_of(std::string_view name);
/// -1: one or more.
[[nodiscard]] int operands_of(OpKind kind);

/// A value of a module; of its own type, so that none is taken for a number.
enum class ValueId : uint32_t {};
[[nodiscard]] constexpr size_t index_of(ValueId value) { return static_cast<size_t>(value); }
/// An integer, a list of integers, or a word.
using Attribute = std::variant<int64_t, Dims, std::string>;
/// By name. Copied, moved and destroyed out of line: what does so node by node is compiled once.
struct Attributes : std::map<std::string, Attribute, std::less<>> {
  using map::map;
  Attributes();
  Attributes(const Attributes&);
  Attributes(Attributes&&) noexcept;
  Attributes& operator=(const Attributes&);
  Attributes& operator=(Attributes&&) noexcept;
  ~Attributes();
};
class Module;

/// What of a model an operator stems from; for messages.
struct Origin {
  std::string node;     ///< its name, or that of its first output
  std::string op_type;  ///< as the model calls it: "Conv"; empty: not known

  bool operator==(const Origin&) const = default;
};

struct Op {
  OpKind kind = OpKind::kConstant;
  std::vector<ValueId> operands, results;
  Attributes attributes;
  TensorPtr constant;  ///< of Constant alone
  /// What the operator runs: a module for each region, whose inputs are the region's arguments, followed by the values
  /// from outside that it reads. It sees no others.
  std::vector<std::shared_ptr<const Module>> regions;
  Origin origin;

  /// Refuses an attribute that is missing or has another type.
  [[nodiscard]] int64_t integer(std::string_view name) const;
  [[nodiscard]] const Dims& list(std::string_view name) const;
  [[nodiscard]] const std::string& word(std::string_view name) const;
  /// The attribute "element".
  [[nodiscard]] ElementType element() const;
};

using Types = std::vector<TensorType>;
/// The types of the results that the operator has on operands of these types. Refuses operands and attributes that the
/// operator does not take; the message says which and why.
[[nodiscard]] Types infer(const Op& op, const Types& operands);

}  // namespace weft::compiler::ir
