/// The gradient of each operator of L1; private to passes/.
#pragma once
#include <optional>
#include <vector>

#include "host/compiler/ir/builder.hpp"

namespace weft::compiler::passes {

/// Appends operators to a module. Used once, for operators in the reverse of their order.
class GradientRules {
 public:
  /// `active`, by value: whether its gradient is wanted.
  GradientRules(ir::Module& module, std::vector<bool> active)
      : to_(module), active_(std::move(active)), gradients_(active_.size()) {}

  /// To the gradient of a value, if that is wanted, which is the sum of all that is added.
  void add(ir::ValueId value, ir::ValueId gradient);
  /// All that has been added; nothing: no reader gave anything.
  [[nodiscard]] std::optional<ir::ValueId> gradient_of(ir::ValueId value) const { return gradients_[index_of(value)]; }
  /// Adds to the gradients of the operator's operands, by those of its results. Refuses an operator without a rule.
  void pass_on(const ir::Op& op);

 private:
  [[nodiscard]] bool wanted(ir::ValueId value) const { return active_[index_of(value)]; }
  ir::ValueId zeros(ir::ValueId like) { return to_.fill(to_.type(like), 0); }
  ir::ValueId negative(ir::ValueId x) { return to_.unary(ir::OpKind::kNegate, x); }
  ir::ValueId square(ir::ValueId x) { return to_.times(x, x); }

  // gradients_elementwise.cpp; false: the operator is of another family
  bool function(const ir::Op& op, ir::ValueId x, ir::ValueId y, ir::ValueId g);
  bool elementwise(const ir::Op& op, ir::ValueId y, ir::ValueId g);
  void extreme(const ir::Op& op, ir::ValueId y, ir::ValueId g);
  void power(ir::ValueId a, ir::ValueId b, ir::ValueId y, ir::ValueId g);

  // gradients_movement.cpp
  bool movement(const ir::Op& op, ir::ValueId g);
  void broadcast(const ir::Op& op, ir::ValueId g);
  void slice(const ir::Op& op, ir::ValueId g);
  void pad(const ir::Op& op, ir::ValueId g);
  void concatenate(const ir::Op& op, ir::ValueId g);
  void dynamic_slice(const ir::Op& op, ir::ValueId g);
  void dynamic_update_slice(const ir::Op& op, ir::ValueId g);
  void gather(const ir::Op& op, ir::ValueId g);

  // gradients_products.cpp
  bool product(const ir::Op& op, ir::ValueId y, ir::ValueId g);
  void dot_general(const ir::Op& op, ir::ValueId g);
  void convolution(const ir::Op& op, ir::ValueId g);
  ir::ValueId swapped_in_groups(ir::ValueId x, int64_t groups, size_t grouped);
  bool reduce(const ir::Op& op, ir::ValueId y, ir::ValueId g);
  bool reduce_window(const ir::Op& op, ir::ValueId g);

  ir::Builder to_;
  const std::vector<bool> active_;
  std::vector<std::optional<ir::ValueId>> gradients_;
};

}  // namespace weft::compiler::passes
