/// An operation as its rule sees it; private to the importer.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/compiler/ir/builder.hpp"
#include "host/compiler/stablehlo/program.hpp"

namespace weft::compiler::stablehlo {

using ir::Dims;
using ir::OpKind;
using ir::ValueId;
using Values = std::vector<ValueId>;

/// A region that has become a module, and the values of the surroundings that it reads behind its own arguments.
struct Region {
  std::shared_ptr<const ir::Module> module;
  Values captured;
  /// It calls the host: it takes the token behind its arguments, and returns one behind its results.
  bool calls = false;
};

/// What a rule may ask of the function that its operation stands in.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  /// All blocks take the same arguments, of these types, and each captured value of one is one of all.
  virtual std::vector<Region> regions(const std::vector<const Block*>& blocks,
                                      const std::vector<ir::TensorType>& arguments) = 0;
  /// The results of the program's function of this name, written out.
  virtual Values call(const std::string& function, const Values& arguments) = 0;
  /// Whether the block calls the host.
  [[nodiscard]] virtual bool calls(const Block& block) const = 0;
  /// Of the last call of the host so far: a scalar that the next one reads, so that they keep their order.
  virtual ValueId token() = 0;
  virtual void set_token(ValueId token) = 0;
};

struct Node {
  const Program& program;
  const Operation& op;
  ir::Builder& b;
  Surroundings& around;
  Values in;

  [[nodiscard]] const Attribute* find(std::string_view name) const { return program.find(op, name); }
  /// Refuse what is missing or has another kind.
  [[nodiscard]] int64_t integer(std::string_view name) const;
  [[nodiscard]] Dims integers(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  /// Integers of an attribute that older versions of an operator lack.
  [[nodiscard]] Dims integers_or_none(std::string_view name) const;
  /// Refuses what L1 does not have.
  [[nodiscard]] ir::TensorType result_type(size_t i = 0) const;
  /// The region `i` on scalars; it may read constants of the surroundings and nothing else.
  [[nodiscard]] std::shared_ptr<const ir::Module> scalar_region(size_t i,
                                                                const std::vector<ir::TensorType>& types) const;
};

/// Refuses what is no tensor of L1's elements.
[[nodiscard]] ir::TensorType tensor_type(const Program& program, TypeIndex type);
/// The elements of a dense attribute, or one that stands for all of them.
[[nodiscard]] ir::TensorPtr tensor_of(const Program& program, const Attribute& attribute);

using Rule = Values (*)(Node&);
/// The rule of an operator without its version; null: the operator is not built.
[[nodiscard]] Rule rule_of(std::string_view name);

// rules_devices.cpp
Values manual_computation(Node& node);
Values all_reduce(Node& node);
Values all_gather(Node& node);
Values all_to_all(Node& node);
Values reduce_scatter(Node& node);
Values collective_permute(Node& node);
Values collective_broadcast(Node& node);
Values partition_id(Node& node);
Values replica_id(Node& node);
// rules_callbacks.cpp
constexpr std::string_view kCallbackTarget = "weft.callback";  // of a custom call
Values callback(Node& node);
Values create_token(Node& node);
/// Adds the token to what an operator is given for regions that call the host.
void give_token(Node& node, const Region& region, Values& operands);
/// Takes it from the operator's results.
Values take_token(Node& node, const Region& region, Values results);
// rules_indexing.cpp
Values gather(Node& node);
Values scatter(Node& node);
Values dynamic_slice(Node& node);
Values dynamic_update_slice(Node& node);
// rules_random.cpp
Values rng_bit_generator(Node& node);
// rules_region.cpp
Values reduce(Node& node);
Values reduce_window(Node& node);
Values select_and_scatter(Node& node);
Values sort(Node& node);
Values while_loop(Node& node);
Values case_of(Node& node);
Values if_of(Node& node);

/// The word for a region of one operation on its two arguments ("add", "set" for the second argument itself); empty:
/// the region is of another kind.
[[nodiscard]] std::string operation_of(const ir::Module& region);
}  // namespace weft::compiler::stablehlo
