// inject.sv alone, its neighbours played by C++: what may be armed, at which event each kind acts, what is told of it.
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <random>
#include <utility>

#include "Vinject_model.h"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/spec.h"

namespace {

using namespace weft::bench;

constexpr unsigned kKinds = WEFT_INJECT_KIND_RAISE + 1;
constexpr unsigned kVmemFlip = WEFT_INJECT_KIND_VMEM_FLIP, kAccFlip = WEFT_INJECT_KIND_ACC_FLIP;
enum Index : unsigned { kAddress, kData, kCheck, kPlace, kArm, kStatus };  // of a register, from INJECT_ADDRESS

const weft::spec::Chip& chip() { return *weft::spec::find_chip("nano"); }

/// INJECT_PLACE.
struct Place {
  unsigned queue = 0, code = 0, n = 0;
  uint32_t beat = 0;
};
Place place_of(uint64_t bits) {
  return {static_cast<unsigned>(bits & 0xff), static_cast<unsigned>(bits >> 8 & 0xff),
          static_cast<unsigned>(bits >> 16 & 0xffff), static_cast<uint32_t>(bits >> 32)};
}
uint64_t bits_of(const Place& p) {
  return p.queue | uint64_t{p.code} << 8 | uint64_t{p.n} << 16 | uint64_t{p.beat} << 32;
}

struct Flip {
  uint64_t granule = 0, data = 0, check = 0;
  bool next = false, watch = false, now = false;
  bool operator==(const Flip&) const = default;
};
/// core_pkg::flip_t, the lowest field first.
template <class Words>
Flip unpack(const Words& words) {
  const auto bits = [&](unsigned from, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++)
      value |= static_cast<uint64_t>(words[(from + i) / 32] >> ((from + i) % 32) & 1) << i;
    return value;
  };
  return {bits(72, 32), bits(8, 64), bits(0, 8), bits(104, 1) != 0, bits(105, 1) != 0, bits(106, 1) != 0};
}

/// What docs/reference says of the INJECT registers.
struct Model {
  struct Kind {
    bool armed = false, acted = false;
    Place place;
    uint16_t count = 0;
    [[nodiscard]] bool is_next() const { return static_cast<uint16_t>(count + 1) == place.n; }
  };
  std::array<uint64_t, 4> written{};  // address, data, check, place
  std::array<Kind, kKinds> kinds{};
  uint64_t raise_address = 0;
  Flip vmem, acc;
  bool refused = false;

