/// Collectives as programs: one kernel a chip, made of remote copies, barriers and VPU additions. docs/collectives.md.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "host/compiler/executable/executable_writer.hpp"
#include "host/compiler/result.hpp"
#include "weft/spec/chips.hpp"

namespace weft::compiler {

enum class CollectiveKind : uint8_t {
  kAllGather = 1,
  kReduceScatter = 2,
  kAllReduce = 3,
  kBroadcast = 4,
  kBarrier = 5,
  kAllToAll = 6,
  kPermute = 7,
};

/// Which way data take (docs/collectives.md). The result has the same bits.
enum class CollectiveAlgorithm : uint8_t {
  kBySize = 0,    ///< the faster one by the closed forms
  kNeighbor = 1,  ///< from neighbour to neighbour: a link carries each block once
  kDirect = 2,    ///< straight to each receiver: no program on the way waits for data
};

/// The slice: chips along x, y, z, and which axes close to a ring. Chips are numbered x first.
struct SliceShape {
  std::array<uint32_t, 3> size{1, 1, 1};
  std::array<bool, 3> wraps{};
  uint64_t link_bytes_per_second = 0;  ///< of a link, one way; 0: not known, and no algorithm is chosen by it
  [[nodiscard]] uint32_t chips() const { return size[0] * size[1] * size[2]; }
};

/// Axes of a slice, by number (0 x, 1 y, 2 z), taken together: a chip's rank on them counts along the lowest first. No
/// axis: one rank.
using MeshAxes = std::array<bool, 3>;
[[nodiscard]] constexpr MeshAxes one_axis(unsigned axis) { return {axis == 0, axis == 1, axis == 2}; }

/// What all chips along some axes do together; chips that differ in another axis form groups of their own. Or what the
/// chips of explicit groups do, each group on its own.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  MeshAxes axes{true, false, false};
  /// Any; a reduction: f32, bf16 or i32, which are what the VPU adds. The other kinds move bytes as they are.
  weft_argument_dtype dtype = WEFT_ARGUMENT_DTYPE_F32;
  uint64_t bytes = 0;  ///< of the whole array: what a gathering gives, what each chip holds before a reduction; a
                       ///< multiple of 16
  unsigned root = 0;   ///< broadcast: rank that holds the array
  unsigned shift = 0;  ///< permute: rank r sends its array to rank (r + shift) modulo the ranks
  /// Chips of each group by rank, in place of `axes`: every group a box of chips (regular strides), all of one size, no
  /// chip twice. A group is a line in its order, or a ring if every chip is a neighbour of the next and the last one of
  /// the first; of an all-gather, whose bits no order changes, it is a mesh if it counts along the axes of one.
  std::vector<std::vector<uint32_t>> groups;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kBySize;
  bool beside_program = false;  ///< leaves most semaphores to a program: at most kSemaphoresBesideProgram below 48

  bool operator==(const Collective&) const = default;
};
inline constexpr unsigned kSemaphoresBesideProgram = 14;

/// False: the chip is in none of the collective's groups.
[[nodiscard]] bool takes_part(const Collective& collective, uint32_t chip);

/// Rank `rank`'s part of an array of `bytes` cut among `ranks`: blocks of 16-byte granules, the first ones one granule
/// longer where they do not come out even.
struct CollectiveBlock {
  uint64_t offset, bytes;
};
[[nodiscard]] CollectiveBlock collective_block(uint64_t bytes, unsigned ranks, unsigned rank);

/// Ranks whose data come to `rank` along one axis from below and from above: on a line all there are; on a ring half of
/// them, the odd one to the first half of the data (0) from below, to the second half (1) from above.
struct CollectiveReach {
  unsigned below, above;
};
[[nodiscard]] CollectiveReach collective_reach(unsigned ranks, bool ring, unsigned rank, unsigned half);

/// The kernel of `chip`. Arguments: all-gather {input: its block, output: the array}; reduce-scatter {input: the array,
/// output: its block}; all-reduce and broadcast {input, output: the array} (a broadcast reads the root's input only);
/// all-to-all {input: the array, output: this rank's block of every rank's array, by rank}; permute {input, output: an
/// array}; barrier {}. An empty block is an argument of 16 bytes that nobody touches. The kernel begins with a BARRIER
/// of the group whose signature comes from the collective: chips of a group that run different ones fault ICI.
/// INVALID_ARGUMENT: a chip, axes, a group, root, shift, dtype, algorithm or number of bytes that cannot be; the
/// message says which. UNSUPPORTED: a block of more than 65535 tiles over several axes, or the direct algorithm on an
/// array that VMEM has no room for.
[[nodiscard]] Result<Kernel> compile_collective(const spec::Chip& chip, const SliceShape& slice, uint32_t number,
                                                const Collective& collective);

/// True: the kernel's output may be its input, in the same memory, since a rank has read all that it has of an element
/// before the sum is written. Of what compile_collective takes; that takes it as well with two arguments apart.
[[nodiscard]] bool works_in_place(const spec::Chip& chip, const SliceShape& slice, uint32_t number,
                                  const Collective& collective);

}  // namespace weft::compiler
