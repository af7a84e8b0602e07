// Rectangles of results, from VMEM to memory.
#include "host/compiler/schedules/result_stores.hpp"

#include "host/compiler/schedules/chunk_pipeline.hpp"

namespace weft::compiler {

spec::DmaCommand result_store(const spec::Chip& chip, uint16_t tag, const TensorPlace& result,
                              const ResultBlock& block) {
  TensorPlace to = result;
  to.offset_bytes += block.columns.first * block.element_bytes;
  return chunk_store(chip, tag, to, block.rows.first, block.rows.count, block.columns.count * block.element_bytes,
                     block.word, block.row_words);
}

bool post_store(spec::CommandHeader& header, uint64_t slot, bool taken_over, bool announce) {
  ProgramBuilder::post(header, kOutputFree + static_cast<unsigned>(slot), taken_over ? 1 : 0);
  ProgramBuilder::post(header, kStepDone, announce ? 1 : 0);
  return announce;
}

void push_store(ProgramBuilder& program, const spec::DmaCommand& store) {
  program.note_hbm_bytes(uint64_t{store.size0} * store.size1 * store.size2 * store.size3);
  program.push(WEFT_QUEUE_DMA_OUT, spec::encode(store));
}

}  // namespace weft::compiler
