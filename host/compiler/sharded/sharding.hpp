/// A network spread over the chips of a slice: which rows and columns of each tensor a chip has. docs/sharding.md.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/compiler/collectives/collective.hpp"
#include "host/compiler/graph.hpp"
#include "host/compiler/result.hpp"
#include "host/compiler/schedules/gemm_tiling.hpp"
#include "weft/spec/commands.hpp"

namespace weft::compiler {

/// Which axes of the slice cut what. An axis cuts one thing at most; chips that differ in other axes do the same work.
struct Sharding {
  MeshAxes batch{};  ///< rows of inputs, of outputs and of everything between
  MeshAxes k{};      ///< rows of every weight matrix, and so the columns of what it multiplies
  MeshAxes n{};      ///< columns of every weight matrix, and so of its result
  /// A result travels row chunk by row chunk while the next one multiplies. False: when all of it is there, as a step
  /// of its own.
  bool overlap = true;
};

/// Products by constants, elementwise operations and copies; with a batch over chips all tensors have its rows. What
/// lower_sharded() takes.
[[nodiscard]] bool is_dense(const Graph& graph, const Sharding& sharding);

[[nodiscard]] unsigned mesh_ranks(const SliceShape& slice, const MeshAxes& axes);
[[nodiscard]] unsigned mesh_rank(const SliceShape& slice, const MeshAxes& axes, uint32_t chip);

/// The part of `rank` in `total` elements that `ranks` share in units of `unit`: the first ranks have a unit more where
/// it does not come out even, the last unit may be short, and where there are fewer units than ranks the last ranks
/// have nothing.
[[nodiscard]] Span shard(uint64_t total, uint64_t unit, unsigned ranks, unsigned rank);

/// INVALID_ARGUMENT: an axis that cuts two things, or more ranks than rows. UNSUPPORTED: more than 16 chips that send
/// each other data.
[[nodiscard]] Status check_sharding(const SliceShape& slice, const Sharding& sharding, uint64_t rows);

/// What one chip has, and what the others have that work on the same rows: its group. Columns are cut in units of N.
class ShardView {
 public:
  ShardView(const SliceShape& slice, const Sharding& sharding, uint32_t chip, uint64_t unit);

  [[nodiscard]] unsigned members() const { return k_ranks_ * n_ranks_; }
  [[nodiscard]] unsigned me() const { return me_; }
  [[nodiscard]] unsigned k_ranks() const { return k_ranks_; }
  [[nodiscard]] unsigned k_rank(unsigned member) const { return member % k_ranks_; }
  [[nodiscard]] unsigned n_rank(unsigned member) const { return member / k_ranks_; }
  [[nodiscard]] unsigned member(unsigned k_rank, unsigned n_rank) const { return n_rank * k_ranks_ + k_rank; }
  [[nodiscard]] uint16_t chip(unsigned member) const;

  [[nodiscard]] Span rows(uint64_t total) const { return shard(total, 1, batch_ranks_, batch_rank_); }
  /// Of a matrix that is multiplied by W: the columns, which are W's rows, that a member multiplies.
  [[nodiscard]] Span k_block(unsigned member, uint64_t columns) const;
  /// Columns of W that a member multiplies by.
  [[nodiscard]] Span n_block(unsigned member, uint64_t columns) const;
  /// Columns of a result that a member computes in the end: its share of its n_block.
  [[nodiscard]] Span result_block(unsigned member, uint64_t columns) const;
  /// Columns of an input of the network that a member is given.
  [[nodiscard]] Span input_block(unsigned member, uint64_t columns) const;

  /// The barrier of the group, without header and signature; none if the chip has the group for itself.
  [[nodiscard]] std::optional<spec::BarrierCommand> barrier() const;

 private:
  SliceShape slice_;
  Sharding sharding_;
  uint32_t chip_;
  uint64_t unit_;
  unsigned batch_ranks_, batch_rank_, k_ranks_, n_ranks_, me_;
};

}  // namespace weft::compiler
