// What arrives from other chips at a core's memory.
#include "model/core/remote/remote_receiver.hpp"

#include <algorithm>
#include <vector>

#include "model/golden/remote.hpp"

namespace weft::core {
namespace {

/// From a piece's arrival to its last word in VMEM. Other accesses to VMEM are not delayed by it.
constexpr uint64_t kVmemWriteCycles = 4;

bool write_piece(const RemotePiece& piece, const Receiver& receiver, uint64_t& visible) {
  const uint8_t flags = piece.command.header.flags;
  const bool adds = (flags & (WEFT_COMMAND_FLAG_REDUCE_F32 | WEFT_COMMAND_FLAG_REDUCE_BF16)) != 0;
  const golden::Segment& segment = receiver.segments[piece.command.dst_seg];
  std::span<const std::byte> data(piece.data);
  const bool carried = !data.empty();  // else only the time counts
  std::vector<std::byte> there;
  visible = receiver.cycle;
  for (const RemoteRuns::Run run : piece.runs) {
    const auto now = data.first(carried ? run.bytes : 0);
    data = data.subspan(now.size());
    if (piece.command.dst_seg == 0) {
      if (carried) receiver.combine_vmem(run.offset, now);
      visible = std::max(visible, receiver.cycle + kVmemWriteCycles);
      continue;
    }
    const uint64_t address = segment.base + run.offset;
    uint64_t from = receiver.cycle;
    there.resize(carried ? run.bytes : 1);
    if (adds || !carried) {
      if (!receiver.bus.read(segment.space, address, there)) return false;
    }
    if (adds) {
      from = receiver.bus.schedule_read(segment.space, run.bytes, receiver.cycle);
    }
    if (carried) {
      golden::combine(flags, there, now);
      if (!receiver.bus.write(segment.space, address, there)) return false;
    }
    visible = std::max(visible, receiver.bus.schedule_write(segment.space, run.bytes, from));
  }
  return true;
}

}  // namespace

std::optional<golden::Fault> receive_piece(const RemotePiece& piece, const Receiver& receiver, uint64_t& visible) {
  const auto refused = golden::check_remote_destination(piece.command, receiver.chip, receiver.segments, receiver.here);
  if (refused) return refused;
  if (write_piece(piece, receiver, visible)) return std::nullopt;
  return golden::ici_fault(WEFT_ICI_CAUSE_BUS, receiver.here, piece.command.dst_seg);
}

}  // namespace weft::core
