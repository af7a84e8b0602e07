// One command, any segment table: decoder, legality, written ranges. A legal command writes only what its
// segments allow.
//
// Layout: queue u8, chip u8, 3 segments {base u64, limit u64, attributes u8}, the command.
#include "model/golden/core_state.hpp"
#include "testbench/fuzz/fuzz_target.hpp"

using namespace weft;

namespace {

constexpr unsigned kFuzzedSegments = 3;
constexpr uint64_t kMaxRanges = 1u << 8;  // runs of a DMA command whose ranges are looked at one by one

golden::Segment take_segment(fuzz::Input& input) {
  golden::Segment segment;
  segment.base = input.take<uint64_t>() & ~uint64_t{15};
  segment.limit = input.take<uint64_t>();
  const auto attributes = input.take<uint8_t>();
  segment.space = static_cast<weft_address_space>(attributes & 3);
  segment.readable = (attributes & 4) != 0;
  segment.writable = (attributes & 8) != 0;
  return segment;
}

uint64_t runs_of(const spec::Command& command) {
  const auto opcode = spec::decode_header(command).opcode;
  if (opcode != WEFT_OPCODE_COPY && opcode != WEFT_OPCODE_FILL) return 1;
  const auto dma = spec::decode_dma(command);
  return uint64_t{dma.size1} * dma.size2 * dma.size3;
}

void check_ranges(const spec::Command& command, const spec::Chip& chip, const golden::SegmentTable& segments) {
  const auto ranges = golden::written_ranges(command, chip, segments);
  for (const auto& r : ranges.vmem)
    fuzz::require(r.address <= chip.vmem_bytes && r.bytes <= chip.vmem_bytes - r.address, "VMEM writes stay inside");
  for (const auto& r : ranges.acc)
    fuzz::require(uint64_t{r.row} + r.rows <= golden::acc_rows(chip), "ACC writes stay inside");
  for (const auto& r : ranges.memory) {
    bool allowed = false;
    for (size_t i = 1; i < segments.size(); i++) {
      const golden::Segment& s = segments[i];
      const uint64_t offset = r.address - s.base;
      allowed |= s.writable && s.space == r.space && offset <= s.limit && r.bytes <= s.limit - offset;
    }
    fuzz::require(allowed, "writes to memory stay inside a writable segment");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const unsigned queue = input.take<uint8_t>() % WEFT_CORE_QUEUES;
  const spec::Chip& chip = spec::kChips[input.take<uint8_t>() % spec::kChips.size()];
  golden::SegmentTable segments{};
  for (unsigned i = 0; i < kFuzzedSegments; i++) segments[3 + i] = take_segment(input);
  const auto command = input.take<spec::Command>();

  const auto header = golden::check_header(command, queue);
  const auto fault = golden::check_command(command, queue, chip, segments);
  fuzz::require(!header || fault == header, "a refused header refuses the command");
  if (header) return 0;
  fuzz::require(golden::check_unit(command, queue, chip, segments) == fault, "header and unit together are the whole");
  if (fault) {
    fuzz::require(fault->code != WEFT_FAULT_NONE, "a refusal has a code");
  } else if (runs_of(command) <= kMaxRanges) {
    check_ranges(command, chip, segments);
  }
  return 0;
}
