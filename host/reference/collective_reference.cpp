// docs/collectives.md, rank by rank, without tiles and messages.
#include "host/reference/collective_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <map>
#include <span>
#include <utility>

#include "host/compiler/collectives/collective_mesh.hpp"
#include "host/compiler/layout.hpp"
#include "model/golden/remote.hpp"

namespace weft::tools {
namespace {

using compiler::Collective;
using compiler::CollectiveBlock;
using compiler::CollectiveKind;
using compiler::CollectiveMesh;
using compiler::SliceShape;
using Bytes = std::vector<std::byte>;

CollectiveMesh mesh_of(const SliceShape& slice, const Collective& c, uint32_t chip) {
  auto mesh = compiler::collective_mesh(slice, c, chip);
  assert(mesh.ok());
  return std::move(mesh.value());
}

CollectiveBlock block_of(const Collective& c, const CollectiveMesh& mesh, unsigned rank) {
  return compiler::collective_block(c.bytes, mesh.ranks(), rank);
}

Bytes part_of(const Bytes& data, const CollectiveBlock& block) {
  const auto first = data.begin() + static_cast<std::ptrdiff_t>(block.offset);
  return {first, first + static_cast<std::ptrdiff_t>(block.bytes)};
}

void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

/// The sums of one group.
class Reduction {
 public:
  Reduction(const Collective& c, const ChipData& inputs, const CollectiveMesh& mesh)
      : c_(c), inputs_(inputs), mesh_(mesh) {}

  /// The sum of a rank's block, put together from its parts and halves.
  [[nodiscard]] Bytes block(unsigned owner) const {
    const auto axes = static_cast<unsigned>(mesh_.axes.size());
    Bytes sum;
    for (unsigned part = 0; part < axes; part++)
      for (unsigned half = 0; half < (mesh_.halves() ? 2u : 1u); half++) {
        const auto piece = compiler::collective_piece(mesh_, block_of(c_, mesh_, owner), part, half);
        append(sum, at(owner, axes, part, half, piece));
      }
    return sum;
  }

 private:
  /// What `rank` has of a piece after `phases` axes: along the last of them, the chain from below, what the rank had
  /// before, the chain from above.
  [[nodiscard]] Bytes at(unsigned rank, unsigned phases, unsigned part, unsigned half,
                         const CollectiveBlock& piece) const {
    if (phases == 0) return part_of(inputs_[mesh_.chips[rank]], piece);
    const unsigned axis = compiler::reduction_axis(mesh_, part, phases - 1);
    const auto [ranks, ring] = mesh_.axes[axis];
    const unsigned here = mesh_.coordinate(rank, axis);
    const auto [below, above] = compiler::collective_reach(ranks, ring, here, half);
    const auto before = [&](unsigned coordinate) {
      return at(mesh_.moved(rank, axis, coordinate), phases - 1, part, half, piece);
    };
    Bytes sum, down;
    for (unsigned distance = below; distance > 0; distance--) add(sum, before((here + ranks - distance) % ranks));
    add(sum, before(here));
    for (unsigned distance = above; distance > 0; distance--) add(down, before((here + distance) % ranks));
    if (above > 0) add(sum, down);
    return sum;
  }

  void add(Bytes& sum, const Bytes& more) const { sum.empty() ? void(sum = more) : add_elements(c_.dtype, sum, more); }

