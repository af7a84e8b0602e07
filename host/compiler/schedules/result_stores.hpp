/// Stores of a step's result: each range of columns to its place, here or on another chip.
#pragma once
#include <cstdint>
#include <vector>

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

/// One command for each sink that takes columns of the block, without waits and local posts. A remote one posts its
/// sink's arrival if these are the sink's last columns. `tag`: of stores; a command to another chip has its own.
[[nodiscard]] std::vector<spec::DmaCommand> result_stores(ProgramBuilder& program, uint16_t tag,
                                                          const std::vector<ResultSink>& sinks,
                                                          const ResultBlock& block);

/// Posts when the store has read output slot `slot`: for who takes the slot over if `taken_over`, and kStepDone if the
/// next step waits (`announce`). A remote command has one post here, and what waits for the slot's next owner waits for
/// it too: it posts kStepDone only if the slot is not taken over. True: kStepDone is posted.
bool post_store(spec::CommandHeader& header, uint64_t slot, bool taken_over, bool announce);

/// Appends it to dma_out; a remote one behind the BARRIER.
void push_store(ProgramBuilder& program, spec::DmaCommand& store);

}  // namespace weft::compiler
