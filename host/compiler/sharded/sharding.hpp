/// What the axes of a slice cut. docs/sharding.md.
#pragma once
#include <cstdint>

#include "host/compiler/collectives/collective.hpp"
#include "host/compiler/result.hpp"

namespace weft::compiler {

/// Which axes of the slice cut what. An axis cuts one thing at most; chips that differ in other axes do the same work.
struct Sharding {
  MeshAxes batch{};  ///< rows of inputs, of outputs and of everything between
  MeshAxes k{};      ///< rows of every weight matrix, and so the columns of what it multiplies
  MeshAxes n{};      ///< columns of every weight matrix, and so of its result
};

[[nodiscard]] unsigned mesh_ranks(const SliceShape& slice, const MeshAxes& axes);
[[nodiscard]] unsigned mesh_rank(const SliceShape& slice, const MeshAxes& axes, uint32_t chip);

/// INVALID_ARGUMENT: an axis that cuts two things or nothing, or more ranks than rows.
[[nodiscard]] Status check_sharding(const SliceShape& slice, const Sharding& sharding, uint64_t rows);

}  // namespace weft::compiler
