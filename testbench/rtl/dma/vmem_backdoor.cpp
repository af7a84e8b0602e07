// What is in the model's VMEM, whose words lie in banks.
#include "model/golden/secded.hpp"
#include "testbench/rtl/dma/dma_bench.hpp"

namespace weft::bench {

uint8_t* DmaBench::vmem(uint64_t byte) {
  return reinterpret_cast<uint8_t*>(vmem_banks_->word(byte / kWordBytes)) + byte % kWordBytes;
}

void DmaBench::read_vmem(uint64_t byte, std::span<uint8_t> out) {
  vmem_banks_->for_each_piece(byte, out.size(), [&](size_t at, const std::byte* stored, size_t bytes) {
    std::memcpy(out.data() + at, stored, bytes);
  });
}

void DmaBench::seal_vmem(uint64_t bytes) {
  for (uint64_t granule = 0; granule < bytes / 8; granule++)
    vmem_banks_->check(granule) = golden::kSecded64.encode(vmem_banks_->granule_value(granule));
}

}  // namespace weft::bench
