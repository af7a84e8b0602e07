// Fast cores of a slice in one simulation: data, posts, order, timing, resets, barriers. The firmware is a script a
// chip.
#include "model/chip/slice_network.hpp"

#include <catch2/catch.hpp>

#include "model/core/fast/fast_core.hpp"
#include "model/golden/remote.hpp"
#include "testbench/unit/chip/stand_in_firmware.hpp"

using namespace weft;
namespace hal = fw::hal;

namespace {

using Script = std::function<void()>;

/// nano-2x2 whose managers run one script each.
struct Slice {
  explicit Slice(std::vector<Script> scripts, const char* name = "nano-2x2")
      : slice(std::get<ici::Slice>(ici::parse_slice(name))),
        network(slice, *spec::find_chip("nano"), {.link_bytes_per_second = slice.generation->link_bytes_per_second}) {
    test::firmware = [scripts = std::move(scripts)] {
      const auto chip = static_cast<size_t>(hal::function_read(0, WEFT_REG_ICI_CHIP) & 0xffff);
      if (chip < scripts.size() && scripts[chip]) scripts[chip]();
      while (hal::running()) hal::wait_for_event(UINT64_MAX);
    };
    std::vector<chip::ChipOptions> options(slice.chips());
    for (uint32_t i = 0; i < slice.chips(); i++) {
      options[i].preset = spec::find_chip("nano");
      options[i].make_core = [this, i](core::MemoryBus& bus, std::string&) {
        return std::make_unique<core::FastCore>(*spec::find_chip("nano"), bus, core::FastTiming{}, &network.port(i));
      };
    }
    std::string error;
    simulation = chip::Simulation::make_slice(options, network, error);
    REQUIRE(simulation != nullptr);
  }
  uint64_t csr(uint32_t chip, uint32_t offset) { return simulation->chip(chip).core().core().read_csr(offset); }
  uint64_t semaphore(uint32_t chip, unsigned index) { return csr(chip, WEFT_CSR_SEMAPHORE + 8 * index); }
  uint64_t fault(uint32_t chip) { return csr(chip, WEFT_CSR_FAULT_CODE) & 0xff; }

  ici::Slice slice;
  chip::SliceNetwork network;
  std::unique_ptr<chip::Simulation> simulation;
};

void map(unsigned segment, uint64_t base, uint64_t limit) {
  const uint32_t at = segment * WEFT_CSR_SEGMENT_BASE_STRIDE;
  hal::csr_write(WEFT_CSR_SEGMENT_BASE + at, base);
  hal::csr_write(WEFT_CSR_SEGMENT_LIMIT + at, limit);
  hal::csr_write(WEFT_CSR_SEGMENT_ATTRIBUTES + at, WEFT_ADDRESS_SPACE_HBM | 4 | 8);
}

template <class C>
void push(unsigned queue, const C& command) {
  if (!hal::push_command(queue, spec::encode(command).bytes.data())) std::abort();
}

spec::DmaCommand fill(uint32_t pattern, uint64_t to, uint32_t bytes, uint8_t post) {
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_FILL;
  c.src_off = pattern;
  c.dst_off = to;
  c.size0 = bytes;
  c.header.post_sem0 = post;
  c.header.post_count0 = 1;
  return c;
}
spec::DmaCommand remote(uint16_t chip, uint64_t from, uint8_t segment, uint64_t to, uint32_t bytes, uint8_t wait,
                        uint8_t post) {
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_COPY;
  c.header.flags = WEFT_COMMAND_FLAG_REMOTE;
  c.header.wait_sem0 = wait;
  c.header.wait_count0 = wait == WEFT_NO_SEMAPHORE ? 0 : 1;
  c.header.post_sem1 = post;
  c.header.post_count1 = 1;
  c.remote_chip = chip;
  c.src_off = from;
  c.dst_seg = segment;
  c.dst_off = to;
  c.size0 = bytes;
  return c;
}
spec::BarrierCommand barrier(uint16_t base, uint16_t count, uint8_t post, uint32_t signature = 1) {
  spec::BarrierCommand c;
  c.header.opcode = WEFT_OPCODE_BARRIER;
  c.header.post_sem0 = post;
  c.header.post_count0 = 1;
  c.base = base;
  c.count0 = count;
  c.stride0 = count > 1 ? 1 : 0;
  c.count1 = c.count2 = 1;
  c.signature = signature;
  return c;
}
/// Sets out when the post has been taken: the cycle in which the sync queue came past it.
spec::NoneCommand take(uint8_t semaphore, uint16_t count, uint8_t post) {
  spec::NoneCommand c;
  c.header.opcode = WEFT_OPCODE_SIGNAL;
  c.header.wait_sem0 = semaphore;
  c.header.wait_count0 = count;
  c.header.post_sem0 = post;
  c.header.post_count0 = 1;
  return c;
}

}  // namespace

