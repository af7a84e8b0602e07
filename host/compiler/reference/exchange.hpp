/// How a collective reaches other devices when each of them evaluates its own program, and what its results are.
#pragma once
#include <cstdint>
#include <vector>

#include "host/compiler/ir/op.hpp"

namespace weft::compiler::reference {

/// Carries the values of collectives from device to device. The threads of all devices call it at once.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// The result of device `id`, which gives `value`. Blocks until all devices that take part have given theirs. Gives up
  /// by ir::Refusal.
  [[nodiscard]] virtual ir::TensorPtr exchange(const ir::Op& op, int64_t id, const ir::TensorPtr& value) = 0;
};

/// While it lives, this thread evaluates the program of device `id`.
class OnDevice {
 public:
  OnDevice(Exchange& exchange, int64_t id);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
};

/// The group of a device, in its order. Of a permutation: all devices that are linked to it by pairs. Empty: the device
/// takes no part.
[[nodiscard]] ir::Dims members_of(const ir::Op& collective, int64_t id);
/// The result of member `own` from the values of all members, combined in their order. Not of permutations.
[[nodiscard]] ir::TensorPtr result_of(const ir::Op& collective, const std::vector<ir::TensorPtr>& values, size_t own);
/// Part `which` of `parts` along a dimension.
[[nodiscard]] ir::TensorPtr part_of(const ir::TensorPtr& value, size_t dimension, int64_t parts, int64_t which);
/// The values one behind the other along a dimension.
[[nodiscard]] ir::TensorPtr side_by_side(const std::vector<ir::TensorPtr>& values, size_t dimension);
/// All values of one type by the collective's operation, in their order.
[[nodiscard]] ir::TensorPtr combined(const ir::Op& collective, const std::vector<ir::TensorPtr>& values);

}  // namespace weft::compiler::reference
