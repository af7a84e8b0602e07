// Checks, the barrier, and a kernel around what a rank transfers.
#include "host/compiler/collectives/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/round_up.hpp"
#include "host/compiler/collectives/barrier_signature.hpp"
#include "host/compiler/collectives/collective_algorithm.hpp"
#include "host/compiler/collectives/collective_direct.hpp"
#include "host/compiler/collectives/collective_paths.hpp"
#include "host/compiler/collectives/collective_resident.hpp"
#include "host/compiler/collectives/collective_tiles.hpp"
#include "host/compiler/executable/program_builder.hpp"
#include "host/compiler/layout.hpp"

namespace weft::compiler {
namespace {

constexpr unsigned kGate = 40;  // posted by the BARRIER
constexpr uint64_t kGranule = 16, kPitch = 64;
constexpr uint64_t kMostAtOnce = 16384;  // posts that one WAIT takes, so that the semaphore never overflows

uint32_t signature_of(const Collective& c, const CollectiveMesh& mesh, CollectiveAlgorithm algorithm) {
  std::vector<uint64_t> values{
      static_cast<uint64_t>(c.kind),   static_cast<uint64_t>(c.dtype), c.bytes, c.root, c.shift,
      static_cast<uint64_t>(algorithm)};
  for (const CollectiveAxis& axis : mesh.axes) values.insert(values.end(), {axis.ranks, axis.ring});
  values.insert(values.end(), mesh.chips.begin(), mesh.chips.end());
  return barrier_signature(values);
}

Argument argument(std::string_view name, const Collective& c, weft_argument_direction direction, uint64_t bytes) {
  const uint64_t size = round_up(std::max(bytes, kGranule), kPitch);
  return {.name = std::string(name),
          .dtype = c.dtype,
          .direction = direction,
          .rows = 1,
          .columns = std::max(bytes, kGranule) / element_bytes(c.dtype),
          .pitch_bytes = size,
          .size_bytes = size};
}

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllReduce;
}

Status check(const Collective& c, unsigned ranks) {
  const auto invalid = [](std::string text) { return Error{WEFT_ERROR_INVALID_ARGUMENT, std::move(text)}; };
  if (c.kind == CollectiveKind::kBarrier) return Ok{};
  if (c.dtype < WEFT_ARGUMENT_DTYPE_F32 || c.dtype > WEFT_ARGUMENT_DTYPE_I32)
    return invalid(fmt::format("dtype {}: f32, bf16, i8 and i32 are possible", static_cast<int>(c.dtype)));
  if (reduces(c.kind) && !sum_dtype(c.dtype))
    return invalid("dtype i8: the VPU adds f32, bf16 and i32; numbers of 8 bits are reduced as i32");
  if (c.bytes == 0 || c.bytes % kGranule != 0)
    return invalid(fmt::format("{} bytes: a multiple of {} from {} is due", c.bytes, kGranule, kGranule));
  if (c.root >= ranks) return invalid(fmt::format("root {}: the group has {} ranks", c.root, ranks));
  if (c.shift >= ranks) return invalid(fmt::format("shift {}: the group has {} ranks", c.shift, ranks));
  return Ok{};
}

/// The sync queue waits until all that others send straight to this rank is there.
void wait_for_direct(ProgramBuilder& program, uint64_t posts) {
  for (uint64_t left = posts; left != 0;) {
    const uint64_t now = std::min(left, kMostAtOnce);
    spec::NoneCommand wait;
    wait.header.opcode = WEFT_OPCODE_WAIT;
    wait.header.tag = program.tag("wait for the others");
    ProgramBuilder::wait(wait.header, kCollectiveDirect, now);
    program.push(WEFT_QUEUE_SYNC, spec::encode(wait));
    left -= now;
  }
}

/// Bytes of the arguments of a rank.
uint64_t input_bytes(const Collective& c, uint64_t block) {
  return c.kind == CollectiveKind::kAllGather ? block : c.bytes;
}
uint64_t output_bytes(const Collective& c, uint64_t block, unsigned ranks) {
  if (c.kind == CollectiveKind::kAllToAll) return ranks * block;
  return c.kind == CollectiveKind::kReduceScatter ? block : c.bytes;
}

/// A chip without links has no barrier: the command is illegal there, and no other chip has to be waited for.
void open_gate_alone(ProgramBuilder& program, bool waits) {
  spec::NoneCommand open;
  open.header.opcode = waits ? WEFT_OPCODE_SIGNAL : WEFT_OPCODE_WAIT;
  open.header.tag = program.tag("no barrier");
  if (waits) ProgramBuilder::post(open.header, kGate, 1);
  program.push(WEFT_QUEUE_SYNC, spec::encode(open));
}

}  // namespace