TEST_CASE("Data reach a neighbour's HBM and wake its queue a microsecond and the link's time later") {
  constexpr uint32_t kBytes = 64 << 10;
  uint64_t sent = 0;
  Slice slice({[&] {
                 hal::wait_for_event(1000);
                 sent = hal::now();
                 push(WEFT_QUEUE_DMA_IN, fill(0x01020304, 0, kBytes, 1));
                 push(WEFT_QUEUE_DMA_OUT, remote(1, 0, 3, 0x100, kBytes, 1, 48));
               },
               [] {
                 map(3, 0x10000, 1 << 20);
                 push(WEFT_QUEUE_SYNC, take(48, 1, 2));
               }});
  std::array<std::byte, kBytes> there{};
  REQUIRE(slice.simulation->chip(1).bus().read(WEFT_ADDRESS_SPACE_HBM, 0x10100, there));
  for (size_t i = 0; i < there.size(); i++) REQUIRE(there[i] == static_cast<std::byte>(4 - i % 4));
  CHECK(slice.semaphore(1, 2) == 1);
  CHECK(slice.fault(0) == 0);
  // 2 GB/s and 1 GHz: half a cycle a byte on the wire, a hop of 1000 cycles; fill and read take about 2 cycles a beat
  const uint64_t wire = ici::Network::wire_bytes(kBytes) / 2 + 1000;
  const uint64_t took = slice.csr(1, WEFT_CSR_LAST_RETIRE_CYCLE) - sent;
  CHECK(took > wire);
  CHECK(took < wire + wire / 50 + 1024 + 500);
}

namespace {

/// Cycle in which chip `to` of nano-2x2 has a post with 4096 bytes from chip 0, which sets out about cycle 1600.
uint64_t arrival_at(uint16_t to) {
  std::vector<Script> scripts(4);
  scripts[0] = [to] {
    hal::wait_for_event(1000);
    push(WEFT_QUEUE_DMA_IN, fill(1, 0, 4096, 1));
    push(WEFT_QUEUE_DMA_OUT, remote(to, 0, 0, 0, 4096, 1, 48));
  };
  scripts[to] = [] { push(WEFT_QUEUE_SYNC, take(48, 1, 2)); };
  Slice slice(scripts);
  return slice.csr(to, WEFT_CSR_LAST_RETIRE_CYCLE);
}

constexpr uint64_t kOnTheLink = 4096 / 2 * 105 / 100, kHop = 1000;  // cycles

}  // namespace

TEST_CASE("What is on its way to a chip is known a hop's time ahead, and holds up no other chip") {
  const auto slice = std::get<ici::Slice>(ici::parse_slice("nano-2x2"));
  const uint64_t rate = slice.generation->link_bytes_per_second;
  chip::SliceNetwork network(slice, *spec::find_chip("nano"), {.link_bytes_per_second = rate});
  const chip::TimeBase time(spec::find_chip("nano")->clock_hz);
  const auto command = remote(1, 0, 0, 0, 4096, WEFT_NO_SEMAPHORE, 48);
  core::RemotePiece piece{
      .number = network.port(0).begin(command), .command = command, .runs = {{0, 4096}}, .bytes = 4096};
  piece.data.resize(4096);
  piece.last = true;
  network.port(0).send(piece, 100);
  CHECK(network.next_arrival_fs(1, 0) == UINT64_MAX);  // it has not set out
  const uint64_t now = time.edge_fs(101);
  network.run(now);
  const uint64_t wire = ici::Network::wire_bytes(4096) * ici::kNanosecond * 1'000'000'000 / rate;
  CHECK(network.next_arrival_fs(1, now) == now + network.lookahead_fs() + wire);
  CHECK(network.next_event_fs() < now + network.lookahead_fs() + wire);
  for (const uint32_t other : {0u, 2u, 3u}) CHECK(network.next_arrival_fs(other, now) == UINT64_MAX);
}

