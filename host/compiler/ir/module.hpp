/// A network in L1: operators in SSA form, each behind those whose results it reads.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "host/compiler/ir/op.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler::ir {

struct Value {
  TensorType type;
  uint32_t op = 0;  ///< that computes it
};

struct Output {
  std::string name;
  ValueId value{};
};

/// Operators in an order in which every operand is computed before it is read. A value never changes. Not thread-safe.
class Module {
 public:
  std::string name = "model";
  std::vector<ValueId> inputs;  ///< results of the parameters, in the model's order
  std::vector<Output> outputs;

  /// Appends an operator with the types that infer() tells; the result is its first value. Refuses what infer()
  /// refuses, and more operators or values than kMaxOps.
  ValueId add(Op op);
  ValueId add_parameter(const std::string& called, const TensorType& type);

  [[nodiscard]] const std::deque<Op>& ops() const { return ops_; }
  [[nodiscard]] const std::deque<Value>& values() const { return values_; }
  [[nodiscard]] const Value& value(ValueId id) const { return values_.at(index_of(id)); }
  [[nodiscard]] const TensorType& type(ValueId id) const { return values_.at(index_of(id)).type; }
  [[nodiscard]] const Op& op_of(ValueId id) const { return ops_[values_.at(index_of(id)).op]; }
  /// What a value is a view of: the same elements in their order.
  [[nodiscard]] ValueId before_reshapes(ValueId id) const {
    while (op_of(id).kind == OpKind::kReshape) id = op_of(id).operands[0];
    return id;
  }
  /// Of an input.
  [[nodiscard]] const std::string& input_name(ValueId id) const { return op_of(id).word("name"); }
  [[nodiscard]] Types operand_types(const Op& op) const;

  static constexpr size_t kMaxOps = 4'000'000;

 private:
  std::deque<Op> ops_;  // references to types and operators stay good while others are appended
  std::deque<Value> values_;
};

/// INVALID_ARGUMENT: an operand that nothing before has computed, types that infer() does not confirm, an input or
/// output that does not exist, or a name twice.
[[nodiscard]] Status verify(const Module& module);

}  // namespace weft::compiler::ir
