/// A fast core with three segments of HBM and short ways to look at it.
#pragma once
#include "model/core/fast/fast_core.hpp"
#include "programs.hpp"

namespace weft::test {

struct Bench {
  explicit Bench(const char* preset = "nano", const core::FastTiming& timing = {})
      : chip(*spec::find_chip(preset)), bus(chip), core(chip, bus, timing) {
    core.set_observer(&log);
    map(3, 0, 1 << 20);
    map(4, 1 << 20, 1 << 20);
    map(5, 2 << 20, 2 << 20);
    core.advance(100);
  }
  void map(unsigned segment, uint64_t base, uint64_t limit, uint64_t attributes = WEFT_ADDRESS_SPACE_HBM | 4 | 8) {
    const uint32_t at = segment * WEFT_CSR_SEGMENT_BASE_STRIDE;
    core.write_csr(WEFT_CSR_SEGMENT_BASE + at, base);
    core.write_csr(WEFT_CSR_SEGMENT_LIMIT + at, limit);
    core.write_csr(WEFT_CSR_SEGMENT_ATTRIBUTES + at, attributes);
  }
  template <class C>
  bool push(unsigned queue, const C& command) {
    return core.push(queue, spec::encode(command));
  }
  /// Runs until nothing is left to do, through interrupts. False: still busy after `limit` cycles.
  bool drain(uint64_t limit = 10'000'000) {
    const uint64_t end = core.cycle() + limit;
    while (core.busy() && core.cycle() < end) core.advance(end);
    return !core.busy();
  }
  uint64_t csr(uint32_t offset) { return core.read_csr(offset); }
  uint64_t counter(weft_counter index) { return csr(WEFT_CSR_COUNTER + index * WEFT_CSR_COUNTER_STRIDE); }
  void write(uint32_t offset, uint64_t value) {
    core.write_csr(offset, value);
    core.advance(core.cycle() + 1);
  }
  unsigned fault_code() { return csr(WEFT_CSR_FAULT_CODE) & 0xff; }

  const spec::Chip& chip;
  Bus bus;
  core::FastCore core;
  Log log;
};

}  // namespace weft::test
