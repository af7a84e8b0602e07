/// What commands mean to other chips of a slice: the receiver's check, reductions, the group of a BARRIER. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/golden/check.hpp"
#include "weft/spec/spec.h"

namespace weft::golden {

/// The command's destination and its post semaphore 1 are another chip's.
[[nodiscard]] constexpr bool is_remote(const spec::CommandHeader& header) {
  return (header.flags & WEFT_COMMAND_FLAG_REMOTE) != 0;
}

/// Fault ICI with its address as spec/faults.toml says.
[[nodiscard]] constexpr Fault ici_fault(weft_ici_cause cause, uint32_t chip, uint32_t detail) {
  return {WEFT_FAULT_ICI, uint64_t{cause} << 56 | uint64_t{chip & 0xffff} << 32 | detail};
}

/// What the receiver of a remote COPY looks at before anything is written: its own segment table, all of the command.
/// The command has passed its sender's checks. `here`: the receiver, whom the fault names.
[[nodiscard]] std::optional<Fault> check_remote_destination(const spec::DmaCommand& command, const spec::Chip& chip,
                                                            const SegmentTable& segments, uint32_t here);

/// there += data, elementwise, as the reduce flag in `flags` says; without one, there = data. Equal sizes, multiples of
/// 4 bytes. f32: one addition; bf16: added in f32 and rounded once. NaN and subnormals as in VPU commands.
void combine(uint8_t flags, std::span<std::byte> there, std::span<const std::byte> data);

/// The chips of a BARRIER's group, ascending by i, then j, then k.
[[nodiscard]] std::vector<uint32_t> barrier_group(const spec::BarrierCommand& command);

/// All chips of the group exist and differ, and this one is among them. No more is looked at than the slice has chips.
[[nodiscard]] bool barrier_legal(const spec::BarrierCommand& command, const SlicePlace& place);

}  // namespace weft::golden