  [[nodiscard]] bool legal(uint64_t arm) const {
    const auto& [address, data, check, place_bits] = written;
    const Place place = place_of(place_bits);
    const int flipped = std::popcount(data) + std::popcount(check);
    const bool one_or_two = flipped == 1 || flipped == 2;
    const bool queue = place.queue < WEFT_CORE_QUEUES && place.n != 0;
    switch (arm) {
      case WEFT_INJECT_KIND_NONE:
        return true;
      case WEFT_INJECT_KIND_VMEM_FLIP:
        return address < chip().vmem_bytes && address % 8 == 0 && check < 256 && one_or_two;
      case WEFT_INJECT_KIND_ACC_FLIP:
        return address >> 32 == 0 && (address & 0xffff) < 2 * chip().acc_bank_rows && address >> 16 < chip().n &&
               data >> 32 == 0 && check < 128 && one_or_two;
      case WEFT_INJECT_KIND_BUS_ERROR:
        return queue && (place.queue == WEFT_QUEUE_DMA_IN || place.queue == WEFT_QUEUE_DMA_OUT) && place.beat != 0;
      case WEFT_INJECT_KIND_RAISE:
        return queue && place.code != 0 && place.code <= WEFT_LAST_FAULT;
      default:
        return arm < kKinds && queue;
    }
  }
  void arm(uint64_t wanted) {
    refused = !legal(wanted);
    if (refused) return;
    if (wanted == WEFT_INJECT_KIND_NONE) {
      for (Kind& k : kinds) k.armed = false;
      return;
    }
    Kind& kind = kinds[wanted];
    kind.place = place_of(written[kPlace]);
    kind.count = 0;
    const bool flips = wanted == kVmemFlip || wanted == kAccFlip, at_once = flips && kind.place.n == 0;
    kind.armed = !at_once;
    if (at_once) kind.acted = true;
    const uint64_t address = written[kAddress];
    if (wanted == WEFT_INJECT_KIND_RAISE) raise_address = address;
    if (wanted == kVmemFlip) vmem = {.granule = address / 8, .data = written[kData], .check = written[kCheck]};
    if (wanted == kAccFlip)
      acc = {.granule = (address & 0xffff) * chip().n + (address >> 16 & 0xffff),
             .data = written[kData],
             .check = written[kCheck]};
    if (wanted == kVmemFlip) vmem.now = at_once;
    if (wanted == kAccFlip) acc.now = at_once;
  }
  [[nodiscard]] bool here(unsigned k, unsigned queue) const {
    return kinds[k].armed && kinds[k].place.queue == queue && kinds[k].is_next();
  }
  [[nodiscard]] unsigned here(unsigned k) const {
    unsigned queues = 0;
    for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) queues |= unsigned{here(k, q)} << q;
    return queues;
  }
  [[nodiscard]] Flip flip(unsigned k) const {
    Flip f = k == kVmemFlip ? vmem : acc;
    f.watch = kinds[k].armed, f.next = kinds[k].is_next();
    return f;
  }
  /// One cycle's events.
  void count(unsigned checked, unsigned started, bool vmem_write, bool acc_write) {
    const bool held = here(WEFT_INJECT_KIND_NOT_READY) != 0;
    for (unsigned k = 1; k < kKinds; k++) {
      Kind& kind = kinds[k];
      const unsigned events = k == WEFT_INJECT_KIND_RAISE ? checked : started;
      const bool flip_event = k == kVmemFlip ? vmem_write : acc_write;
      const bool now = k <= kAccFlip ? flip_event : (events >> kind.place.queue & 1) != 0;
      if (!kind.armed || !now) continue;
      if (kind.is_next()) kind.armed = false, kind.acted = true;
      kind.count++;
    }
    if (held) kinds[WEFT_INJECT_KIND_NOT_READY].acted = true;
    vmem.now = acc.now = false;
  }
  void core_reset() {
    for (Kind& k : kinds) k.armed = k.acted = false;
    refused = vmem.now = acc.now = false;
  }
  [[nodiscard]] uint64_t read(unsigned index) const {
    if (index < 4) return written[index];
    uint64_t status = uint64_t{refused} << 32;
    for (unsigned k = 0; k < kKinds; k++)
      status |= uint64_t{kinds[k].armed} << k | uint64_t{kinds[k].acted} << (16 + k);
    return index == kStatus ? status : 0;
  }
};

class InjectBench : public VerilatedBench<Vinject_model> {
 public:
  InjectBench() {
    auto& t = *top;
    t.core_rst_ni = t.write_i = t.index_i = t.checked_i = t.started_i = t.vmem_write_i = t.acc_write_i = 0;
    t.wdata_i = 0;
    reset();
    t.core_rst_ni = 1;
  }
  void write(unsigned index, uint64_t value) {
    top->write_i = 1, top->index_i = static_cast<uint8_t>(index), top->wdata_i = value;
    step();
    top->write_i = 0;
    settle();
  }
};

using Write = std::pair<unsigned, uint64_t>;

