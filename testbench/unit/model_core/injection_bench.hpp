/// Fault injection on a core bench: the registers, and what a run with an injected fault came to.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "testbench/unit/model_core/core_bench.hpp"

namespace weft::bench {

/// Parameters of one INJECT_ARM.
struct Injection {
  weft_inject_kind kind = WEFT_INJECT_KIND_NONE;
  uint64_t address = 0, data = 0, check = 0;
  unsigned queue = 0, code = 0;
  uint32_t n = 0, beat = 0;
};

inline void inject(CoreBench& bench, const Injection& i) {
  bench.write(WEFT_CSR_INJECT_ADDRESS, i.address);
  bench.write(WEFT_CSR_INJECT_DATA, i.data);
  bench.write(WEFT_CSR_INJECT_CHECK, i.check);
  bench.write(WEFT_CSR_INJECT_PLACE, i.queue | i.code << 8 | uint64_t{i.n} << 16 | uint64_t{i.beat} << 32);
  bench.write(WEFT_CSR_INJECT_ARM, i.kind);
}

/// All that can be seen from outside after a run.
struct Outcome {
  FaultInfo fault{};
  std::array<uint64_t, WEFT_CORE_QUEUES> retired{};
  std::array<uint64_t, WEFT_COUNTERS> counters{};
  uint64_t status = 0, inject_status = 0, last_retire = 0;
  bool idle = false, right = false;  ///< right: the result in HBM is what the program computes
  std::vector<std::byte> hbm, vmem, acc;
};

inline Outcome outcome(CoreBench& bench) {
  Outcome o;
  o.idle = !bench.core->busy();
  o.fault = fault(bench);
  o.counters = bench.counters();
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) o.retired[q] = bench.read(WEFT_CSR_QUEUE_RETIRED + 8 * q);
  o.status = bench.read(WEFT_CSR_STATUS);
  o.inject_status = bench.read(WEFT_CSR_INJECT_STATUS);
  o.last_retire = bench.read(WEFT_CSR_LAST_RETIRE_CYCLE);
  o.hbm = bench.bus.memory(WEFT_ADDRESS_SPACE_HBM);
  o.vmem.resize(8192);
  (void)bench.core->peek_vmem(0, o.vmem);
  std::vector<std::byte> row(bench.chip.n * 4);
  for (uint32_t r = 0; r < bench.chip.num_mxu * 2 * bench.chip.acc_bank_rows; r++) {
    (void)bench.core->peek_acc(r, row);
    o.acc.insert(o.acc.end(), row.begin(), row.end());
  }
  return o;
}

}  // namespace weft::bench
