/// How a value lies on devices, dimension by dimension.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "host/compiler/ir/devices.hpp"

namespace weft::compiler::localise {

/// One dimension: in equal parts, of which each device has one.
struct Cut {
  int64_t parts = 1;
  std::vector<int64_t> place = {};  ///< by device; empty: one part
  [[nodiscard]] bool whole() const { return parts == 1; }
  bool operator==(const Cut&) const = default;
};

/// A cut for each dimension. Devices may have the same part.
using Shards = std::vector<Cut>;

[[nodiscard]] inline Shards whole(size_t rank) { return Shards(rank); }
[[nodiscard]] bool is_whole(const Shards& shards);
/// Each combination of parts is on some device, and on equally many: the parts are all of the value, once.
[[nodiscard]] bool complete(const std::vector<Cut>& cuts, size_t devices);
/// The parts of `cut` within those of `than`, if each of these is so many of those, one behind the other.
[[nodiscard]] std::optional<Cut> finer(const Cut& cut, const Cut& than);
[[nodiscard]] ir::Dims local_dims(const ir::Dims& dims, const Shards& shards);
[[nodiscard]] int64_t parts_of(const Shards& shards);

/// Refuses parts of sums.
[[nodiscard]] Shards shards_of(const ir::Tiling& tiling);
[[nodiscard]] ir::Tiling tiling_of(const Shards& shards, size_t devices);

/// Devices that have the same parts along `kept` and together all along `moved`, group after group, in the order of
/// `moved`. `kept` and `moved` are complete together.
struct DeviceGroups {
  ir::Dims devices;
  int64_t size = 1;
};
[[nodiscard]] DeviceGroups groups_along(const std::vector<Cut>& kept, const std::vector<Cut>& moved, size_t devices);

}  // namespace weft::compiler::localise