bool takes_part(const Collective& c, uint32_t chip) {
  return c.groups.empty() || std::ranges::any_of(c.groups, [chip](const auto& group) {
           return std::ranges::find(group, chip) != group.end();
         });
}

bool works_in_place(const spec::Chip& chip, const SliceShape& slice, uint32_t number, const Collective& c) {
  const auto mesh = collective_mesh(slice, c, number);
  if (!mesh.ok() || c.kind != CollectiveKind::kAllReduce) return false;
  const auto algorithm = collective_algorithm(chip, slice, mesh.value(), c);
  return algorithm.ok() && algorithm.value() == CollectiveAlgorithm::kNeighbor && is_resident(chip, mesh.value(), c);
}

Result<Kernel> compile_collective(const spec::Chip& chip, const SliceShape& slice, uint32_t number,
                                  const Collective& c) {
  const auto mesh = collective_mesh(slice, c, number);
  if (!mesh.ok()) return mesh.error();
  const unsigned ranks = mesh.value().ranks();
  if (auto status = check(c, ranks); !status.ok()) return status.error();
  const auto algorithm = collective_algorithm(chip, slice, mesh.value(), c);
  if (!algorithm.ok()) return algorithm.error();
  const auto dtype = sum_dtype(c.dtype).value_or(WEFT_VPU_DTYPE_F32);  // nothing is added in others
  ProgramBuilder program(chip);
  CollectivePaths paths;
  DirectCollective direct;
  if (algorithm.value() == CollectiveAlgorithm::kDirect && has_algorithms(c.kind)) {
    direct = schedule_direct(program, mesh.value(), c, dtype, kGate);
  } else if (is_resident(chip, mesh.value(), c)) {
    schedule_resident(program, mesh.value(), c, dtype, kGate, slice.link_bytes_per_second);
    direct.waits = true;
  } else if (c.kind != CollectiveKind::kBarrier) {
    auto made = collective_paths(mesh.value(), c, transfer_tile_bytes(chip));
    if (!made.ok()) return made.error();
    paths = std::move(made.value());
    direct = {!paths.transfers.empty(), paths.direct_posts};
    schedule_transfers(program, paths.transfers, dtype, kGate, c.beside_program ? kTilesBesideProgram : kTilesAtOnce);
  }
  if (slice.chips() == 1) {
    open_gate_alone(program, direct.waits);
  } else {
    auto barrier = collective_barrier(mesh.value());
    barrier.header.opcode = WEFT_OPCODE_BARRIER;
    barrier.signature = signature_of(c, mesh.value(), algorithm.value());
    barrier.header.tag = program.tag("barrier");
    if (direct.waits) ProgramBuilder::post(barrier.header, kGate, 1);
    program.push(WEFT_QUEUE_SYNC, spec::encode(barrier));
  }
  wait_for_direct(program, direct.direct_posts);

  Kernel kernel = program.kernel("collective");
  if (c.kind != CollectiveKind::kBarrier) {
    const uint64_t block = collective_block(c.bytes, ranks, mesh.value().rank).bytes;
    kernel.arguments = {argument("input", c, WEFT_ARGUMENT_DIRECTION_INPUT, input_bytes(c, block)),
                        argument("output", c, WEFT_ARGUMENT_DIRECTION_OUTPUT, output_bytes(c, block, ranks))};
    kernel.scratch_bytes = round_up(paths.scratch_bytes, kPitch);
  }
  return kernel;
}

}  // namespace weft::compiler
