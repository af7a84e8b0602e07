// Streaming: every command exactly once, in order, in time.
#include "firmware/core/streaming.hpp"

#include <array>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <random>

#include "check.hpp"
#include "firmware/core/core.hpp"
#include "host_side.hpp"

using namespace weft::fw;
using Counts = std::array<uint32_t, WEFT_CORE_QUEUES>;

namespace {

struct Run {
  std::unique_ptr<Stream> stream = std::make_unique<Stream>();
  weft_program_kernel kernel{};
  uint64_t commands = 0;
  uint64_t passes = 0;

  void prepare(const Counts& counts) {
    const auto image = mock::make_image(counts);
    mock::place_image(image);
    std::memcpy(&kernel, image.data() + sizeof(weft_program_header), sizeof kernel);
    commands = mock::kImage + sizeof(weft_program_header) + sizeof kernel;
    hal::csr_write(WEFT_CSR_QUEUE_LOW, kQueueLow);
  }
  /// Streams all commands as the main loop would, with its cost a pass.
  void go() {
    assert_true(stream_begin(*stream, kernel, commands));
    for (; !stream_exhausted(*stream); passes++) {
      assert_true(passes < 1'000'000);
      hal::charge(WEFT_MANAGER_MAIN_LOOP + WEFT_MANAGER_MMIO_WRITE + WEFT_MANAGER_MMIO_READ);
      core::take_interrupts();
      const Refill refill = stream_refill(*stream);
      assert_true(refill != Refill::kBusError);
      if (refill == Refill::kFull && !stream_exhausted(*stream)) hal::wait_for_event(UINT64_MAX);
    }
  }
  void check(const Counts& counts) const {
    const auto& core = mock::machine().core;
    for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
      assert_int_equal(core.accepted[q].size(), counts[q]);
      for (uint32_t i = 0; i < counts[q]; i++) {
        assert_int_equal(core.accepted[q][i][2] | core.accepted[q][i][3] << 8, i & 0xffff);
        assert_int_equal(core.accepted[q][i][20], q);
      }
    }
  }
};

}  // namespace

static void commands_of_queues_of_different_lengths_arrive_once_and_in_order(void**) {
  const Counts cases[] = {{0, 0, 0, 0, 1},      {1, 2, 3, 4, 5},     {64, 0, 0, 0, 0},
                          {65, 0, 0, 0, 0},     {16, 16, 16, 16, 1}, {128, 1, 0, 129, 2},
                          {700, 63, 64, 65, 1}, {13, 14, 15, 16, 7}, {2000, 2000, 10, 300, 0}};
  for (const Counts& counts : cases) {
    mock::reset();
    Run run;
    run.prepare(counts);
    run.go();
    run.check(counts);
    assert_int_equal(mock::machine().core.level_reads, 0);
  }
}

static void random_lengths_and_speeds_arrive_once_and_in_order(void**) {
  constexpr unsigned kSeed = 20260101;
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  for (int n = 0; n < 60; n++) {
    mock::reset();
    Counts counts{};
    for (uint32_t& c : counts) c = random() % 3 == 0 ? 0 : random() % 400;
    for (uint64_t& s : mock::machine().core.service_cycles) s = 1 + random() % 400;
    Run run;
    run.prepare(counts);
    run.go();
    run.check(counts);
  }
}

static void all_first_batches_are_in_sram_before_the_first_push(void**) {
  mock::reset();
  Run run;
  run.prepare({300, 300, 300, 300, 300});
  assert_true(stream_begin(*run.stream, run.kernel, run.commands));
  assert_int_equal(mock::machine().dma_reads, 5);
  for (const auto& q : mock::machine().core.accepted) assert_int_equal(q.size(), 0);
}

static void a_small_kernel_takes_one_read(void**) {
  mock::reset();
  Run run;
  run.prepare({20, 20, 10, 10, 4});
  run.go();
  run.check({20, 20, 10, 10, 4});
  assert_int_equal(mock::machine().dma_reads, 1);
}

static void a_queue_that_is_full_for_ever_does_not_hold_the_others(void**) {
  mock::reset();
  mock::machine().core.hang_queue = WEFT_QUEUE_VPU;
  Run run;
  run.prepare({500, 500, 100, 500, 0});
  assert_true(stream_begin(*run.stream, run.kernel, run.commands));
  for (int i = 0; i < 2000; i++) {
    core::take_interrupts();
    assert_true(stream_refill(*run.stream) != Refill::kBusError);
    hal::charge(100);
  }
  assert_int_equal(mock::machine().core.accepted[WEFT_QUEUE_DMA_IN].size(), 500);
  assert_int_equal(mock::machine().core.accepted[WEFT_QUEUE_MXU].size(), 500);
  assert_int_equal(mock::machine().core.accepted[WEFT_QUEUE_DMA_OUT].size(), 500);
  assert_int_equal(mock::machine().core.accepted[WEFT_QUEUE_VPU].size(), 17);
}

