/// Ties the commands of a step that goes through VMEM chunk by chunk: loads, VPU commands, stores, four slots in turn.
#pragma once
#include <cstdint>
#include <vector>

#include "host/compiler/executable/program_builder.hpp"
#include "host/compiler/schedules/gemm_schedule.hpp"

namespace weft::compiler {

/// One chunk: its commands without waits and posts. All of its VMEM is that of slot chunk % kOutputSlots; loads and
/// stores are at least one each. Without VPU commands stores wait for the loads.
struct Chunk {
  std::vector<spec::DmaCommand> loads;
  std::vector<spec::VpuCommand> vector;
  std::vector<spec::DmaCommand> stores;
};

/// Appends chunks in order. The first VPU command of a chunk waits for its loads, its stores for the last one; the
/// first load waits for the stores of the chunk that had the slot before, or for the step before.
class ChunkPipeline {
 public:
  ChunkPipeline(ProgramBuilder& program, const StepChain& chain, uint64_t chunks)
      : program_(program), chain_(chain), chunks_(chunks) {}

  void add(Chunk chunk);

  /// How often stores have posted kStepDone so far.
  [[nodiscard]] uint64_t stores() const { return announced_; }

 private:
  ProgramBuilder& program_;
  const StepChain chain_;
  const uint64_t chunks_;
  std::vector<uint64_t> stores_of_;  ///< by chunk
  uint64_t announced_ = 0;
};

/// VMEM words of N elements.
[[nodiscard]] constexpr uint64_t row_words(weft_vpu_dtype dtype) {
  return dtype == WEFT_VPU_DTYPE_F32 || dtype == WEFT_VPU_DTYPE_I32 ? 2 : 1;
}
[[nodiscard]] constexpr uint64_t vpu_element_bytes(weft_vpu_dtype dtype) { return 2 * row_words(dtype); }

/// Rows of `bytes` (rounded up to 16) from a tensor's place into VMEM words `stride_words` apart.
[[nodiscard]] spec::DmaCommand chunk_load(const spec::Chip& chip, uint16_t tag, const TensorPlace& from,
                                          uint64_t first_row, uint64_t rows, uint64_t bytes, uint64_t word,
                                          uint64_t stride_words);

/// The reverse: rows in VMEM to rows `first_row`.. of a tensor's place.
[[nodiscard]] spec::DmaCommand chunk_store(const spec::Chip& chip, uint16_t tag, const TensorPlace& to,
                                           uint64_t first_row, uint64_t rows, uint64_t bytes, uint64_t word,
                                           uint64_t stride_words);

}  // namespace weft::compiler
