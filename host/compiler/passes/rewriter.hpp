/// Copies a module operator by operator, so that a pass can put something else in the place of some.
#pragma once
#include <vector>

#include "host/compiler/ir/module.hpp"

namespace weft::compiler::passes {

class Rewriter {
 public:
  explicit Rewriter(const ir::Module& from) : from_(from), values_(from.values().size()) { to_.name = from.name; }

  /// The operator with its operands in the new module, without results.
  [[nodiscard]] ir::Op mapped(const ir::Op& op) const {
    ir::Op copy = op;
    copy.results.clear();
    for (auto& operand : copy.operands) operand = values_[index_of(operand)];
    return copy;
  }
  /// Appends it, and its results stand for those of `op`.
  void add(const ir::Op& op, ir::Op mapped) {
    const ir::ValueId first = to_.add(std::move(mapped));
    const auto results = to_.op_of(first).results;
    for (size_t i = 0; i < results.size(); i++) values_[index_of(op.results[i])] = results[i];
    if (op.kind == ir::OpKind::kParameter) to_.inputs.push_back(first);
  }
  void copy(const ir::Op& op) { add(op, mapped(op)); }
  /// `value` of the new module stands for the first result of `op`.
  void replace(const ir::Op& op, ir::ValueId value) { values_[index_of(op.results[0])] = value; }

  /// The same for all results of an operator.
  void replace_all(const ir::Op& op, const std::vector<ir::ValueId>& values) {
    for (size_t i = 0; i < op.results.size(); i++) values_[index_of(op.results[i])] = values[i];
  }

  [[nodiscard]] ir::Module& to() { return to_; }
  [[nodiscard]] ir::ValueId value(ir::ValueId old) const { return values_[index_of(old)]; }

  /// Once.
  [[nodiscard]] ir::Module finish() {
    for (const auto& output : from_.outputs) to_.outputs.push_back({output.name, value(output.value)});
    return std::move(to_);
  }

 private:
  const ir::Module& from_;
  ir::Module to_;
  std::vector<ir::ValueId> values_;
};

}  // namespace weft::compiler::passes
