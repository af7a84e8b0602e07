// Commands that concern other chips: what sender and receiver check, reductions, groups.
#include "model/golden/remote.hpp"

#include <cstring>
#include <random>
#include <vector>

#include "check_commands.hpp"
#include "model/golden/arith.hpp"

using namespace weft;
using namespace weft::test;

namespace {

constexpr golden::SlicePlace kPlace{.chip = 1, .chips = 4};

spec::DmaCommand remote_copy() {
  auto c = copy_out();
  c.header.flags = WEFT_COMMAND_FLAG_REMOTE;
  c.header.post_sem1 = 50;
  c.header.post_count1 = 1;
  c.remote_chip = 3;
  c.dst_seg = 9;  // not mapped here: it is the receiver's
  return c;
}

std::optional<Fault> check(const spec::DmaCommand& c, unsigned queue = WEFT_QUEUE_DMA_OUT,
                           const golden::SlicePlace& place = kPlace) {
  return golden::check_command(spec::encode(c), queue, chip(), segments(), place);
}

spec::BarrierCommand barrier() {
  spec::BarrierCommand c;
  c.header.opcode = WEFT_OPCODE_BARRIER;
  c.base = 1;
  c.count0 = 2;
  c.count1 = c.count2 = 1;
  c.stride0 = 2;
  return c;
}
std::optional<Fault> check(const spec::BarrierCommand& c, const golden::SlicePlace& place = kPlace) {
  return golden::check_command(spec::encode(c), WEFT_QUEUE_SYNC, chip(), segments(), place);
}

}  // namespace

TEST_CASE("A remote copy is legal in a slice and refused by a core that stands alone") {
  CHECK(check(remote_copy()) == std::nullopt);
  CHECK(check(remote_copy(), WEFT_QUEUE_DMA_OUT, {}) == Fault{WEFT_FAULT_ILLEGAL_FIELD, 1});
  CHECK(check(barrier()) == std::nullopt);
  CHECK(check(barrier(), {}) == Fault{WEFT_FAULT_ILLEGAL_OPCODE, WEFT_OPCODE_BARRIER});
}

TEST_CASE("Flags of slices go with COPY on dma_out, reductions with remote, and one at a time") {
  const auto flags = [](uint8_t value) {
    auto c = remote_copy();
    c.header.flags = value;
    return check(c);
  };
  const Fault refused{WEFT_FAULT_ILLEGAL_FIELD, 1};
  CHECK(flags(WEFT_COMMAND_FLAG_REMOTE | WEFT_COMMAND_FLAG_REDUCE_F32) == std::nullopt);
  CHECK(flags(WEFT_COMMAND_FLAG_REMOTE | WEFT_COMMAND_FLAG_REDUCE_BF16) == std::nullopt);
  CHECK(flags(WEFT_COMMAND_FLAG_REDUCE_F32) == refused);
  CHECK(flags(WEFT_COMMAND_FLAG_REMOTE | WEFT_COMMAND_FLAG_REDUCE_F32 | WEFT_COMMAND_FLAG_REDUCE_BF16) == refused);
  CHECK(flags(WEFT_COMMAND_FLAG_REMOTE | WEFT_COMMAND_FLAG_INTERRUPT) == refused);
  CHECK(flags(WEFT_COMMAND_FLAG_REMOTE | 0x80) == refused);
  auto in = copy_in();
  in.header.flags = WEFT_COMMAND_FLAG_REMOTE;
  CHECK(check(in, WEFT_QUEUE_DMA_IN) == refused);
  auto fill = fill_out();
  fill.header.flags = WEFT_COMMAND_FLAG_REMOTE;
  CHECK(check(fill) == refused);
}

TEST_CASE("A remote copy names another chip of the slice and a semaphore that others may post") {
  auto c = remote_copy();
  c.remote_chip = 4;
  CHECK(check(c) == golden::ici_fault(WEFT_ICI_CAUSE_NO_SUCH_CHIP, 4, 0));
  c.remote_chip = 1;
  CHECK(check(c) == golden::ici_fault(WEFT_ICI_CAUSE_NO_SUCH_CHIP, 1, 0));
  c = remote_copy();
  c.header.post_sem1 = 47;
  CHECK(check(c) == Fault{WEFT_FAULT_ILLEGAL_FIELD, 7});
  c = remote_copy();
  c.dst_seg = 32;
  CHECK(check(c) == Fault{WEFT_FAULT_ILLEGAL_FIELD, 17});
  c = copy_out();
  c.remote_chip = 3;
  CHECK(check(c) == Fault{WEFT_FAULT_ILLEGAL_FIELD, 18});
  CHECK(golden::ici_fault(WEFT_ICI_CAUSE_SEGMENT, 3, 9).address == (3ull << 56 | 3ull << 32 | 9));
}

TEST_CASE("The receiver looks at its own segments: VMEM, or HBM that is writable, and all of the command") {
  auto table = segments();
  const auto at = [&](uint8_t segment, uint64_t offset, uint16_t rows = 1, int32_t stride = 0) {
    auto c = remote_copy();
    c.dst_seg = segment;
    c.dst_off = offset;
    c.size1 = rows;
    c.dst_stride1 = stride;
    return golden::check_remote_destination(c, chip(), table, 3);
  };
  CHECK(at(4, 0) == std::nullopt);
  CHECK(at(4, 0x8000 - 48) == std::nullopt);
  CHECK(at(4, 0x8000 - 32) == golden::ici_fault(WEFT_ICI_CAUSE_RANGE, 3, 4));
  CHECK(at(4, 0, 2, -64) == golden::ici_fault(WEFT_ICI_CAUSE_RANGE, 3, 4));
  CHECK(at(3, 0) == golden::ici_fault(WEFT_ICI_CAUSE_SEGMENT, 3, 3));    // read only
  CHECK(at(5, 0) == golden::ici_fault(WEFT_ICI_CAUSE_SEGMENT, 3, 5));    // host memory
  CHECK(at(31, 0) == golden::ici_fault(WEFT_ICI_CAUSE_SEGMENT, 3, 31));  // not mapped
  CHECK(at(0, chip().vmem_bytes - 64) == std::nullopt);
  CHECK(at(0, chip().vmem_bytes - 32) == golden::ici_fault(WEFT_ICI_CAUSE_RANGE, 3, 0));
}

