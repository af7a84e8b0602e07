// The fast core against a manager and programs that do anything: commands of any bits in any queue, segments,
// registers. Memory is reached only where a segment allows it, and CONTROL's reset brings every state back to rest.
//
// The input is a list of operations: an opcode byte and its operands.
#include <array>

#include "model/core/fast/fast_core.hpp"
#include "testbench/fuzz/core_operations.hpp"
#include "testbench/fuzz/fuzz_target.hpp"
#include "testbench/fuzz/seeds.hpp"
#include "testbench/unit/fast_core/programs.hpp"

using namespace weft;

namespace {

constexpr size_t kMemoryBytes = 1u << 16;
constexpr uint64_t kMaxCycles = 2'000;  // of an input, after its operations
constexpr int kMaxOperations = 128;
constexpr unsigned kFuzzedSegments = 4;  // from segment 1

using Operation = fuzz::CoreOperation;
using enum fuzz::CoreOperation;

/// HBM that knows what the segment table allows. The core answers for what it does, the bus only looks.
class WatchedBus : public test::Bus {
 public:
  explicit WatchedBus(const spec::Chip& chip) : test::Bus(chip, kMemoryBytes) {}

  bool read(weft_address_space space, uint64_t address, std::span<std::byte> out) override {
    fuzz::require(allowed(space, address, out.size(), &golden::Segment::readable), "reads stay inside a segment");
    return test::Bus::read(space, address, out);
  }
  bool write(weft_address_space space, uint64_t address, std::span<const std::byte> data) override {
    fuzz::require(allowed(space, address, data.size(), &golden::Segment::writable), "writes stay inside a segment");
    return test::Bus::write(space, address, data);
  }
  /// Segments as they were written, all that ever were: a command keeps those that it was checked with.
  std::vector<golden::Segment> segments;

 private:
  bool allowed(weft_address_space space, uint64_t address, uint64_t bytes, bool golden::Segment::*permission) const {
    for (const golden::Segment& s : segments) {
      const uint64_t offset = address - s.base;
      if (s.*permission && s.space == space && offset <= s.limit && bytes <= s.limit - offset) return true;
    }
    return false;
  }
};

class Manager {
 public:
  explicit Manager(fuzz::Input& input)
      : input_(input), chip_(*spec::find_chip("nano")), bus_(chip_), core_(chip_, bus_) {
    core_.advance(100);
    map(3, {0, kMemoryBytes / 2, WEFT_ADDRESS_SPACE_HBM, true, true});
  }

  void act() {
    switch (fuzz::core_operation(input_.take<uint8_t>())) {
      case kPush:
        push();
        break;
      case kSegment:
        map(1 + input_.take<uint8_t>() % kFuzzedSegments, take_segment());
        break;
      case kRegister: {
        const uint32_t offset = input_.take<uint16_t>() & ~7u;
        const auto value = input_.take<uint64_t>();
        // Segments have their own operation, so that the bus knows them.
        if (offset < WEFT_CSR_SEGMENT_BASE || offset >= WEFT_CSR_SEGMENT_BASE + WEFT_SEGMENTS * kSegmentStride)
          core_.write_csr(offset, value);
        break;
      }
      case kAdvance:
        core_.advance(core_.cycle() + input_.take<uint8_t>());
        break;
      case kReset:
        reset();
        break;
      case kRead:
        (void)core_.read_csr(input_.take<uint16_t>());
        break;
      case kOperations:
        break;
    }
  }

  /// Runs what was pushed, then resets: at rest, no fault, no interrupt.
  void finish() {
    const uint64_t end = core_.cycle() + kMaxCycles;
    while (core_.busy() && core_.cycle() < end) core_.advance(end);
    reset();
    core_.write_csr(WEFT_CSR_INTERRUPT, ~uint64_t{0});
    core_.advance(core_.cycle() + 100);
    fuzz::require(!core_.busy(), "a core that was reset is idle");
    fuzz::require(!core_.interrupt(), "a core that was reset is silent once its interrupts are cleared");
    std::array<std::byte, 64> row{};
    fuzz::require(core_.peek_vmem(0, row), "VMEM can be looked at");
  }

 private:
  static constexpr uint32_t kSegmentStride = WEFT_CSR_SEGMENT_BASE_STRIDE;

  golden::Segment take_segment() {
    golden::Segment s;
    s.base = input_.take<uint32_t>() & ~15u;
    s.limit = input_.take<uint32_t>();
    const auto attributes = input_.take<uint8_t>();
    s.space = static_cast<weft_address_space>(attributes & 3);
    s.readable = (attributes & 4) != 0;
    s.writable = (attributes & 8) != 0;
    return s;
  }

  void map(unsigned segment, const golden::Segment& s) {
    bus_.segments.push_back(s);
    const uint32_t at = segment * kSegmentStride;
    core_.write_csr(WEFT_CSR_SEGMENT_ATTRIBUTES + at, 0);  // or base and limit would count one by one
    core_.write_csr(WEFT_CSR_SEGMENT_BASE + at, s.base);
    core_.write_csr(WEFT_CSR_SEGMENT_LIMIT + at, s.limit);
    core_.write_csr(WEFT_CSR_SEGMENT_ATTRIBUTES + at, s.space | (s.readable ? 4u : 0u) | (s.writable ? 8u : 0u));
    core_.advance(core_.cycle() + 8);
  }

  void push() {
    const unsigned queue = input_.take<uint8_t>() % WEFT_CORE_QUEUES;
    const auto command = input_.take<spec::Command>();
    (void)core_.push(queue, command);
  }

  void reset() {
    core_.write_csr(WEFT_CSR_CONTROL, 1);
    core_.advance(core_.cycle() + kMaxCycles);
  }

  fuzz::Input& input_;
  const spec::Chip& chip_;
  WatchedBus bus_;
  core::FastCore core_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  Manager manager(input);
  for (int i = 0; i < kMaxOperations && !input.empty(); i++) manager.act();
  manager.finish();
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  static const fuzz::OperationFormat kFormat = fuzz::format_of(fuzz::core_seeds(), fuzz::core_operand_bytes);
  return fuzz::mutate_operations(data, size, max_size, seed, kFormat);
}
