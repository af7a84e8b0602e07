// counters.sv against sums: every counter, clear beside count, snapshots, credit for cycles that were not clocked.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>

#include "Vcounters_model.h"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/spec.h"

namespace {

using namespace weft::bench;
using Counts = std::array<uint64_t, WEFT_COUNTERS>;
constexpr unsigned kQueueCounters = 5;

class CountersBench : public VerilatedBench<Vcounters_model> {
 public:
  CountersBench() {
    set_events({});
    top->clear_i = top->snapshot_i = 0;
    top->idle_credit_i = 0;
    reset();
  }
  /// What happens in a cycle; all that is random in it comes from `random`.
  struct Events {
    std::array<unsigned, WEFT_CORE_QUEUES> queue_state{};
    unsigned retired = 0, mxu_state = 5, vpu_state = 2, grant = 0, conflict = 0, beat = 0, stall = 0, prefetch = 0;
    uint32_t macs = 0, nans = 0, infinities = 0, read_bytes = 0, write_bytes = 0;
    std::array<unsigned, 4> ecc{};  ///< corrected in VMEM, uncorrectable there, the same in ACC
    bool overflow = false, row = false;
  };
  void set_events(const Events& e) {
    top->queue_state_i = 0;
    for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
      top->queue_state_i = static_cast<uint16_t>(top->queue_state_i | e.queue_state[q] << (2 * q));
    top->queue_retired_i = static_cast<uint8_t>(e.retired);
    top->mxu_state_i = static_cast<uint8_t>(1u << e.mxu_state);
    top->vpu_state_i = static_cast<uint8_t>(1u << e.vpu_state);
    top->mxu_macs_i = e.macs, top->int_overflow_i = e.overflow, top->vpu_rows_i = e.row;
    top->nan_results_i = static_cast<uint16_t>(e.nans), top->inf_results_i = static_cast<uint16_t>(e.infinities);
    top->vmem_grant_i = static_cast<uint8_t>(e.grant), top->vmem_conflict_i = static_cast<uint8_t>(e.conflict);
    top->dma_read_bytes_i = static_cast<uint16_t>(e.read_bytes);
    top->dma_write_bytes_i = static_cast<uint16_t>(e.write_bytes);
    top->vmem_corrected_i = static_cast<uint16_t>(e.ecc[0]), top->vmem_poison_i = static_cast<uint16_t>(e.ecc[1]);
    top->acc_corrected_i = static_cast<uint16_t>(e.ecc[2]), top->acc_poison_i = static_cast<uint16_t>(e.ecc[3]);
    top->dma_beat_i = static_cast<uint8_t>(e.beat), top->dma_stall_i = static_cast<uint8_t>(e.stall);
    top->prefetch_i = static_cast<uint8_t>(e.prefetch);
  }
  uint64_t read(unsigned index) {
    top->csr_index_i = static_cast<uint16_t>(index);
    settle();
    return top->csr_rdata_o;
  }
};

void count_states(Counts& counts, const CountersBench::Events& e, uint64_t cycles) {
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) counts[q * kQueueCounters + e.queue_state[q]] += cycles;
  counts[WEFT_COUNTER_MXU_BUSY + e.mxu_state] += cycles;
  counts[WEFT_COUNTER_VPU_BUSY + e.vpu_state] += cycles;
}

