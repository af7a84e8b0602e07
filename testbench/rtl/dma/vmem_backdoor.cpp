// What is in the model's VMEM. Alone here, because only this needs the model's inside, which every edit of the RTL
// changes.
#include WEFT_MODEL_ROOT_HEADER

#include "model/golden/secded.hpp"
#include "testbench/rtl/dma/dma_bench.hpp"

namespace weft::bench {

uint8_t* DmaBench::vmem(uint64_t byte) {
  auto& word = model->rootp->dma_bench__DOT__u_vmem__DOT__u_storage__DOT__words[byte / kWordBytes];
  return reinterpret_cast<uint8_t*>(word.data()) + byte % kWordBytes;
}

void DmaBench::seal_vmem(uint64_t bytes) {
  auto& checks = model->rootp->dma_bench__DOT__u_vmem__DOT__u_storage__DOT__checks;
  for (uint64_t granule = 0; granule < bytes / 8; granule++) {
    uint64_t data;
    std::memcpy(&data, vmem(8 * granule), sizeof data);
    checks[granule] = golden::kSecded64.encode(data);
  }
}

}  // namespace weft::bench
