/// Stores of a step's result.
#pragma once
#include <cstdint>

#include "host/compiler/executable/program_builder.hpp"
#include "host/compiler/schedules/gemm_tiling.hpp"
#include "host/compiler/step.hpp"

namespace weft::compiler {

/// A rectangle of a result that lies in VMEM, its first column in lane 0.
struct ResultBlock {
  Span rows, columns;
  uint64_t element_bytes = 0;
  uint64_t word = 0;       ///< of the first row
  uint64_t row_words = 0;  ///< from one row to the next
};

/// The block to its place in `result`, without waits and posts.
[[nodiscard]] spec::DmaCommand result_store(const spec::Chip& chip, uint16_t tag, const TensorPlace& result,
                                            const ResultBlock& block);

/// Posts when the store has read output slot `slot`: for who takes the slot over if `taken_over`, and kStepDone if the
/// next step waits (`announce`), which is returned.
bool post_store(spec::CommandHeader& header, uint64_t slot, bool taken_over, bool announce);

/// Appends it to dma_out.
void push_store(ProgramBuilder& program, const spec::DmaCommand& store);

}  // namespace weft::compiler
