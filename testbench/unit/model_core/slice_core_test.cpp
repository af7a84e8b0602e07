// A core of any kind in a slice: what it sends, what it lets in, when it posts and faults.
#include <algorithm>
#include <random>

#include "testbench/unit/model_core/slice_core_bench.hpp"

using namespace weft;
using namespace weft::test;

TEST_CASE("A remote copy posts here when its source is read, and the core works until it is acknowledged") {
  SliceBench bench;
  auto command = posting(tagged(remote(2, 0, 9, 0x40, 10'000 / 16 * 16), 5), 1);
  command.header.post_sem1 = 48;
  command.header.post_count1 = 3;
  for (size_t i = 0; i < 64; i++) bench.bus.bytes[i] = static_cast<std::byte>(i);
  bench.push(WEFT_QUEUE_DMA_IN, posting(copy_in(3, 0, 0, 64), 2));
  bench.push(WEFT_QUEUE_DMA_OUT, waiting(command, 2));
  bench.run(5000);
  CHECK(bench.semaphore(1) == 1);
  CHECK(bench.semaphore(48) == 0);  // the receiver's
  REQUIRE(bench.port.begun.size() == 1);
  REQUIRE(bench.port.sent.size() == 3);
  CHECK(bench.port.sent[0].data.size() == 4096);
  CHECK(bench.port.sent[0].data[63] == std::byte{63});
  REQUIRE(bench.port.sent[0].runs.series().size() == 1);
  CHECK(*bench.port.sent[0].runs.begin() == core::RemoteRuns::Run{0x40, 4096});
  CHECK(*bench.port.sent[1].runs.begin() == core::RemoteRuns::Run{0x40 + 4096, 4096});
  CHECK_FALSE(bench.port.sent[1].last);
  CHECK(bench.port.sent[2].last);
  CHECK(bench.port.sent[2].data.size() == 10'000 - 2 * 4096);
  CHECK(bench.working());
  bench.port.behind->acknowledge(1, std::nullopt);
  bench.run(10);
  CHECK_FALSE(bench.working());
  CHECK(bench.fault_code() == WEFT_FAULT_NONE);
}

TEST_CASE("A failure at the receiver is fault ICI of the sender, with the command's tag and unit") {
  SliceBench bench;
  bench.push(WEFT_QUEUE_DMA_OUT, tagged(remote(2, 0, 9, 0, 64), 0x77));
  bench.run(200);
  const auto fault = golden::ici_fault(WEFT_ICI_CAUSE_SEGMENT, 2, 9);
  bench.port.behind->acknowledge(1, fault);
  bench.run(10);
  const uint64_t code = bench.core.read_csr(WEFT_CSR_FAULT_CODE);
  CHECK((code & 0xff) == WEFT_FAULT_ICI);
  CHECK((code >> 8 & 0xff) == WEFT_UNIT_DMA2);
  CHECK((code >> 32 & 0xffff) == 0x77);
  CHECK(bench.core.read_csr(WEFT_CSR_FAULT_ADDRESS) == fault.address);
  CHECK(bench.core.interrupt());
}

TEST_CASE("A core reset forgets remote copies that were not acknowledged, and the core is idle and works again") {
  SliceBench bench;
  for (uint16_t i = 0; i < 3; i++) bench.push(WEFT_QUEUE_DMA_OUT, tagged(remote(2, 0, 9, 0x1000u * i, 64), i));
  bench.run(300);
  REQUIRE(bench.port.sent.size() == 3);
  CHECK(bench.working());
  bench.core.write_csr(WEFT_CSR_CONTROL, 1);
  bench.run(100);
  CHECK(bench.port.resets == 1);
  CHECK_FALSE(bench.working());
  CHECK_FALSE(bench.core.busy());
  bench.port.behind->acknowledge(2, golden::ici_fault(WEFT_ICI_CAUSE_RANGE, 2, 9));  // of before the reset
  bench.run(20);
  CHECK(bench.fault_code() == WEFT_FAULT_NONE);
  CHECK_FALSE(bench.working());
  bench.push(WEFT_QUEUE_DMA_OUT, tagged(remote(2, 0, 9, 0, 64), 7));
  bench.run(300);
  CHECK(bench.working());
  bench.port.behind->acknowledge(bench.port.begun.size(), std::nullopt);
  bench.run(20);
  CHECK_FALSE(bench.working());
}

TEST_CASE("A wrong chip is refused before anything is sent") {
  const auto kind = GENERATE(core::CoreKind::kFast, core::CoreKind::kRtl, core::CoreKind::kLockstep);
  for (const uint16_t chip : {uint16_t{1}, uint16_t{4}, uint16_t{0xffff}}) {
    SliceBench bench(kind);
    bench.push(WEFT_QUEUE_DMA_OUT, remote(chip, 0, 9, 0, 64));
    bench.run(200);
    CHECK(bench.fault_code() == WEFT_FAULT_ICI);
    CHECK(bench.core.read_csr(WEFT_CSR_FAULT_ADDRESS) ==
          golden::ici_fault(WEFT_ICI_CAUSE_NO_SUCH_CHIP, chip, 0).address);
    CHECK(bench.port.begun.empty());
    CHECK(bench.port.sent.empty());
  }
}

TEST_CASE("Without room in the interconnect nothing is read on, and the stall is counted") {
  SliceBench bench;
  bench.port.full = true;
  bench.push(WEFT_QUEUE_DMA_OUT, posting(remote(2, 0, 9, 0, 4096), 1));
  bench.run(500);
  CHECK(bench.port.sent.empty());
  CHECK(bench.semaphore(1) == 0);
  bench.port.full = false;
  bench.run(500);
  CHECK(bench.port.sent.size() == 1);
  CHECK(bench.semaphore(1) == 1);
}

TEST_CASE("What arrives is checked against the receiver's segments, written, added, and posted in its cycle") {
  SliceBench bench;
  core::RemotePiece piece;
  piece.command = remote(1, 0, 3, 0x100, 32);
  piece.runs = {{0x100, 16}, {0x200, 16}};
  piece.data.assign(32, std::byte{0x3f});
  uint64_t visible = 0;
  REQUIRE(bench.port.behind->receive(piece, visible) == std::nullopt);
  CHECK(visible >= bench.core.cycle() + bench.chip.hbm_write_latency_cycles);
  CHECK(bench.bus.bytes[0x10f] == std::byte{0x3f});
  CHECK(bench.bus.bytes[0x110] == std::byte{0});
  CHECK(bench.bus.bytes[0x200] == std::byte{0x3f});
  piece.command.header.flags |= WEFT_COMMAND_FLAG_REDUCE_BF16;
  REQUIRE(bench.port.behind->receive(piece, visible) == std::nullopt);
  CHECK(bench.bus.bytes[0x101] == std::byte{0x3f});
  CHECK(bench.bus.bytes[0x100] == std::byte{0xbf});  // 0x3f3f doubled is 0x3fbf

  piece.command = remote(1, 0, 0, 0x40, 32);
  piece.runs = {{0x40, 32}};
  REQUIRE(bench.port.behind->receive(piece, visible) == std::nullopt);
  std::byte in_vmem{};
  REQUIRE(bench.core.peek_vmem(0x5f, {&in_vmem, 1}));
  CHECK(in_vmem == std::byte{0x3f});

  bench.port.behind->receive_post(48, 2, visible + 100);
  bench.run(visible + 99 - bench.core.cycle());
  CHECK(bench.semaphore(48) == 0);
  bench.run(2);
  CHECK(bench.semaphore(48) == 2);
}

TEST_CASE("A core that takes the time alone sends, receives and posts in the same cycles, and no byte moves") {
  std::vector<uint64_t> cycles[2];
  for (const bool timing_only : {false, true}) {
    CAPTURE(timing_only);
    SliceBench bench(core::CoreKind::kFast, timing_only);
    for (size_t i = 0; i < 4096; i++) bench.bus.bytes[i] = std::byte{0x3f};
    bench.push(WEFT_QUEUE_DMA_IN, posting(copy_in(3, 0, 0, 4096), 2));
    auto command = waiting(posting(remote(2, 0, 9, 0x40, 4096), 1), 2);
    bench.push(WEFT_QUEUE_DMA_OUT, command);
    bench.push(WEFT_QUEUE_DMA_OUT, copy_out(0, 3, 0x8000, 4096));
    bench.run(5000);
    REQUIRE(bench.port.sent.size() == 1);
    const core::RemotePiece& sent = bench.port.sent.front();
    CHECK(sent.bytes == 4096);
    CHECK(sent.data.size() == (timing_only ? 0 : 4096));
    std::byte in_vmem{};
    REQUIRE(bench.core.peek_vmem(100, {&in_vmem, 1}));
    CHECK(in_vmem == std::byte(timing_only ? 0 : 0x3f));
    CHECK(bench.bus.bytes[0x8064] == std::byte(timing_only ? 0 : 0x3f));
    uint64_t in_hbm = 0, added = 0;
    core::RemotePiece piece = sent;
    piece.command = remote(1, 0, 3, 0x4000, 4096);
    piece.runs = {{0x4000, 4096}};
    REQUIRE(bench.port.behind->receive(piece, in_hbm) == std::nullopt);
    CHECK(bench.bus.bytes[0x4064] == std::byte(timing_only ? 0 : 0x3f));
    piece.command.header.flags |= WEFT_COMMAND_FLAG_REDUCE_F32;
    REQUIRE(bench.port.behind->receive(piece, added) == std::nullopt);
    cycles[timing_only] = {bench.port.sent_at.front(), bench.core.read_csr(WEFT_CSR_LAST_RETIRE_CYCLE), in_hbm, added};
  }
  CHECK(cycles[0] == cycles[1]);
}

TEST_CASE("RTL does not take the time alone") {
  const spec::Chip& chip = *spec::find_chip("nano");
  Bus bus{chip};
  std::string error;
  CHECK(core::make_core(core::CoreKind::kRtl, chip, bus, {.timing_only = true}, error) == nullptr);
  CHECK(error == "timing only is of the fast core: RTL computes what it carries");
}

TEST_CASE("A receiver refuses a segment that is not there, a range outside, memory that fails, and while in reset") {
  SliceBench bench;
  const auto receive = [&](uint8_t segment, uint64_t offset) {
    core::RemotePiece piece;
    piece.command = remote(1, 0, segment, offset, 32);
    piece.runs = {{offset, 32}};
    piece.data.assign(32, std::byte{0x11});
    uint64_t visible = 0;
    return bench.port.behind->receive(piece, visible);
  };
  const auto before = bench.bus.bytes;
  CHECK(receive(9, 0) == golden::ici_fault(WEFT_ICI_CAUSE_SEGMENT, 1, 9));
  CHECK(receive(3, (1 << 20) - 16) == golden::ici_fault(WEFT_ICI_CAUSE_RANGE, 1, 3));
  CHECK(receive(0, bench.chip.vmem_bytes - 16) == golden::ici_fault(WEFT_ICI_CAUSE_RANGE, 1, 0));
  bench.bus.hole_first = 0x1000;
  bench.bus.hole_end = 0x1010;
  CHECK(receive(3, 0x1000) == golden::ici_fault(WEFT_ICI_CAUSE_BUS, 1, 3));
  bench.core.write_csr(WEFT_CSR_CONTROL, 1);
  CHECK(receive(3, 0) == golden::ici_fault(WEFT_ICI_CAUSE_RECEIVER_RESET, 1, 0));
  bench.run(4);
  CHECK(receive(3, 0) == golden::ici_fault(WEFT_ICI_CAUSE_RECEIVER_RESET, 1, 0));
  CHECK(bench.bus.bytes == before);
  CHECK(bench.port.resets == 1);
  CHECK(bench.fault_code() == WEFT_FAULT_NONE);
}

TEST_CASE("A remote post that overflows is the receiver's fault SEMAPHORE_OVERFLOW") {
  SliceBench bench;
  bench.core.write_csr(WEFT_CSR_SEMAPHORE + 8 * 48, 0xffff);
  bench.run(2);
  bench.port.behind->receive_post(48, 1, bench.core.cycle() + 5);
  bench.run(20);
  CHECK(bench.fault_code() == WEFT_FAULT_SEMAPHORE_OVERFLOW);
  CHECK(bench.core.read_csr(WEFT_CSR_FAULT_ADDRESS) == 48);
}

TEST_CASE("A barrier holds the sync queue until it ends, and a mismatch is fault ICI, and a core reset forgets it") {
  SliceBench bench;
  bench.push(WEFT_QUEUE_SYNC, posting(tagged(barrier(), 9), 1));
  bench.push(WEFT_QUEUE_SYNC, posting(sync(WEFT_OPCODE_SIGNAL), 2));
  bench.run(500);
  REQUIRE(bench.port.barriers.size() == 1);
  CHECK(bench.port.barriers[0].signature == 7);
  CHECK(bench.semaphore(1) == 0);
  CHECK(bench.semaphore(2) == 0);
  bench.port.behind->end_barrier(std::nullopt);
  bench.run(20);
  CHECK(bench.semaphore(1) == 1);
  CHECK(bench.semaphore(2) == 1);

  bench.push(WEFT_QUEUE_SYNC, posting(tagged(barrier(), 10), 1));
  bench.run(100);
  bench.port.behind->end_barrier(golden::ici_fault(WEFT_ICI_CAUSE_BARRIER_MISMATCH, 3, 8));
  bench.run(20);
  CHECK(bench.fault_code() == WEFT_FAULT_ICI);
  CHECK((bench.core.read_csr(WEFT_CSR_FAULT_CODE) >> 32 & 0xffff) == 10);
  CHECK(bench.semaphore(1) == 1);
  bench.core.write_csr(WEFT_CSR_CONTROL, 1);
  bench.run(100);
  CHECK(bench.port.resets == 1);
  bench.port.behind->end_barrier(std::nullopt);  // too late: nobody waits
  bench.run(20);
  CHECK(bench.semaphore(1) == 0);
  CHECK_FALSE(bench.working());
}

TEST_CASE("A barrier that nobody else comes to ends in WATCHDOG") {
  SliceBench bench;
  bench.core.write_csr(WEFT_CSR_WATCHDOG_LIMIT, 2000);
  bench.push(WEFT_QUEUE_SYNC, tagged(barrier(), 9));
  bench.run(5000);
  CHECK(bench.fault_code() == WEFT_FAULT_WATCHDOG);
}

TEST_CASE("A barrier whose group cannot be, or with a wrong field, is refused before anybody hears of it") {
  const auto refuse = [](auto change, const golden::Fault& fault) {
    for (const auto kind : {core::CoreKind::kFast, core::CoreKind::kRtl, core::CoreKind::kLockstep}) {
      SliceBench bench(kind);
      auto c = tagged(barrier(), 0x4321);
      change(c);
      bench.push(WEFT_QUEUE_SYNC, c);
      bench.run(50);
      CHECK(bench.fault_code() == fault.code);
      CHECK(bench.core.read_csr(WEFT_CSR_FAULT_ADDRESS) == fault.address);
      CHECK((bench.core.read_csr(WEFT_CSR_FAULT_CODE) >> 32 & 0xffff) == 0x4321);
      CHECK(bench.port.barriers.empty());
      CHECK_FALSE(bench.working());
    }
  };
  const auto group = [](uint16_t base) { return golden::ici_fault(WEFT_ICI_CAUSE_BARRIER_GROUP, base, 0); };
  refuse([](auto& c) { c.count0 = 5; }, group(0));                 // a chip that does not exist
  refuse([](auto& c) { c.base = 2, c.count0 = 2; }, group(2));     // not this one
  refuse([](auto& c) { c.count1 = 2, c.stride1 = 1; }, group(0));  // some twice
  refuse([](auto& c) { c.count2 = 0; }, {WEFT_FAULT_ILLEGAL_FIELD, 22});
  refuse([](auto& c) { c.stride1 = 1; }, {WEFT_FAULT_ILLEGAL_FIELD, 26});
}

TEST_CASE("The same commands, congestion and answers take the same cycles on every kind of core") {
  const auto run = [](core::CoreKind kind) {
    SliceBench bench(kind);
    std::vector<uint64_t> seen;
    const auto look = [&] {
      seen.push_back(bench.core.read_csr(WEFT_CSR_LAST_RETIRE_CYCLE));
      seen.push_back(bench.fault_code() == WEFT_FAULT_NONE ? 0 : bench.core.read_csr(WEFT_CSR_FAULT_CYCLE));
    };
    bench.push(WEFT_QUEUE_SYNC, posting(barrier(), 1));
    for (unsigned i = 0; i < 6; i++) {
      auto command = remote(i % 2 == 0 ? 2 : 3, 4096 * i, i % 3 == 0 ? 0 : 9, 0x10000 + 0x1000 * i, 3000 + 16 * i);
      command.size0 = command.size0 / 16 * 16;
      command.size1 = 2, command.src_stride1 = 8192, command.dst_stride1 = -4096;
      bench.push(WEFT_QUEUE_DMA_OUT, i % 2 == 0 ? posting(command, 2) : waiting(command, 2));
      bench.push(WEFT_QUEUE_DMA_OUT, copy_out(512 * i, 3, 0x8000 + 512 * i, 512));
    }
    for (unsigned step = 0; step < 40; step++) {
      bench.port.full = step % 3 == 1;
      bench.run(37);
      look();
    }
    bench.port.full = false;
    bench.port.behind->end_barrier(std::nullopt);
    bench.run(2000);
    look();
    seen.push_back(bench.port.sent.size());
    for (const uint64_t at : bench.port.sent_at) seen.push_back(at);
    for (uint64_t i = 1; i <= bench.port.begun.size(); i++) bench.port.behind->acknowledge(i, std::nullopt);
    bench.run(20);
    CHECK_FALSE(bench.working());
    bench.push(WEFT_QUEUE_SYNC, waiting(sync(WEFT_OPCODE_SIGNAL), 50));
    bench.run(30);
    bench.port.behind->receive_post(50, 1, bench.core.cycle() + 17);
    bench.run(40);
    look();
    bench.push(WEFT_QUEUE_DMA_OUT, tagged(remote(2, 0, 9, 0, 64), 3));
    bench.run(60);
    bench.port.behind->acknowledge(bench.port.begun.size(), golden::ici_fault(WEFT_ICI_CAUSE_RANGE, 2, 9));
    bench.run(5);
    look();
    CHECK(bench.fault_code() == WEFT_FAULT_ICI);
    return seen;
  };
  const auto fast = run(core::CoreKind::kFast);
  CHECK(run(core::CoreKind::kRtl) == fast);
  CHECK(run(core::CoreKind::kLockstep) == fast);
}

TEST_CASE("Posts and acknowledgements of others beside retirements take the same cycles on the RTL and the fast core") {
  // Another chip's post goes to the semaphores in a cycle in which nothing retires, one a cycle, whichever core it is.
  const auto run = [](core::CoreKind kind, uint64_t seed) {
    std::mt19937_64 random(seed);
    SliceBench bench(kind);
    Log log;
    bench.core.set_observer(&log);
    std::vector<uint64_t> idle;
    unsigned copies = 0;
    uint64_t acknowledged = 0;
    uint16_t tag = 0;
    for (unsigned step = 0; step < 400; step++) {
      const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
      if (chance(60)) {
        auto signal = tagged(sync(WEFT_OPCODE_SIGNAL), ++tag);
        if (chance(50)) signal = waiting(signal, static_cast<uint8_t>(48 + random() % 3));
        (void)bench.core.push(WEFT_QUEUE_SYNC, spec::encode(signal));
      }
      if (chance(40)) {
        auto rows = tagged(epilogue(0, static_cast<uint16_t>(1 + random() % 3), 8, 16), ++tag);
        if (chance(30)) rows = waiting(rows, static_cast<uint8_t>(48 + random() % 3));
        (void)bench.core.push(WEFT_QUEUE_VPU, spec::encode(rows));
      }
      if (chance(20) && bench.core.push(WEFT_QUEUE_DMA_OUT, spec::encode(tagged(remote(2, 0, 9, 0, 64), ++tag))))
        copies++;
      const uint64_t posts = chance(40) ? random() % 4 : 0;
      const uint64_t delay = random() % 6;
      for (uint64_t i = 0; i < posts; i++)
        bench.port.behind->receive_post(static_cast<uint8_t>(48 + random() % 3), 1, bench.core.cycle() + delay);
      for (uint64_t acks = random() % 3; acks != 0 && acknowledged < bench.port.sent.size(); acks--)
        bench.port.behind->acknowledge(++acknowledged, std::nullopt);
      bench.run(1 + random() % 5);
      idle.push_back(bench.working());
    }
    for (unsigned s = 48; s < 51; s++) idle.push_back(bench.semaphore(s));
    CHECK(copies > 20);
    CHECK(log.lines.size() > 300);
    std::ranges::sort(log.lines, {}, [](const auto& line) { return std::tuple(std::get<3>(line), line); });
    return std::pair(log.lines, idle);
  };
  for (uint64_t seed = 1; seed <= 20; seed++) {
    INFO("seed " << seed);
    const auto rtl = run(core::CoreKind::kRtl, seed), fast = run(core::CoreKind::kFast, seed);
    CHECK((rtl.first == fast.first));
    CHECK((rtl.second == fast.second));
  }
}