/// The writes that arm `kind`, mostly legally, with few events to wait for.
std::deque<Write> arming(std::mt19937_64& random, unsigned kind) {
  const auto below = [&](uint64_t limit) { return random() % limit; };
  uint64_t address = random(), data = 0, check = 0;
  for (uint64_t flips = 1 + below(2); flips != 0; flips--) (below(4) == 0 ? check : data) |= uint64_t{1} << below(64);
  if (kind == kVmemFlip) address = below(chip().vmem_bytes / 8) * 8, check &= 0xff;
  if (kind == kAccFlip)
    address = below(2 * chip().acc_bank_rows) | below(chip().n) << 16, check &= 0x7f, data &= UINT32_MAX;
  Place place{.queue = static_cast<unsigned>(below(WEFT_CORE_QUEUES)),
              .code = static_cast<unsigned>(1 + below(WEFT_LAST_FAULT)),
              .n = static_cast<unsigned>(below(5)),
              .beat = static_cast<uint32_t>(random())};
  if (kind == WEFT_INJECT_KIND_BUS_ERROR) place.queue = below(2) ? WEFT_QUEUE_DMA_IN : WEFT_QUEUE_DMA_OUT;
  std::array<uint64_t, 4> values{address, data, check, bits_of(place)};
  switch (below(6)) {  // something wrong, or a boundary
    case 0:
      values[below(4)] = random();
      break;
    case 1:
      values[below(4)] ^= uint64_t{1} << below(64);
      break;
    case 2:
      place.queue = static_cast<unsigned>(below(9)), place.code = static_cast<unsigned>(below(WEFT_LAST_FAULT + 3));
      place.beat = static_cast<uint32_t>(below(2));
      values[kPlace] = bits_of(place);
      break;
    default:
      break;
  }
  std::deque<Write> writes;
  for (unsigned i = 0; i < 4; i++) writes.emplace_back(i, values[i]);
  writes.emplace_back(kArm, below(20) == 0 ? kind | uint64_t{1} << below(64) : kind);
  return writes;
}

void require_same(InjectBench& bench, const Model& model) {
  const auto& t = *bench.top;
  REQUIRE(t.raise_o == model.here(WEFT_INJECT_KIND_RAISE));
  REQUIRE(t.hold_o == model.here(WEFT_INJECT_KIND_NOT_READY));
  const unsigned fails = model.here(WEFT_INJECT_KIND_BUS_ERROR);
  REQUIRE(t.fail_o == ((fails >> WEFT_QUEUE_DMA_IN & 1) | (fails >> WEFT_QUEUE_DMA_OUT & 1) << 1));
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
    REQUIRE(t.marks_o[q] == (unsigned{model.here(WEFT_INJECT_KIND_NOT_DONE, q)} << 2 |
                             unsigned{model.here(WEFT_INJECT_KIND_LOST_DONE, q)} << 1 |
                             unsigned{model.here(WEFT_INJECT_KIND_LOST_POST, q)}));
  if (t.raise_o != 0) {
    REQUIRE(t.raise_code_o == model.kinds[WEFT_INJECT_KIND_RAISE].place.code);
    REQUIRE(t.raise_address_o == model.raise_address);
  }
  if (t.fail_o != 0) REQUIRE(t.fail_beat_o == model.kinds[WEFT_INJECT_KIND_BUS_ERROR].place.beat);
  const Flip vmem = unpack(t.vmem_flip_o), acc = unpack(t.acc_flip_o);
  REQUIRE(vmem.now == model.vmem.now);
  REQUIRE(vmem.watch == model.kinds[kVmemFlip].armed);
  if (vmem.now || vmem.watch) REQUIRE((vmem == model.flip(kVmemFlip)));
  REQUIRE(acc.now == model.acc.now);
  REQUIRE(acc.watch == model.kinds[kAccFlip].armed);
  if (acc.now || acc.watch) REQUIRE((acc == model.flip(kAccFlip)));
  REQUIRE(t.rdata_o == model.read(t.index_i));
}

}  // namespace