TEST_CASE("A neighbour is a hop away") {
  const uint64_t arrival = arrival_at(1);
  CHECK(arrival > 1000 + kHop + 4096 / 2);
  CHECK(arrival < 1600 + kHop + kOnTheLink);
}

TEST_CASE("The chip across the corner is two hops away, and its way is as fast") {
  const uint64_t arrival = arrival_at(3);
  CHECK(arrival > 1000 + 2 * kHop + 4096 / 2);
  CHECK(arrival < 1600 + 2 * kHop + kOnTheLink);
}

TEST_CASE("Remote commands of one core post at one receiver in the order in which they were taken") {
  Slice slice({[] {
                 hal::wait_for_event(1000);
                 push(WEFT_QUEUE_DMA_IN, fill(7, 0, 65536, 1));
                 push(WEFT_QUEUE_DMA_OUT, remote(1, 0, 0, 0, 65536, 1, 48));                   // long
                 push(WEFT_QUEUE_DMA_OUT, remote(1, 0, 0, 65536, 16, WEFT_NO_SEMAPHORE, 49));  // short, behind it
               },
               [] {
                 push(WEFT_QUEUE_SYNC, take(49, 1, 2));
                 push(WEFT_QUEUE_DMA_IN, [] {
                   auto c = fill(0, 1 << 17, 16, 4);
                   c.header.wait_sem0 = 48;
                   c.header.wait_count0 = 1;
                   return c;
                 }());
               }});
  // The short command's post came when the long one's data, 32 us of them, were there.
  CHECK(slice.csr(1, WEFT_CSR_LAST_RETIRE_CYCLE) > 1000 + 32768);
  CHECK(slice.semaphore(1, 2) == 1);
  CHECK(slice.semaphore(1, 4) == 1);
}

TEST_CASE("A segment that the receiver does not have is the sender's fault ICI, and the receiver goes on") {
  Slice slice({[] {
                 hal::wait_for_event(1000);
                 push(WEFT_QUEUE_DMA_OUT, remote(1, 0, 9, 0, 4096, WEFT_NO_SEMAPHORE, 48));
               },
               [] { push(WEFT_QUEUE_SYNC, barrier(1, 1, 2)); }});
  CHECK(slice.fault(0) == WEFT_FAULT_ICI);
  CHECK(slice.csr(0, WEFT_CSR_FAULT_ADDRESS) == golden::ici_fault(WEFT_ICI_CAUSE_SEGMENT, 1, 9).address);
  CHECK(slice.fault(1) == 0);
  CHECK(slice.semaphore(1, 48) == 0);
}

TEST_CASE("Data for a core that was reset meanwhile change nothing there and fail their sender") {
  Slice slice({[] {
                 hal::wait_for_event(1000);
                 push(WEFT_QUEUE_DMA_IN, fill(7, 0, 4096, 1));
                 push(WEFT_QUEUE_DMA_OUT, remote(1, 0, 0, 0, 4096, 1, 48));
               },
               [] {
                 hal::wait_for_event(2000);
                 hal::csr_write(WEFT_CSR_CONTROL, 1);
               }});
  CHECK(slice.fault(0) == WEFT_FAULT_ICI);
  CHECK(slice.csr(0, WEFT_CSR_FAULT_ADDRESS) == golden::ici_fault(WEFT_ICI_CAUSE_RECEIVER_RESET, 1, 0).address);
  std::byte first{1};
  REQUIRE(slice.simulation->chip(1).core().core().peek_vmem(0, {&first, 1}));
  CHECK(first == std::byte{0});
  CHECK(slice.semaphore(1, 48) == 0);
}

