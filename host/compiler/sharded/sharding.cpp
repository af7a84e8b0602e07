// Ranks on the axes of a slice, and blocks of columns.
#include "host/compiler/sharded/sharding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace weft::compiler {
namespace {

std::array<uint32_t, 3> coordinates(const SliceShape& slice, uint32_t chip) {
  return {chip % slice.size[0], chip / slice.size[0] % slice.size[1], chip / slice.size[0] / slice.size[1]};
}

}  // namespace

unsigned mesh_ranks(const SliceShape& slice, const MeshAxes& axes) {
  unsigned ranks = 1;
  for (unsigned axis = 0; axis < 3; axis++)
    if (axes[axis]) ranks *= slice.size[axis];
  return ranks;
}

unsigned mesh_rank(const SliceShape& slice, const MeshAxes& axes, uint32_t chip) {
  const auto place = coordinates(slice, chip);
  unsigned rank = 0, stride = 1;
  for (unsigned axis = 0; axis < 3; axis++) {
    if (!axes[axis]) continue;
    rank += place[axis] * stride;
    stride *= slice.size[axis];
  }
  return rank;
}

Status check_sharding(const SliceShape& slice, const Sharding& sharding, uint64_t rows) {
  for (unsigned axis = 0; axis < 3; axis++)
    if (sharding.batch[axis] + sharding.k[axis] + sharding.n[axis] > 1)
      return Error{WEFT_ERROR_INVALID_ARGUMENT,
                   fmt::format("axis {} cuts two of batch, k and n; an axis cuts one thing", "xyz"[axis])};
  const std::array<std::pair<const char*, MeshAxes>, 3> kinds{
      {{"batch", sharding.batch}, {"weights=k", sharding.k}, {"weights=n", sharding.n}}};
  for (const auto& [kind, axes] : kinds)
    if (slice.chips() > 1 && axes != MeshAxes{} && mesh_ranks(slice, axes) == 1) {
      std::string named;
      for (unsigned axis = 0; axis < 3; axis++)
        if (axes[axis]) named += "xyz"[axis];
      return Error{WEFT_ERROR_INVALID_ARGUMENT,
                   fmt::format("{} over axis {} cuts nothing: a slice of {}x{}x{} chips has one chip along it", kind,
                               named, slice.size[0], slice.size[1], slice.size[2])};
    }
  if (const unsigned ranks = mesh_ranks(slice, sharding.batch); rows < ranks)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("a batch of {} rows over {} chips: each needs a row at least", rows, ranks)};
  return Ok{};
}

}  // namespace weft::compiler