void count(Counts& counts, const CountersBench::Events& e) {
  count_states(counts, e, 1);
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) counts[q * kQueueCounters + 4] += e.retired >> q & 1;
  counts[WEFT_COUNTER_MXU_MACS] += e.macs;
  if (e.overflow) counts[WEFT_COUNTER_STATUS_INT_OVERFLOW] = 1;
  if (e.row) {
    counts[WEFT_COUNTER_VPU_ROWS]++;
    counts[WEFT_COUNTER_STATUS_NAN_RESULTS] += e.nans;
    counts[WEFT_COUNTER_STATUS_INF_RESULTS] += e.infinities;
  }
  for (unsigned port = 0; port < 6; port++) {
    counts[WEFT_COUNTER_VMEM_GRANTS_X + port] += e.grant >> port & 1;
    counts[WEFT_COUNTER_VMEM_CONFLICTS_X + port] += e.conflict >> port & 1;
  }
  counts[WEFT_COUNTER_ECC_VMEM_CORRECTED] += e.ecc[0];
  counts[WEFT_COUNTER_ECC_VMEM_UNCORRECTABLE] += e.ecc[1];
  counts[WEFT_COUNTER_ECC_ACC_CORRECTED] += e.ecc[2];
  counts[WEFT_COUNTER_ECC_ACC_UNCORRECTABLE] += e.ecc[3];
  counts[WEFT_COUNTER_DMA_READ_BYTES] += e.read_bytes;
  counts[WEFT_COUNTER_DMA_WRITE_BYTES] += e.write_bytes;
  counts[WEFT_COUNTER_DMA_READ_BEATS] += e.beat & 1;
  counts[WEFT_COUNTER_DMA_WRITE_BEATS] += e.beat >> 1;
  counts[WEFT_COUNTER_DMA_READ_STALLS] += e.stall & 1;
  counts[WEFT_COUNTER_DMA_WRITE_STALLS] += e.stall >> 1;
  counts[WEFT_COUNTER_PREFETCH_COMMANDS] += e.prefetch & 1;
  counts[WEFT_COUNTER_PREFETCH_WAITS] += e.prefetch >> 1 & 1;
  counts[WEFT_COUNTER_PREFETCH_CONFLICTS] += e.prefetch >> 2;
}

}  // namespace

TEST_CASE("every counter is the sum of its events, as of the last snapshot, over clears and credits") {
  const uint64_t seed = stimulus_seed(1);
  std::mt19937_64 random(seed);
  const auto below = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
  CountersBench bench;
  // The cycle in which reset() ended has its edge still to come; counting begins with it.
  Counts running{}, snapshot{};
  bool snapped = false;
  for (unsigned i = 0; i < 20000; i++) {
    CountersBench::Events e;
    for (auto& state : e.queue_state) state = below(4);
    e.retired = below(32), e.mxu_state = below(6), e.vpu_state = below(3);
    e.macs = below(3) == 0 ? UINT32_MAX : below(70000), e.overflow = below(5000) == 0;
    e.row = below(2) != 0, e.nans = below(65536), e.infinities = below(65536);
    e.grant = below(2) * below(64), e.conflict = below(2) * below(64);
    for (auto& count : e.ecc) count = below(4) == 0 ? below(65536) : 0;
    e.read_bytes = below(65536), e.write_bytes = below(65536), e.beat = below(4), e.stall = below(4);
    e.prefetch = below(8);
    const bool clear = below(500) == 0, snap = below(50) == 0;
    const uint64_t credit = below(20) == 0 ? random() >> below(64) : 0;  // sums wrap, as 64 bits do
    bench.set_events(e);
    bench.top->clear_i = clear;
    bench.top->snapshot_i = snap;
    bench.top->idle_credit_i = credit;
    if (snapped) {
      const unsigned index = below(8) == 0 ? below(512) : below(WEFT_COUNTERS);
      INFO("counter " << index << " cycle " << bench.cycle() << "; " << rerun_line(seed, bench.cycle()));
      REQUIRE(bench.read(index) == (index < WEFT_COUNTERS ? snapshot[index] : 0));
    }
    bench.step();
    count_states(running, e, credit);  // those cycles lie before this one, and before its snapshot
    if (snap) snapshot = running;
    snapped |= snap;
    if (clear)
      running = {};
    else
      count(running, e);
  }
  for (unsigned index = 0; index < WEFT_COUNTERS; index++) {
    INFO("counter " << index);
    CHECK(bench.read(index) == snapshot[index]);
  }
  CHECK(snapped);
}

TEST_CASE("an index that no counter has reads 0") {
  CountersBench bench;
  bench.top->snapshot_i = 1;
  bench.step();
  for (unsigned index = WEFT_COUNTERS; index < 512; index++) CHECK(bench.read(index) == 0);
}

TEST_CASE("the overflow status stays 1 until it is cleared, however often it happens") {
  CountersBench bench;
  bench.set_events({.overflow = true});
  for (unsigned i = 0; i < 3; i++) bench.step();
  bench.set_events({});
  bench.top->snapshot_i = 1;
  bench.step();
  CHECK(bench.read(WEFT_COUNTER_STATUS_INT_OVERFLOW) == 1);
  bench.top->clear_i = 1;
  bench.step();
  bench.top->clear_i = 0;
  bench.step();
  CHECK(bench.read(WEFT_COUNTER_STATUS_INT_OVERFLOW) == 0);
}