static void the_mxu_does_not_starve_at_one_command_every_60_to_130_cycles(void**) {
  for (uint64_t cycles : {60u, 70u, 80u, 100u, 130u}) {
    mock::reset();
    mock::machine().core.service_cycles = {cycles, cycles, 20 * cycles, 20 * cycles, 1};
    Run run;
    run.prepare({3000, 3000, 150, 150, 0});
    run.go();
    const auto& core = mock::machine().core;
    const double rate = static_cast<double>(core.accepted_cycle[1].back() - core.accepted_cycle[1][16]) / (3000 - 17);
    std::printf(
        "  %3llu cycles a command: dma_in starved %llu, mxu starved %llu of %llu cycles; %.1f cycles a pair; %llu "
        "passes\n",
        static_cast<unsigned long long>(cycles), static_cast<unsigned long long>(core.starved_cycles[0]),
        static_cast<unsigned long long>(core.starved_cycles[1]), static_cast<unsigned long long>(3000 * cycles), rate,
        static_cast<unsigned long long>(run.passes));
    // The first 64 commands, which a first block of K = 8192 has, never starve; nor does anything at 80 and more.
    if (cycles >= 80) assert_int_equal(core.starved_cycles[0] + core.starved_cycles[1], 0);
  }
}

static void a_first_block_of_64_pairs_at_60_cycles_never_starves(void**) {
  mock::reset();
  mock::machine().core.service_cycles = {60, 60, 1000, 1000, 1};
  Run run;
  run.prepare({64, 64, 8, 8, 0});
  run.go();
  assert_int_equal(mock::machine().core.starved_cycles[0] + mock::machine().core.starved_cycles[1], 0);
}

static void a_refill_of_eight_pairs_stays_within_its_cost(void**) {
  mock::reset();
  auto& m = mock::machine();
  Run run;
  run.prepare({2000, 2000, 100, 100, 0});
  m.core.service_cycles = {1000, 1000, 1'000'000'000, 1'000'000'000, 1};
  assert_true(stream_begin(*run.stream, run.kernel, run.commands));
  while (stream_refill(*run.stream) != Refill::kFull) {
  }
  m.spend(8000);  // eight commands of dma_in and of mxu are taken
  m.core.service_cycles = {1'000'000'000, 1'000'000'000, 1'000'000'000, 1'000'000'000, 1};
  const uint64_t reads = m.csr_reads, begin = m.now;
  assert_int_equal(core::take_interrupts() & core::kInterruptLow, core::kInterruptLow);
  assert_true(stream_refill(*run.stream) == Refill::kFull);
  const uint64_t cycles = m.now - begin;
  std::printf("  a refill of 8 + 8 commands: %llu core cycles, of which 48 for the interrupt register\n",
              static_cast<unsigned long long>(cycles));
  assert_int_equal(m.csr_reads - reads, 1);
  assert_true(cycles <= 48 + 16 * 18 + 10 * 16);
}

static void posted_semaphores_are_collected_for_the_leak_check(void**) {
  mock::reset();
  Run run;
  run.prepare({1, 1, 1, 1, 1});
  run.go();
  assert_int_equal(run.stream->posted, 0x1f);
}

static void a_bus_error_names_its_address(void**) {
  mock::reset();
  Run run;
  run.prepare({200, 200, 0, 0, 0});
  mock::machine().fail_dma_after = 1;
  assert_false(stream_begin(*run.stream, run.kernel, run.commands));
  assert_int_equal(run.stream->fault_address, run.commands + 200 * WEFT_COMMAND_BYTES);
  mock::machine().fail_dma_after = 2;
  assert_true(stream_begin(*run.stream, run.kernel, run.commands));
  assert_true(stream_refill(*run.stream) == Refill::kBusError);
  assert_int_equal(run.stream->fault_address, run.commands + 64 * WEFT_COMMAND_BYTES);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(commands_of_queues_of_different_lengths_arrive_once_and_in_order),
      cmocka_unit_test(random_lengths_and_speeds_arrive_once_and_in_order),
      cmocka_unit_test(all_first_batches_are_in_sram_before_the_first_push),
      cmocka_unit_test(a_small_kernel_takes_one_read),
      cmocka_unit_test(a_queue_that_is_full_for_ever_does_not_hold_the_others),
      cmocka_unit_test(the_mxu_does_not_starve_at_one_command_every_60_to_130_cycles),
      cmocka_unit_test(a_first_block_of_64_pairs_at_60_cycles_never_starves),
      cmocka_unit_test(a_refill_of_eight_pairs_stays_within_its_cost),
      cmocka_unit_test(posted_semaphores_are_collected_for_the_leak_check),
      cmocka_unit_test(a_bus_error_names_its_address),
  };
  return cmocka_run_group_tests_name("firmware/streaming", tests, nullptr, nullptr);
}
