/// A nano core in lockstep with golden, whose memory answers at every address; segments and semaphores at hand.
#pragma once
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "model/core/tensor_core.hpp"
#include "model/golden/check.hpp"
#include "testbench/random/draw.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace weft {

using random::Draw;

/// Memory at every address of every space: reads give a function of the address, writes go nowhere.
class OpenBus final : public core::MemoryBus {
 public:
  bool read(weft_address_space, uint64_t address, std::span<std::byte> out) override {
    for (size_t i = 0; i < out.size(); i++) out[i] = static_cast<std::byte>((address + i) * 0x9e3779b97f4a7c15u >> 56);
    return !fails;
  }
  bool write(weft_address_space, uint64_t, std::span<const std::byte>) override { return !fails; }
  uint64_t schedule_read(weft_address_space, uint64_t, uint64_t cycle) override { return due(cycle + 20); }
  uint64_t schedule_write(weft_address_space, uint64_t, uint64_t cycle) override { return due(cycle + 10); }
  bool congested(weft_address_space, uint64_t cycle) const override { return cycle % 16 == 3; }
  bool fails = false;
  unsigned answers = UINT32_MAX;  ///< so many requests are answered, no more

 private:
  uint64_t due(uint64_t cycle) { return answers == 0 ? UINT64_MAX : (answers--, cycle); }
};

class FieldBench {
 public:
  explicit FieldBench(uint64_t seed) : draw(seed), chip(*spec::find_chip("nano")) {
    std::string error;
    core = core::make_core(core::CoreKind::kLockstep, chip, bus, {}, error);
    if (!core) throw std::runtime_error(error);
  }

  void write(uint32_t offset, uint64_t value) {
    core->write_csr(offset, value);
    core->advance(core->cycle() + 1);
  }
  /// Semaphores and faults are gone, segments stay.
  void reset() {
    write(WEFT_CSR_CONTROL, 1);
    const uint64_t end = core->cycle() + WEFT_CORE_CORE_RESET_CYCLES + 1;
    while (core->cycle() < end) core->advance(end);
  }
  /// Runs at most `limit` cycles. True: the core came to rest.
  bool run(uint64_t limit) {
    const uint64_t end = core->cycle() + limit;
    while (core->busy() && core->cycle() < end) core->advance(core->cycle() + 1);
    return !core->busy();
  }

  /// A segment with any base and any limit, mostly mapped.
  void set_segment(unsigned index) {
    golden::Segment& segment = segments[index];
    segment.base = draw.bits() & ~uint64_t{15};
    segment.limit = draw.once_in(8) ? draw.bits() : draw.bits() >> draw.between(24, 40);
    segment.space =
        draw.one_of({WEFT_ADDRESS_SPACE_NONE, WEFT_ADDRESS_SPACE_HBM, WEFT_ADDRESS_SPACE_HBM, WEFT_ADDRESS_SPACE_HOST});
    segment.readable = !draw.once_in(8);
    segment.writable = !draw.once_in(8);
    golden::copy_to_version1(segments);
    const uint32_t at = index * WEFT_CSR_SEGMENT_BASE_STRIDE;
    const uint64_t attributes =
        uint64_t{segment.space} | uint64_t{segment.readable} << 2 | uint64_t{segment.writable} << 3;
    write(WEFT_CSR_SEGMENT_BASE + at, segment.base);
    write(WEFT_CSR_SEGMENT_LIMIT + at, segment.limit);
    write(WEFT_CSR_SEGMENT_ATTRIBUTES + at, attributes);
    CHECK(core->read_csr(WEFT_CSR_SEGMENT_BASE + at) == segment.base);
    CHECK(core->read_csr(WEFT_CSR_SEGMENT_LIMIT + at) == segment.limit);
    CHECK(core->read_csr(WEFT_CSR_SEGMENT_ATTRIBUTES + at) == attributes);
  }

  static constexpr unsigned kOpenSegment = 31;  ///< readable, writable, as large as an offset can tell
  void open_segment() {
    segments[kOpenSegment] = {.base = 0x123450,
                              .limit = uint64_t{1} << 40,
                              .space = WEFT_ADDRESS_SPACE_HBM,
                              .readable = true,
                              .writable = true};
    golden::copy_to_version1(segments);
    const uint32_t at = kOpenSegment * WEFT_CSR_SEGMENT_BASE_STRIDE;
    write(WEFT_CSR_SEGMENT_BASE + at, segments[kOpenSegment].base);
    write(WEFT_CSR_SEGMENT_LIMIT + at, segments[kOpenSegment].limit);
    write(WEFT_CSR_SEGMENT_ATTRIBUTES + at, uint64_t{WEFT_ADDRESS_SPACE_HBM} | 0xc);
  }

  [[nodiscard]] uint64_t semaphore(unsigned index) const {
    return core->read_csr(WEFT_CSR_SEMAPHORE + index * WEFT_CSR_SEMAPHORE_STRIDE);
  }
  void set_semaphore(unsigned index, uint64_t value) {
    write(WEFT_CSR_SEMAPHORE + index * WEFT_CSR_SEMAPHORE_STRIDE, value);
  }

  Draw draw;
  const spec::Chip& chip;
  OpenBus bus;
  std::unique_ptr<core::TensorCore> core;
  golden::SegmentTable segments{};
};

}  // namespace weft
