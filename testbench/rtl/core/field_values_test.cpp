// Every field of a command takes values of its whole width: the core agrees with golden on what is legal, on the fault
// of what is not, on results, and on semaphores. Random programs (testbench/random) use the values that programs use;
// here it is the bits that nobody sets.
#include "field_commands.hpp"

namespace weft {
namespace {

/// A copy out or a fill of the last word of VMEM, some 200 cycles long: the next command goes to the other channel.
void occupy_channel(FieldBench& bench, unsigned queue) {
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_FILL;
  c.size0 = 16, c.size1 = 200;
  if (queue == WEFT_QUEUE_DMA_OUT)
    c.dst_seg = FieldBench::kOpenSegment;
  else
    c.dst_off = bench.chip.vmem_bytes - bench.chip.word_bytes;
  REQUIRE(bench.core->push(queue, encode(c)));
}

/// Runs the case. False: it was cut off because a legal command has more to do than `limit` cycles.
bool run_case(FieldBench& bench, const FieldCase& c, uint64_t limit) {
  const spec::CommandHeader header = spec::decode_header(c.command);
  const bool header_legal = !golden::check_header(c.command, c.queue);
  const uint8_t sems[4] = {header.wait_sem0, header.wait_sem1, header.post_sem0, header.post_sem1};
  const uint16_t counts[4] = {header.wait_count0, header.wait_count1, header.post_count0, header.post_count1};
  uint64_t want[WEFT_SEMAPHORES] = {};
  bool overflows = false;
  unsigned overflowed = 0;
  if (header_legal) {
    for (unsigned i = 0; i < 2; i++)
      if (sems[i] != 0xff)
        want[sems[i]] = counts[i] + (bench.draw.once_in(2) ? 0 : bench.draw.below(65536 - counts[i]));
    const bool overflow = bench.draw.once_in(6);
    for (unsigned i = 2; i < 4; i++)
      if (sems[i] != 0xff && want[sems[i]] == 0 && overflow) want[sems[i]] = 65535 - bench.draw.below(3);
    for (unsigned i = 0; i < WEFT_SEMAPHORES; i++)
      if (want[i] != 0) bench.set_semaphore(i, want[i]);
    for (unsigned i = 0; i < 2; i++)
      if (sems[i] != 0xff) want[sems[i]] -= counts[i];
    for (unsigned i = 2; i < 4; i++) {
      if (sems[i] == 0xff || want[sems[i]] + counts[i] <= 65535 || overflows) continue;
      overflows = true, overflowed = sems[i];
    }
    if (!overflows && !c.expected)
      for (unsigned i = 2; i < 4; i++)
        if (sems[i] != 0xff) want[sems[i]] += counts[i];
  }
  if ((c.queue == WEFT_QUEUE_DMA_IN || c.queue == WEFT_QUEUE_DMA_OUT) && bench.draw.once_in(2)) {
    occupy_channel(bench, c.queue);
    limit += 600;
  }
  REQUIRE(bench.core->push(c.queue, c.command));
  const bool rests = bench.run(limit);
  if (!c.expected && !rests) return false;
  REQUIRE(rests);
  std::optional<golden::Fault> expected = c.expected;
  if (!expected && overflows) expected = golden::Fault{WEFT_FAULT_SEMAPHORE_OVERFLOW, overflowed};
  const uint64_t code = bench.core->read_csr(WEFT_CSR_FAULT_CODE);
  if (expected) {
    CHECK((code & 0xff) == expected->code);
    CHECK(bench.core->read_csr(WEFT_CSR_FAULT_ADDRESS) == expected->address);
    CHECK((code >> 32 & 0xffff) == header.tag);
    CHECK(bench.core->read_csr(WEFT_CSR_FAULT_COUNT) == 1);
  } else {
    CHECK((code & 0xff) == WEFT_FAULT_NONE);
  }
  if (header_legal)
    for (unsigned i = 0; i < WEFT_SEMAPHORES; i++) CHECK(bench.semaphore(i) == want[i]);
  return true;
}

TEST_CASE("commands with any bits in any field do what golden does", "[field_values]") {
  constexpr uint64_t kSeed = 20240817;
  constexpr unsigned kCases = 2500;
  INFO("seed " << kSeed);
  FieldBench bench(kSeed);
  for (unsigned i = 1; i < FieldBench::kOpenSegment; i++) bench.set_segment(i);
  bench.open_segment();
  unsigned cut = 0, refused = 0;
  for (unsigned i = 0; i < kCases; i++) {
    INFO("case " << i);
    bench.reset();
    bench.set_segment(static_cast<unsigned>(bench.draw.between(1, FieldBench::kOpenSegment - 1)));
    const FieldCase c = draw_case(bench);
    INFO("queue " << c.queue << ", opcode " << unsigned{c.command.bytes[0]});
    if (!run_case(bench, c, 400)) cut++;
    if (c.expected) refused++;
    const core::Mismatch mismatch = core::find_mismatch(*bench.core);
    INFO(mismatch.report);
    REQUIRE_FALSE(mismatch.differs);
  }
  CHECK(refused > kCases / 5);
  CHECK(refused + cut < kCases * 4 / 5);  // the rest ran to its end and was compared
}

}  // namespace
}  // namespace weft