TEST_CASE("A sender that is reset forgets what it had on its way, and works again") {
  Slice slice({[] {
                 push(WEFT_QUEUE_DMA_OUT, remote(1, 0, 9, 0, 65536, WEFT_NO_SEMAPHORE, 48));
                 hal::wait_for_event(hal::now() + 300);
                 hal::csr_write(WEFT_CSR_CONTROL, 1);
                 hal::wait_for_event(hal::now() + 100);
                 push(WEFT_QUEUE_DMA_OUT, remote(1, 0, 0, 0, 64, WEFT_NO_SEMAPHORE, 49));
               },
               [] { push(WEFT_QUEUE_SYNC, take(49, 1, 2)); }});
  CHECK(slice.fault(0) == 0);
  CHECK(slice.semaphore(1, 2) == 1);
  CHECK(slice.semaphore(1, 48) == 0);
}

namespace {

/// Of a command that chip 0 sends so many cycles after chip 1's core was reset.
uint64_t fault_after_reset(uint64_t cycles) {
  Slice slice({[cycles] {
                 hal::wait_for_event(5000 + cycles);
                 push(WEFT_QUEUE_DMA_OUT, remote(1, 0, 0, 0, 64, WEFT_NO_SEMAPHORE, 48));
               },
               [] {
                 hal::wait_for_event(5000);
                 hal::csr_write(WEFT_CSR_CONTROL, 1);
               }});
  return slice.fault(0);
}

}  // namespace

TEST_CASE("A sender does not know of a reset within a hop's time") { CHECK(fault_after_reset(800) == WEFT_FAULT_ICI); }

TEST_CASE("A sender knows of a reset after a hop's time") { CHECK(fault_after_reset(1300) == 0); }

TEST_CASE("A barrier holds the early chips until the last one is there, within two hops") {
  std::vector<Script> scripts;
  for (uint64_t chip = 0; chip < 4; chip++)
    scripts.push_back([chip] {
      hal::wait_for_event(1000 * (chip + 1));
      push(WEFT_QUEUE_SYNC, barrier(0, 4, 1));
    });
  Slice slice(scripts);
  for (uint32_t chip = 0; chip < 4; chip++) {
    CHECK(slice.semaphore(chip, 1) == 1);
    CHECK(slice.csr(chip, WEFT_CSR_LAST_RETIRE_CYCLE) > 4000 + 2000 + (chip == 3 ? 2000 : 500));
    CHECK(slice.csr(chip, WEFT_CSR_LAST_RETIRE_CYCLE) < 4000 + 2000 + 2000 + 400);
  }
}

TEST_CASE("Chips that begin different things at a barrier are told, each by a fault") {
  std::vector<Script> scripts;
  for (uint32_t chip = 0; chip < 4; chip++)
    scripts.push_back([chip] { push(WEFT_QUEUE_SYNC, barrier(0, 4, 1, chip == 2 ? 77 : 1)); });
  Slice slice(scripts);
  for (uint32_t chip = 0; chip < 4; chip++) CHECK(slice.fault(chip) == WEFT_FAULT_ICI);
}

TEST_CASE("What the registers tell of the slice") {
  Slice slice({});
  for (uint32_t chip = 0; chip < 4; chip++) {
    auto& function = slice.simulation->function(chip);
    CHECK(test::read_register(function, WEFT_REG_ICI_CHIP) == (chip | 4u << 16));
    CHECK(test::read_register(function, WEFT_REG_ICI_SHAPE, 8) == (1ull << 32 | 2ull << 16 | 2));
    CHECK(test::read_register(function, WEFT_REG_ICI_LINK_BYTES_PER_SECOND, 8) == 2'000'000'000);
    CHECK(test::read_register(function, WEFT_REG_ICI_NEIGHBORS_Z) == 0xffffffff);
  }
  CHECK(test::read_register(slice.simulation->function(0), WEFT_REG_ICI_NEIGHBORS, 8) == 0xffff'0002'ffff'0001);
  CHECK(test::read_register(slice.simulation->function(3), WEFT_REG_ICI_NEIGHBORS, 8) == 0x0001'ffff'0002'ffff);
}
