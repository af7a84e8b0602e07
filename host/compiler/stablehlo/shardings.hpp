/// Shardy's meshes and shardings; private to the importer.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "host/compiler/ir/devices.hpp"
#include "host/compiler/stablehlo/program.hpp"

namespace weft::compiler::stablehlo {

struct Mesh {
  std::vector<std::string> names;
  ir::Dims sizes;
  std::vector<int64_t> devices;  ///< at each place, the last axis fastest

  [[nodiscard]] size_t axis(std::string_view name) const;
  /// The device's place along each axis.
  [[nodiscard]] ir::Dims coordinates(int64_t device) const;
};

/// Along each dimension of a tensor: axes of the mesh, the first one slowest. Along `unreduced` axes devices have parts
/// of a sum.
struct Sharding {
  Mesh mesh;
  std::vector<std::vector<size_t>> axes;
  std::vector<size_t> unreduced = {};
};

/// Refuses an attribute that is no sharding, and one by parts of axes.
[[nodiscard]] Sharding sharding_of(const Program& program, const Attribute& attribute);
/// The tiles of the devices `ids`, by those of the axes that `counts` marks; empty: by all.
[[nodiscard]] ir::Tiling tiling_of(const Sharding& sharding, const std::vector<int64_t>& ids,
                                   const std::vector<bool>& counts);
/// By "sdy.sharding" in a function's list of dictionaries; null: nothing is told.
[[nodiscard]] std::vector<const Attribute*> told_shardings(const Program& program, const Operation& function,
                                                           std::string_view list, size_t count);
/// What the operation that computes a value tells: a manual computation, or a constraint. Null: nothing.
[[nodiscard]] const Attribute* sharding_of_value(const Program& program, const Block& block, ValueNumber value);
/// A tiling for each value, whose rank is given. Null: replicated.
[[nodiscard]] std::vector<ir::Tiling> tilings_of_values(const Program& program,
                                                        const std::vector<const Attribute*>& shardings,
                                                        const std::vector<size_t>& ranks, size_t devices);

}  // namespace weft::compiler::stablehlo
