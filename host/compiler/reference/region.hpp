/// Runs modules inside operators; private to the reference.
#pragma once
#include "host/compiler/ir/module.hpp"
#include "host/compiler/reference/rules.hpp"

namespace weft::compiler::reference {

/// A module that is run many times. One thread.
class Runner {
 public:
  explicit Runner(const ir::Module& module);
  /// The outputs on these inputs, whose types are the module's. A value is dropped behind its last reader.
  Results run(Operands inputs);

 private:
  const ir::Module& module_;
  std::vector<ir::Types> types_;         // of each operator's results
  std::vector<std::vector<bool>> last_;  // of each operator's operands: nothing reads it later
  std::vector<ir::TensorPtr> values_;
};

/// The outputs of a region of elementwise operators on vectors of one size, in place of scalars.
[[nodiscard]] Results map_region(const ir::Module& region, const Operands& vectors);

/// target[places[i]] = region(target[places[i]], updates[i]) for ascending i; a place below 0 is passed over.
void map_region_at(const ir::Module& region, ir::Tensor& target, const std::vector<int64_t>& places,
                   const ir::Tensor& updates);

/// The tensor itself if nobody else holds it, else a copy.
[[nodiscard]] std::shared_ptr<ir::Tensor> writable(ir::TensorPtr tensor);

}  // namespace weft::compiler::reference
