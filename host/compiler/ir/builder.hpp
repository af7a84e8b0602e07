/// Writes L1: operators with their attributes, and the usual combinations of them.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "host/compiler/ir/module.hpp"

namespace weft::compiler::ir {

/// Appends to a module. Every function returns the result of what it has appended, and refuses what infer() refuses.
/// Dimensions are counted from 0; two operands of different shapes are broadcast as NumPy does.
class Builder {
 public:
  explicit Builder(Module& module) : module_(module) {}

  Origin origin;  ///< of every operator that follows
  std::string
      precision;  ///< of every product and convolution of f32 that follows: "high", "highest", or one pass of bf16

  [[nodiscard]] const Module& module() const { return module_; }
  [[nodiscard]] const TensorType& type(ValueId x) const { return module_.type(x); }
  [[nodiscard]] const Dims& dims(ValueId x) const { return type(x).dims; }
  [[nodiscard]] int64_t dim(ValueId x, size_t d) const { return dims(x).at(d); }
  [[nodiscard]] ElementType element(ValueId x) const { return type(x).element; }
  [[nodiscard]] size_t rank(ValueId x) const { return type(x).rank(); }

  ValueId constant(TensorPtr value);
  ValueId scalar(ElementType element, double value) { return constant(splat({element, {}}, value)); }
  /// A scalar of the type of x.
  ValueId like(ValueId x, double value) { return scalar(element(x), value); }
  ValueId fill(const TensorType& type, double value);
  ValueId integers(const Dims& values) { return constant(integers_tensor(ElementType::kI64, values)); }
  ValueId iota(ElementType element, const Dims& dims, size_t dimension);

  ValueId unary(OpKind kind, ValueId x) { return add(kind, {x}, {}); }
  ValueId binary(OpKind kind, ValueId a, ValueId b);
  ValueId compare(const char* direction, ValueId a, ValueId b);
  ValueId select(ValueId which, ValueId a, ValueId b);
  /// x itself if it has the type.
  ValueId convert(ValueId x, ElementType to);

  ValueId plus(ValueId a, ValueId b) { return binary(OpKind::kAdd, a, b); }
  ValueId minus(ValueId a, ValueId b) { return binary(OpKind::kSubtract, a, b); }
  ValueId times(ValueId a, ValueId b) { return binary(OpKind::kMultiply, a, b); }
  ValueId over(ValueId a, ValueId b) { return binary(OpKind::kDivide, a, b); }
  ValueId plus(ValueId a, double b) { return plus(a, like(a, b)); }
  ValueId minus(ValueId a, double b) { return minus(a, like(a, b)); }
  ValueId times(ValueId a, double b) { return times(a, like(a, b)); }
  ValueId over(ValueId a, double b) { return over(a, like(a, b)); }
  ValueId max(ValueId a, ValueId b) { return binary(OpKind::kMaximum, a, b); }
  ValueId min(ValueId a, ValueId b) { return binary(OpKind::kMinimum, a, b); }
  ValueId exp(ValueId x) { return unary(OpKind::kExponential, x); }
  ValueId log(ValueId x) { return unary(OpKind::kLog, x); }
  ValueId sqrt(ValueId x) { return unary(OpKind::kSqrt, x); }

  /// As NumPy's broadcast_to; x itself if it has the shape.
  ValueId broadcast_to(ValueId x, const Dims& dims);
  /// Dimension i of x becomes `where[i]` of the result.
  ValueId broadcast_in(ValueId x, const Dims& dims, const Dims& where);
  ValueId reshape(ValueId x, const Dims& dims);
  ValueId transpose(ValueId x, const Dims& permutation);
  ValueId slice(ValueId x, const Dims& start, const Dims& limit, const Dims& stride);
  /// Elements `from` to `to` - 1 of one dimension.
  ValueId slice_of(ValueId x, size_t dimension, int64_t from, int64_t to);
  ValueId pad(ValueId x, ValueId value, const Dims& low, const Dims& high, const Dims& interior);
  ValueId concatenate(const std::vector<ValueId>& parts, size_t dimension);
  ValueId reverse(ValueId x, const Dims& dimensions);
  /// Elements of one dimension by indices of any shape, which take the dimension's place.
  ValueId take(ValueId x, ValueId indices, size_t dimension);

  /// `keep`: reduced dimensions stay with one element.
  enum class Keep : uint8_t { kNo, kYes };
  ValueId reduce(const char* kind, ValueId x, const Dims& dimensions, Keep keep);
  /// The sum divided by the number of elements.
  ValueId mean(ValueId x, const Dims& dimensions, Keep keep);
  ValueId reduce_window(const char* kind, ValueId x, const Dims& window, const Dims& strides, const Dims& low,
                        const Dims& high, const Dims& dilation);
  /// Results have the elements `sums`.
  ValueId dot(ValueId a, ValueId b, const Dims& batch_a, const Dims& batch_b, const Dims& sum_a, const Dims& sum_b,
              ElementType sums);
  struct Convolution {
    Dims strides, low, high, lhs_dilation, rhs_dilation;
    int64_t groups = 1;
  };
  ValueId convolution(ValueId x, ValueId w, const Convolution& by, ElementType sums);
  /// All operands in the order of the first one's elements.
  std::vector<ValueId> sort(const std::vector<ValueId>& operands, size_t dimension, bool descending);

  ValueId add(OpKind kind, std::vector<ValueId> operands, Attributes attributes);
  /// All results.
  std::vector<ValueId> add_with_regions(OpKind kind, std::vector<ValueId> operands, Attributes attributes,
                                        std::vector<std::shared_ptr<const Module>> regions);

 private:
  void add_precision(ValueId a, ValueId b, Attributes& attributes) const;

  Module& module_;
};

/// The shape of an elementwise result by NumPy's rules. Refuses shapes that do not broadcast.
[[nodiscard]] Dims broadcast_dims(const Dims& a, const Dims& b);
/// 0, 1, ..., n - 1.
[[nodiscard]] Dims counting(size_t n, int64_t first = 0);

}  // namespace weft::compiler::ir