TEST_CASE("Reductions at the receiver are the VPU's additions") {
  std::array<uint32_t, 4> there{0x3f800000, 0x7f800000, 0x00000001, 0x80000000};
  const std::array<uint32_t, 4> data{0x33800000, 0xff800000, 0x00000001, 0x80000000};
  auto sum = there;
  golden::combine(WEFT_COMMAND_FLAG_REMOTE | WEFT_COMMAND_FLAG_REDUCE_F32, std::as_writable_bytes(std::span(sum)),
                  std::as_bytes(std::span(data)));
  for (size_t i = 0; i < sum.size(); i++) CHECK(sum[i] == golden::add_f32(there[i], data[i]));
  std::array<uint16_t, 4> narrow{0x3f80, 0x7f80, 0x0001, 0x4049};
  const std::array<uint16_t, 4> more{0x3b80, 0xff80, 0x0001, 0xc049};
  auto sums = narrow;
  golden::combine(WEFT_COMMAND_FLAG_REMOTE | WEFT_COMMAND_FLAG_REDUCE_BF16, std::as_writable_bytes(std::span(sums)),
                  std::as_bytes(std::span(more)));
  for (size_t i = 0; i < sums.size(); i++)
    CHECK(sums[i] ==
          golden::f32_to_bf16(golden::add_f32(golden::bf16_to_f32(narrow[i]), golden::bf16_to_f32(more[i]))));
  auto copied = there;
  golden::combine(WEFT_COMMAND_FLAG_REMOTE, std::as_writable_bytes(std::span(copied)), std::as_bytes(std::span(data)));
  CHECK(copied == data);
}

TEST_CASE("Reductions of any bits and any length, wherever they stand") {
  std::mt19937 random(1);
  const auto bits = [&]<class Element>(size_t count, Element) {
    std::vector<Element> values(count);
    for (Element& v : values) {
      v = static_cast<Element>(random());
      if (random() % 4 == 0) v &= static_cast<Element>(~(0x7fu << (8 * sizeof v - 8)));  // small, often subnormal
      if (random() % 8 == 0) v |= static_cast<Element>(0x7fu << (8 * sizeof v - 8));     // large, often no number
    }
    return values;
  };
  const auto check = [&](auto element, uint8_t flags, auto add) {
    for (const size_t count : {1u, 3u, 1023u, 1024u, 1025u, 4000u}) {
      const auto there = bits(count, element), data = bits(count, element);
      std::vector<std::byte> sum(1 + count * sizeof element), more(3 + count * sizeof element);
      std::memcpy(sum.data() + 1, there.data(), count * sizeof element);
      std::memcpy(more.data() + 3, data.data(), count * sizeof element);
      golden::combine(flags, std::span(sum).subspan(1), std::span(more).subspan(3));
      size_t differing = 0;
      for (size_t i = 0; i < count; i++) {
        auto found = element;
        std::memcpy(&found, sum.data() + 1 + i * sizeof found, sizeof found);
        differing += found != add(there[i], data[i]);
      }
      CHECK(differing == 0);
    }
  };
  check(uint32_t{}, WEFT_COMMAND_FLAG_REMOTE | WEFT_COMMAND_FLAG_REDUCE_F32, golden::add_f32);
  check(uint16_t{}, WEFT_COMMAND_FLAG_REMOTE | WEFT_COMMAND_FLAG_REDUCE_BF16, [](uint16_t a, uint16_t b) {
    return golden::f32_to_bf16(golden::add_f32(golden::bf16_to_f32(a), golden::bf16_to_f32(b)));
  });
}

TEST_CASE("A barrier's group lies in the slice, holds the chip, and names nobody twice") {
  CHECK(golden::barrier_group(barrier()) == std::vector<uint32_t>{1, 3});
  const auto changed = [](auto change) {
    auto c = barrier();
    change(c);
    return check(c);
  };
  const auto bad_group = [](uint32_t base) { return golden::ici_fault(WEFT_ICI_CAUSE_BARRIER_GROUP, base, 0); };
  CHECK(changed([](auto& c) { c.base = 2; }) == bad_group(2));                   // chip 4
  CHECK(changed([](auto& c) { c.base = 0; }) == bad_group(0));                   // 0 and 2, not 1
  CHECK(changed([](auto& c) { c.count0 = 65535; }) == bad_group(1));             // more than the slice has
  CHECK(changed([](auto& c) { c.count1 = 2, c.stride1 = 2; }) == bad_group(1));  // 1, 3, 3, 5
  CHECK(changed([](auto& c) { c.count0 = 0; }) == Fault{WEFT_FAULT_ILLEGAL_FIELD, 18});
  CHECK(changed([](auto& c) { c.stride0 = 0; }) == Fault{WEFT_FAULT_ILLEGAL_FIELD, 24});
  CHECK(changed([](auto& c) { c.stride1 = 1; }) == Fault{WEFT_FAULT_ILLEGAL_FIELD, 26});
  CHECK(changed([](auto& c) { c.count2 = 0; }) == Fault{WEFT_FAULT_ILLEGAL_FIELD, 22});
}