TEST_CASE("random arming and events: what is armed acts at its n-th event, once, and nothing else does") {
  const uint64_t seed = stimulus_seed(1);
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  InjectBench bench;
  auto& t = *bench.top;
  Model model;
  std::deque<Write> writes;
  unsigned legal = 0, refused = 0, acted = 0;
  for (unsigned i = 0; i < 150000; i++) {
    if (writes.empty() && below(12) == 0) writes = arming(random, static_cast<unsigned>(below(kKinds + 1)));
    t.write_i = !writes.empty() && below(4) != 0;
    t.index_i = static_cast<uint8_t>(t.write_i ? writes.front().first : below(8));
    t.wdata_i = t.write_i ? writes.front().second : random();
    t.checked_i = static_cast<uint8_t>(below(4) == 0 ? below(32) : 0);
    t.started_i = static_cast<uint8_t>(below(4) == 0 ? below(32) : 0);
    t.vmem_write_i = model.kinds[kVmemFlip].armed && below(8) == 0;  // only what is watched is told
    t.acc_write_i = model.kinds[kAccFlip].armed && below(8) == 0;
    t.core_rst_ni = below(400) != 0;
    bench.settle();
    INFO("step " << i << "; " << rerun_line(seed, bench.cycle()));
    require_same(bench, model);

    const auto before = model.kinds;
    model.count(t.checked_i, t.started_i, t.vmem_write_i, t.acc_write_i);
    for (unsigned k = 0; k < kKinds; k++) acted += before[k].armed && !model.kinds[k].armed;
    if (t.write_i) {
      if (t.index_i < 4) model.written[t.index_i] = t.wdata_i;
      if (t.index_i == kArm) model.arm(t.wdata_i), (model.refused ? refused : legal)++;
      writes.pop_front();
    }
    if (!t.core_rst_ni) model.core_reset();
    bench.step();
  }
  CHECK(legal > 1000);
  CHECK(refused > 200);
  CHECK(acted > 500);
}

TEST_CASE("each bit that a flip's place or pattern cannot have is refused, alone") {
  const auto armed = [](unsigned kind, uint64_t address, uint64_t data, uint64_t check) {
    InjectBench bench;
    for (const auto& [index, value] : {Write{kAddress, address}, Write{kData, data}, Write{kCheck, check}})
      bench.write(index, value);
    bench.write(kPlace, bits_of({.n = 1}));
    bench.write(kArm, kind);
    bench.top->index_i = kStatus;
    bench.settle();
    const bool is_armed = (bench.top->rdata_o >> kind & 1) != 0;
    CHECK(is_armed == ((bench.top->rdata_o >> 32 & 1) == 0));
    return is_armed;
  };
  REQUIRE(armed(kVmemFlip, 8, 1, 0));
  REQUIRE(armed(kAccFlip, 1 | 1 << 16, 1, 0));
  for (unsigned bit = 0; bit < 64; bit++) {
    INFO("bit " << bit);
    const uint64_t one = uint64_t{1} << bit;
    CHECK(armed(kVmemFlip, one, 1, 0) == (one >= 8 && one < chip().vmem_bytes));
    CHECK(armed(kAccFlip, one, 1, 0) ==
          (one < 2 * chip().acc_bank_rows || (one >= 1 << 16 && one < uint64_t{chip().n} << 16)));
    CHECK(armed(kVmemFlip, 8, one, 0));
    CHECK(armed(kAccFlip, 1, one, 0) == (bit < 32));
    CHECK(armed(kVmemFlip, 8, 0, one) == (bit < 8));
    CHECK(armed(kAccFlip, 1, 0, one) == (bit < 7));
  }
}

TEST_CASE("a core reset disarms and keeps the parameters, power-up clears them") {
  InjectBench bench;
  const Place place{.queue = 2, .code = 3, .n = 7, .beat = 9};
  for (const auto& [index, value] :
       {Write{kAddress, 1}, Write{kData, 2}, Write{kCheck, 3}, Write{kPlace, bits_of(place)}})
    bench.write(index, value);
  bench.write(kArm, WEFT_INJECT_KIND_RAISE);
  bench.write(kArm, kKinds);  // refused
  const auto read = [&](unsigned index) {
    bench.top->index_i = static_cast<uint8_t>(index);
    bench.settle();
    return bench.top->rdata_o;
  };
  CHECK(read(kStatus) == (uint64_t{1} << 32 | 1u << WEFT_INJECT_KIND_RAISE));
  bench.top->core_rst_ni = 0;
  bench.step();
  bench.top->core_rst_ni = 1;
  CHECK(read(kStatus) == 0);
  CHECK(read(kAddress) == 1);
  CHECK(read(kData) == 2);
  CHECK(read(kCheck) == 3);
  CHECK(read(kPlace) == bits_of(place));
  bench.top->core_rst_ni = 0;
  bench.reset();
  for (unsigned index = 0; index < 6; index++) CHECK(read(index) == 0);
}
