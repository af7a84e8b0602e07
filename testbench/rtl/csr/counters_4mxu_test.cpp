// counters.sv of a chip with four MXUs: which of VMEM's counters a port counts in.
#include <catch2/catch.hpp>
#include <cstdint>

#include "Vcounters_4mxu_model.h"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/spec.h"

namespace {

using namespace weft::bench;
constexpr unsigned kMxus = 4, kMxuStates = 6, kPorts = 2 * kMxus + 4;
constexpr unsigned kRequesters =
    6;  // x, weights, VPU a, VPU b, DMA, VPU's writes: counters of spec/counters.toml, in this order
static_assert(WEFT_COUNTER_VMEM_CONFLICTS_X - WEFT_COUNTER_VMEM_GRANTS_X >= kRequesters);

class CountersBench : public VerilatedBench<Vcounters_4mxu_model> {
 public:
  CountersBench() {
    top->clear_i = top->snapshot_i = 0;
    top->idle_credit_i = 0;
    top->queue_state_i = 0;
    top->queue_retired_i = 0;
    top->mxu_macs_i = 0, top->int_overflow_i = 0, top->vpu_rows_i = 0;
    top->nan_results_i = top->inf_results_i = 0;
    top->vmem_grant_i = top->vmem_conflict_i = 0;
    top->dma_read_bytes_i = top->dma_write_bytes_i = 0;
    top->dma_beat_i = top->dma_stall_i = top->prefetch_i = 0;
    top->vmem_corrected_i = top->vmem_poison_i = top->acc_corrected_i = top->acc_poison_i = 0;
    top->mxu_state_i = 0;
    for (unsigned u = 0; u < kMxus; u++) top->mxu_state_i |= 1u << (kMxuStates * u + kMxuStates - 1);
    top->vpu_state_i = 4;
    reset();
  }
  uint64_t read(unsigned index) {
    top->csr_index_i = static_cast<uint16_t>(index);
    settle();
    return top->csr_rdata_o;
  }
};

}  // namespace

TEST_CASE("x and weights of four MXUs count together, each other port of VMEM by itself") {
  CountersBench bench;
  const unsigned port = GENERATE(range(0u, kPorts));
  const unsigned requester = port < kMxus ? 0 : port < 2 * kMxus ? 1 : port - 2 * kMxus + 2;
  CAPTURE(port, requester);
  bench.top->vmem_grant_i = static_cast<uint16_t>(1u << port);
  bench.top->vmem_conflict_i = static_cast<uint16_t>(1u << port);
  bench.step();
  bench.top->vmem_conflict_i = 0;
  bench.step();
  bench.top->vmem_grant_i = 0;
  bench.top->snapshot_i = 1;
  bench.step();
  for (unsigned i = 0; i < kRequesters; i++) {
    CAPTURE(i);
    CHECK(bench.read(WEFT_COUNTER_VMEM_GRANTS_X + i) == (i == requester ? 2 : 0));
    CHECK(bench.read(WEFT_COUNTER_VMEM_CONFLICTS_X + i) == (i == requester ? 1 : 0));
  }
}
