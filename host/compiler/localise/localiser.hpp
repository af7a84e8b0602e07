/// The values of a program while it is localised, and the rules of its operators; private to this folder.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/localise/localise.hpp"
#include "host/compiler/localise/shards.hpp"

namespace weft::compiler::localise {

/// Values of the whole program are asked for as parts; each of them may be there in several ways.
class Localiser {
 public:
  /// `around`: whose region the module is; null: it is a program.
  Localiser(const ir::Module& from, size_t devices, const Localiser* around = nullptr);
  /// Before walk().
  void cut_weights(const WeightTiling& weights) { weights_ = weights; }
  [[nodiscard]] const WeightTiling& weights() const { return weights_; }

  /// In this order: the inputs, the operators, how the outputs lie then, and the outputs as they are wanted. Once.
  Localiser& enter(const std::vector<Shards>& inputs);
  Localiser& walk();
  [[nodiscard]] std::vector<Shards> outputs() const;
  LocalProgram leave(const std::vector<Shards>& outputs);
  /// Behind enter(): of the input each device has a part of a sum, by device.
  void sum_input(size_t input, const ir::Dims& part);
  /// Before leave(): of the output devices of part 0 have all, and others zeros.
  void leave_sum(size_t output, ir::Dims part) { left_sums_[output] = std::move(part); }

  [[nodiscard]] const ir::Module& from() const { return from_; }
  [[nodiscard]] size_t devices() const { return devices_; }
  [[nodiscard]] ir::Builder& to() { return b_; }
  [[nodiscard]] const ir::Dims& dims(ir::ValueId value) const { return from_.type(value).dims; }

  /// How the value lies first of all. One that is made anew wherever it is needed (is_free) lies whole.
  [[nodiscard]] Shards shards(ir::ValueId value) const;
  /// Each device makes its part as easily as all of it: constants, and what is computed of them element by element.
  [[nodiscard]] bool is_free(ir::ValueId value) const { return free_[index_of(value)] != 0; }
  /// The value in these parts: gathered, cut or made anew.
  ir::ValueId need(ir::ValueId value, const Shards& shards);
  void define(ir::ValueId value, Shards shards, ir::ValueId local);

  /// Adds a cut to those chosen so far, if the parts are still all of a value.
  bool take(std::vector<Cut>& chosen, const Cut& cut) const;
  /// The operator with other operands and attributes; its first result. The types are inferred.
  ir::ValueId add(const ir::Op& op, const std::vector<ir::ValueId>& operands, ir::Attributes more = {});
  /// The operator with these regions instead of its own, and with what they take beside; all its results.
  std::vector<ir::ValueId> add_with_regions(const ir::Op& op, std::vector<ir::ValueId> operands,
                                            std::vector<LocalProgram> regions);
  ir::ValueId all_reduce(ir::ValueId local, const std::string& combine, const std::vector<Cut>& kept,
                         const std::vector<Cut>& moved);
  /// Of each device its part of the sum, along `dimension`, in the order of `moved`.
  ir::ValueId reduce_scatter(ir::ValueId local, const std::vector<Cut>& kept, const Cut& moved, size_t dimension);
  /// A scalar of the type, by device.
  ir::ValueId scalar_of_device(ir::ElementType element, const ir::Dims& values);
  ir::ValueId extra(Extra extra, const ir::TensorType& whole);
  void count_replicated(const std::map<std::string, uint64_t>& inside);

 private:
  struct Form {
    Shards shards;
    ir::ValueId local;
  };
  void localise_op(const ir::Op& op);
  void replicate(const ir::Op& op);
  void inline_manual(const ir::Op& op);
  std::vector<ir::ValueId> inlined(const ir::Op& op, const std::vector<ir::ValueId>& operands);
  std::vector<ir::ValueId> on_parts(const ir::Module& region, const std::vector<ir::ValueId>& operands);
  [[nodiscard]] LocalProgram region_on_parts(const ir::Module& region) const;
  std::vector<ir::ValueId> nested(const ir::Op& op, const ir::Module& around, std::vector<ir::ValueId> operands);
  void find_free();
  std::optional<ir::ValueId> made_anew(ir::ValueId value, const Shards& shards);
  ir::ValueId gathered(ir::ValueId local, Shards& have, const Shards& wanted);
  ir::ValueId cut(ir::ValueId local, const Shards& have, const Shards& wanted);
  ir::ValueId collective(ir::ValueId local, const DeviceGroups& groups, ir::Attributes attributes);

  const ir::Module& from_;
  const size_t devices_;
  const bool nested_;
  bool together_ = true;  // all devices come to the module's collectives
  LocalProgram made_;
  ir::Builder b_;
  std::vector<std::vector<Form>> forms_;  // by value; the first one is how it lies
  std::vector<int> free_;                 // by value: operators in one another; 0: it is not
  std::map<ir::Dims, ir::ValueId> scalars_;
  std::set<ir::ValueId> summed_;          // inputs of which devices have parts of a sum
  std::map<size_t, ir::Dims> left_sums_;  // by output
  WeightTiling weights_;
  std::vector<Cut> alike_;  // of the manual computations around: devices with one place do the same
};

/// Localises an operator by its rule. False: it has none, or none that keeps a part. (rules.cpp, rules_products.cpp, rules_indexing.cpp, regions.cpp)
[[nodiscard]] bool by_rule(Localiser& program, const ir::Op& op);
[[nodiscard]] bool product_by_rule(Localiser& program, const ir::Op& op);
[[nodiscard]] bool gather_by_rule(Localiser& program, const ir::Op& op);
[[nodiscard]] bool scatter_by_rule(Localiser& program, const ir::Op& op);
/// `manual`: a region has a manual computation, so it is localised even if nothing lies in parts.
[[nodiscard]] bool loop_by_rule(Localiser& program, const ir::Op& op, bool manual);
[[nodiscard]] bool branches_by_rule(Localiser& program, const ir::Op& op, bool manual);
/// The parts of a reshape's operand that the result has too, and how the result lies then.
struct ReshapedShards {
  Shards operand, result;
};
[[nodiscard]] ReshapedShards reshaped(const ir::Dims& from, const ir::Dims& to, const Shards& shards);

}  // namespace weft::compiler::localise