  const Collective& c_;
  const ChipData& inputs_;
  const CollectiveMesh& mesh_;
};

/// Each element of int32 wraps, as in the VPU.
void add_i32(Bytes& sum, const Bytes& more) {
  for (size_t at = 0; at < sum.size(); at += 4) {
    uint32_t a = 0, b = 0;
    std::memcpy(&a, &sum[at], 4);
    std::memcpy(&b, &more[at], 4);
    a += b;
    std::memcpy(&sum[at], &a, 4);
  }
}

}  // namespace

void add_elements(weft_argument_dtype dtype, Bytes& sum, const Bytes& more) {
  if (dtype == WEFT_ARGUMENT_DTYPE_I32)
    add_i32(sum, more);
  else
    golden::combine(dtype == WEFT_ARGUMENT_DTYPE_F32 ? WEFT_COMMAND_FLAG_REDUCE_F32 : WEFT_COMMAND_FLAG_REDUCE_BF16,
                    sum, more);
}

uint64_t collective_input_bytes(const SliceShape& slice, uint32_t chip, const Collective& c) {
  if (c.kind == CollectiveKind::kBarrier || !compiler::takes_part(c, chip)) return 0;
  if (c.kind != CollectiveKind::kAllGather) return c.bytes;
  const auto mesh = mesh_of(slice, c, chip);
  return block_of(c, mesh, mesh.rank).bytes;
}

uint64_t collective_output_bytes(const SliceShape& slice, uint32_t chip, const Collective& c) {
  if (c.kind == CollectiveKind::kBarrier || !compiler::takes_part(c, chip)) return 0;
  const auto mesh = mesh_of(slice, c, chip);
  const uint64_t block = block_of(c, mesh, mesh.rank).bytes;
  if (c.kind == CollectiveKind::kAllToAll) return mesh.ranks() * block;
  return c.kind == CollectiveKind::kReduceScatter ? block : c.bytes;
}

ChipData collective_reference(const SliceShape& slice, const Collective& c, const ChipData& inputs) {
  ChipData outputs(slice.chips());
  const bool alike = c.kind == CollectiveKind::kAllReduce || c.kind == CollectiveKind::kAllGather;
  std::map<std::vector<uint32_t>, uint32_t> first;  // chip of a group that has its output
  for (uint32_t chip = 0; chip < slice.chips(); chip++) {
    if (c.kind == CollectiveKind::kBarrier || !compiler::takes_part(c, chip)) continue;
    const auto mesh = mesh_of(slice, c, chip);
    if (const auto [known, fresh] = first.try_emplace(mesh.chips, chip); alike && !fresh) {
      outputs[chip] = outputs[known->second];
      continue;
    }
    const Reduction reduction(c, inputs, mesh);
    const auto input = [&](unsigned rank) -> const Bytes& { return inputs[mesh.chips[rank]]; };
    if (c.kind == CollectiveKind::kBroadcast) outputs[chip] = input(c.root);
    if (c.kind == CollectiveKind::kPermute) outputs[chip] = input((mesh.rank + mesh.ranks() - c.shift) % mesh.ranks());
    if (c.kind == CollectiveKind::kReduceScatter) outputs[chip] = reduction.block(mesh.rank);
    for (unsigned rank = 0; rank < mesh.ranks(); rank++) {
      if (c.kind == CollectiveKind::kAllToAll)
        append(outputs[chip], part_of(input(rank), block_of(c, mesh, mesh.rank)));
      if (c.kind == CollectiveKind::kAllGather) append(outputs[chip], input(rank));
      if (c.kind == CollectiveKind::kAllReduce) append(outputs[chip], reduction.block(rank));
    }
  }
  return outputs;
}

std::vector<std::byte> draw_numbers(std::mt19937_64& random, uint64_t bytes, weft_argument_dtype dtype) {
  const size_t size = compiler::element_bytes(dtype);
  std::vector<std::byte> data(bytes);
  if (dtype == WEFT_ARGUMENT_DTYPE_I8 || dtype == WEFT_ARGUMENT_DTYPE_I32) {
    for (auto& byte : data) byte = static_cast<std::byte>(random());
    return data;
  }
  for (size_t at = 0; at < bytes; at += size) {
    const uint64_t drawn = random();
    const auto bits = static_cast<uint32_t>((drawn & 0x807fffff) | (112 + (drawn >> 32) % 16) << 23);
    const uint32_t number = bits >> (32 - 8 * size);  // of bf16 the upper half
    std::memcpy(&data[at], &number, size);
  }
  return data;
}

Comparison check_collective(const SliceShape& slice, const Collective& c, const ChipData& expected,
                            const std::vector<ChipData>& outputs) {
  const size_t size = compiler::element_bytes(c.dtype);
  Comparison out;
  for (uint32_t chip = 0; chip < slice.chips(); chip++) {
    const uint64_t bytes = collective_output_bytes(slice, chip, c), elements = bytes / size;
    if (bytes == 0) continue;
    const std::span<const std::byte> reference =
        chip < expected.size() ? std::span(expected[chip]) : std::span<std::byte>();
    std::span<const std::byte> got;
    if (chip < outputs.size() && !outputs[chip].empty()) got = outputs[chip].back();
    out.add(fmt::format("chip {}", chip), {&elements, 1}, reference, got.first(std::min<size_t>(bytes, got.size())),
            size);
  }
  return out;
}

}  // namespace weft::tools
