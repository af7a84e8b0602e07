// Drawn commands of a slice: what golden says of them, every kind of core says.
#include <iterator>
#include <map>
#include <random>

#include "testbench/unit/model_core/slice_core_bench.hpp"

using namespace weft;
using namespace weft::test;

namespace {

/// A remote COPY or a BARRIER, legal but for a few fields of any value.
struct Drawn {
  spec::Command command;
  unsigned queue;
};
Drawn draw_command(std::mt19937_64& random) {
  const auto once_in = [&](unsigned n) { return random() % n == 0; };
  const auto edge = [&] {
    constexpr uint16_t kEdges[] = {0, 1, 2, 3, 4, 5, 0x8000, 0xffff};
    return kEdges[random() % std::size(kEdges)];
  };
  if (once_in(3)) {
    auto c = barrier();
    c.header.tag = static_cast<uint16_t>(random());
    for (uint16_t* field : {&c.base, &c.count0, &c.count1, &c.count2, &c.stride0, &c.stride1, &c.stride2})
      if (once_in(4)) *field = edge();
    Drawn out{spec::encode(c), once_in(12) ? WEFT_QUEUE_VPU : unsigned{WEFT_QUEUE_SYNC}};
    if (once_in(10)) out.command.bytes[random() % 64] = static_cast<uint8_t>(random());
    return out;
  }
  auto c = remote(static_cast<uint16_t>(once_in(3) ? edge() : 2), 64 * (random() % 64), once_in(2) ? 0 : 3,
                  16 * (random() % 64), static_cast<uint32_t>(16 * (1 + random() % 8)));
  c.header.tag = static_cast<uint16_t>(random());
  if (once_in(12)) c.src_off = spec::find_chip("nano")->vmem_bytes - 64;
  if (once_in(2)) c.header.flags = static_cast<uint8_t>(random() % 32);
  if (once_in(3)) c.header.post_sem1 = static_cast<uint8_t>(44 + random() % 24), c.header.post_count1 = 1;
  for (uint16_t* size : {&c.size1, &c.size2, &c.size3})
    if (once_in(2)) *size = static_cast<uint16_t>(once_in(6) ? 0 : 1 + random() % 3);
  for (int32_t* stride :
       {&c.src_stride1, &c.src_stride2, &c.src_stride3, &c.dst_stride1, &c.dst_stride2, &c.dst_stride3})
    if (once_in(3)) *stride = (static_cast<int32_t>(random() % 9) - 4) * (once_in(4) ? 8 : 16);
  Drawn out{spec::encode(c), once_in(12) ? WEFT_QUEUE_DMA_IN : unsigned{WEFT_QUEUE_DMA_OUT}};
  if (once_in(6)) out.command.bytes[random() % 64] = static_cast<uint8_t>(random());
  return out;
}

}  // namespace

TEST_CASE(
    "Drawn commands of a slice are judged as the golden model judges them: code, address, tag, and what is begun") {
  constexpr uint64_t kSeed = 11;
  for (const auto kind : {core::CoreKind::kFast, core::CoreKind::kRtl}) {
    std::mt19937_64 random(kSeed);
    SliceBench bench(kind);
    golden::SegmentTable segments;
    segments[3] = {.base = 0, .limit = 1 << 20, .space = WEFT_ADDRESS_SPACE_HBM, .readable = true, .writable = true};
    std::map<weft_fault, unsigned> codes;
    for (unsigned i = 0; i < 6000; i++) {
      const Drawn drawn = draw_command(random);
      const auto header = spec::decode_header(drawn.command);
      if (header.wait_sem0 != WEFT_NO_SEMAPHORE || header.wait_sem1 != WEFT_NO_SEMAPHORE) continue;
      const auto expected = golden::check_command(drawn.command, drawn.queue, bench.chip, segments, bench.port.place());
      const size_t begun = bench.port.begun.size() + bench.port.barriers.size();
      REQUIRE(bench.core.push(drawn.queue, drawn.command));
      bench.run(16);
      INFO("seed " << kSeed << ", command " << i << ", kind " << static_cast<unsigned>(kind) << ", opcode "
                   << +header.opcode << ", flags " << +header.flags);
      REQUIRE(bench.fault_code() == (expected ? expected->code : WEFT_FAULT_NONE));
      if (expected) {
        REQUIRE(bench.core.read_csr(WEFT_CSR_FAULT_ADDRESS) == expected->address);
        REQUIRE((bench.core.read_csr(WEFT_CSR_FAULT_CODE) >> 32 & 0xffff) == header.tag);
      }
      const bool begins = !expected && (golden::is_remote(header) || header.opcode == WEFT_OPCODE_BARRIER);
      REQUIRE(bench.port.begun.size() + bench.port.barriers.size() == begun + (begins ? 1 : 0));
      codes[expected ? expected->code : WEFT_FAULT_NONE]++;
      bench.core.write_csr(WEFT_CSR_CONTROL, 1);
      bench.run(40);
    }
    for (const auto code : {WEFT_FAULT_NONE, WEFT_FAULT_ILLEGAL_FIELD, WEFT_FAULT_ALIGNMENT, WEFT_FAULT_RANGE,
                            WEFT_FAULT_ICI, WEFT_FAULT_ILLEGAL_OPCODE})
      CHECK(codes[code] > 20);
  }
}
