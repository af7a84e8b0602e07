/// GATHER and SCATTER, row by row in the order of their indices.
#include <vector>

#include "model/golden/execute.hpp"
#include "model/golden/indexed_rows.hpp"
#include "model/golden/move_run.hpp"

namespace weft::golden {
namespace {

/// Calls visit(row, byte offset of row i in VMEM, address of the table's row) for each index; of -1 with no address. Stops at an index that is no
/// row, and where visit() returns a fault.
template <class Visit>
std::optional<Fault> for_each_row(CoreState& core, const spec::IndexedCommand& c, Visit&& visit) {
  const IndexedSide table = indexed_table(c), rows = indexed_rows(c);
  for (uint32_t i = 0; i < c.count; i++) {
    int32_t index = 0;
    core.read_vmem(uint64_t{c.index_off} + sizeof index * i, std::as_writable_bytes(std::span(&index, 1)));
    if (!index_legal(c, index)) return Fault{WEFT_FAULT_INDEX, index_fault_address(i, index)};
    std::optional<uint64_t> address;
    if (index != kNoRow)
      address = core.segments()[table.segment].base + static_cast<uint64_t>(table.offset + index * table.stride);
    if (auto fault = visit(static_cast<uint64_t>(rows.offset + i * rows.stride), address)) return fault;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Fault> execute_gather(CoreState& core, const spec::Command& command, MemoryAccess& memory) {
  const auto c = spec::decode_indexed(command);
  const weft_address_space space = core.segments()[c.src_seg].space;
  const std::vector<std::byte> zeros(c.row_bytes);
  std::vector<std::byte> piece;
  return for_each_row(core, c, [&](uint64_t vmem, const std::optional<uint64_t>& address) -> std::optional<Fault> {
    if (!address) {
      core.write_vmem(vmem, zeros);
      return std::nullopt;
    }
    return move_run(core.chip(), *address, c.row_bytes, [&](uint64_t at, uint64_t done, uint64_t bytes) {
      piece.resize(bytes);
      if (!memory.read(space, at, piece)) return false;
      core.write_vmem(vmem + done, piece);
      return true;
    });
  });
}

std::optional<Fault> execute_scatter(CoreState& core, const spec::Command& command, MemoryAccess& memory) {
  const auto c = spec::decode_indexed(command);
  const weft_address_space space = core.segments()[c.dst_seg].space;
  std::vector<std::byte> piece;
  return for_each_row(core, c, [&](uint64_t vmem, const std::optional<uint64_t>& address) -> std::optional<Fault> {
    if (!address) return std::nullopt;
    return move_run(core.chip(), *address, c.row_bytes, [&](uint64_t at, uint64_t done, uint64_t bytes) {
      return memory.write(space, at, core.view_vmem(vmem + done, bytes, piece));
    });
  });
}

}  // namespace weft::golden
