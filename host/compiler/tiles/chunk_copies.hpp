/// Rows of a tensor between memory and VMEM, as commands of the DMA.
#pragma once
#include <cstdint>

#include "host/compiler/step.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

namespace weft::compiler {

/// VMEM words of N elements.
[[nodiscard]] constexpr uint64_t row_words(weft_vpu_dtype dtype) {
  return dtype == WEFT_VPU_DTYPE_F32 || dtype == WEFT_VPU_DTYPE_I32 ? 2 : 1;
}
[[nodiscard]] constexpr uint64_t vpu_element_bytes(weft_vpu_dtype dtype) { return 2 * row_words(dtype); }

/// Rows of `bytes` (rounded up to 16) from a tensor's place into VMEM words `stride_words` apart, the first at `word`. Without waits and posts.
[[nodiscard]] spec::DmaCommand chunk_load(const spec::Chip& chip, uint16_t tag, const TensorPlace& from,
                                          uint64_t first_row, uint64_t rows, uint64_t bytes, uint64_t word,
                                          uint64_t stride_words);

/// The reverse: rows in VMEM to rows `first_row`.. of a tensor's place.
[[nodiscard]] spec::DmaCommand chunk_store(const spec::Chip& chip, uint16_t tag, const TensorPlace& to,
                                           uint64_t first_row, uint64_t rows, uint64_t bytes, uint64_t word,
                                           uint64_t stride_words);

}  // namespace weft::compiler
