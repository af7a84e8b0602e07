/// COPY and FILL, run by run; beat by beat where the memory reports an error, to name the beat.
#include <vector>

#include "model/golden/dma_runs.hpp"
#include "model/golden/execute.hpp"
#include "model/golden/move_run.hpp"
#include "model/golden/remote.hpp"

namespace weft::golden {
namespace {

/// Runs of a copy; transfer(space, bus_address, VMEM address, bytes) moves one piece.
template <class Transfer>
std::optional<Fault> copy(CoreState& core, const spec::DmaCommand& c, bool in, Transfer&& transfer) {
  const Segment elsewhere;
  const Segment& segment = is_remote(c.header) ? elsewhere : core.segments()[in ? c.src_seg : c.dst_seg];
  std::optional<Fault> fault;
  for_each_run(c, [&](int64_t source, int64_t destination) {
    const auto vmem = static_cast<uint64_t>(in ? destination : source);
    const uint64_t bus = segment.base + static_cast<uint64_t>(in ? source : destination);
    fault = move_run(core.chip(), bus, c.size0, [&](uint64_t address, uint64_t done, uint64_t bytes) {
      return transfer(segment.space, address, vmem + done, bytes);
    });
    return !fault;
  });
  return fault;
}

/// `bytes` of the pattern, which starts anew with every run.
std::vector<std::byte> pattern_bytes(const spec::DmaCommand& c) {
  const auto pattern = static_cast<uint32_t>(c.src_off);
  std::vector<std::byte> run(c.size0);
  for (size_t i = 0; i < run.size(); i++) run[i] = static_cast<std::byte>(pattern >> (8 * (i % sizeof pattern)));
  return run;
}

}  // namespace

std::optional<Fault> execute_copy_in(CoreState& core, const spec::Command& command, MemoryAccess& memory) {
  std::vector<std::byte> piece;
  return copy(core, spec::decode_dma(command), true,
              [&](weft_address_space space, uint64_t address, uint64_t vmem, uint64_t bytes) {
                if (core.vmem_is_flat()) return memory.read(space, address, core.vmem().subspan(vmem, bytes));
                piece.resize(bytes);
                if (!memory.read(space, address, piece)) return false;
                core.write_vmem(vmem, piece);
                return true;
              });
}

std::optional<Fault> execute_copy_out(CoreState& core, const spec::Command& command, MemoryAccess& memory) {
  std::vector<std::byte> piece;
  return copy(core, spec::decode_dma(command), false,
              [&](weft_address_space space, uint64_t address, uint64_t vmem, uint64_t bytes) {
                return memory.write(space, address, core.view_vmem(vmem, bytes, piece));
              });
}

std::optional<Fault> execute_fill_in(CoreState& core, const spec::Command& command, MemoryAccess&) {
  const auto c = spec::decode_dma(command);
  const auto run = pattern_bytes(c);
  for_each_run(c, [&](int64_t, int64_t destination) {
    core.write_vmem(static_cast<uint64_t>(destination), run);
    return true;
  });
  return std::nullopt;
}

std::optional<Fault> execute_fill_out(CoreState& core, const spec::Command& command, MemoryAccess& memory) {
  const auto c = spec::decode_dma(command);
  const auto run = pattern_bytes(c);
  const Segment& segment = core.segments()[c.dst_seg];
  std::optional<Fault> fault;
  for_each_run(c, [&](int64_t, int64_t destination) {
    const uint64_t bus = segment.base + static_cast<uint64_t>(destination);
    fault = move_run(core.chip(), bus, c.size0, [&](uint64_t address, uint64_t done, uint64_t bytes) {
      return memory.write(segment.space, address, std::span<const std::byte>(run).subspan(done, bytes));
    });
    return !fault;
  });
  return fault;
}

}  // namespace weft::golden
