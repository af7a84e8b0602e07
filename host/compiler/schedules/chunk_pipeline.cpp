// Waits and posts of chunks. A slot has a semaphore of its own for its loads, so that those of later chunks never count
// for this one; the next chunk in the slot loads when this one has been stored.
#include "host/compiler/schedules/chunk_pipeline.hpp"

#include <cassert>
#include <utility>

#include "host/compiler/schedules/result_stores.hpp"

namespace weft::compiler {
namespace {

uint32_t run_bytes(uint64_t bytes) { return static_cast<uint32_t>((bytes + 15) / 16 * 16); }

uint64_t bytes_of(const spec::DmaCommand& c) { return uint64_t{c.size0} * c.size1 * c.size2 * c.size3; }

}  // namespace

void ChunkPipeline::add(Chunk chunk) {
  assert(!chunk.loads.empty() && !chunk.vector.empty() && !chunk.stores.empty());
  const uint64_t index = stores_of_.size();
  const auto slot = static_cast<unsigned>(index % kOutputSlots);
  const unsigned ready = kChunkReady + slot;
  auto& first = chunk.loads.front().header;
  if (index == 0) ProgramBuilder::wait(first, kStepDone, chain_.stores_before);
  if (index >= kOutputSlots) ProgramBuilder::wait(first, kOutputFree + slot, stores_of_[index - kOutputSlots]);
  for (auto& load : chunk.loads) {
    ProgramBuilder::post(load.header, ready, 1);
    program_.note_hbm_bytes(bytes_of(load));
    program_.push(WEFT_QUEUE_DMA_IN, spec::encode(load));
  }
  ProgramBuilder::wait(chunk.vector.front().header, ready, chunk.loads.size());
  ProgramBuilder::post(chunk.vector.back().header, kOutputReady, chunk.stores.size());
  for (const auto& command : chunk.vector) program_.push(WEFT_QUEUE_VPU, spec::encode(command));
  for (auto& store : chunk.stores) {
    ProgramBuilder::wait(store.header, kOutputReady, 1);
    if (post_store(store.header, slot, index + kOutputSlots < chunks_, chain_.announce)) announced_++;
    push_store(program_, store);
  }
  stores_of_.push_back(chunk.stores.size());
}

spec::DmaCommand chunk_load(const spec::Chip& chip, uint16_t tag, const TensorPlace& from, uint64_t first_row,
                            uint64_t rows, uint64_t bytes, uint64_t word, uint64_t stride_words) {
  spec::DmaCommand command;
  command.header.opcode = WEFT_OPCODE_COPY;
  command.header.tag = tag;
  command.src_seg = from.segment;
  command.src_off = from.offset_bytes + first_row * from.pitch_bytes;
  command.dst_off = word * chip.word_bytes;
  command.size0 = run_bytes(bytes);
  command.size1 = static_cast<uint16_t>(rows);
  command.src_stride1 = static_cast<int32_t>(from.pitch_bytes);
  command.dst_stride1 = static_cast<int32_t>(stride_words * chip.word_bytes);
  return command;
}

spec::DmaCommand chunk_store(const spec::Chip& chip, uint16_t tag, const TensorPlace& to, uint64_t first_row,
                             uint64_t rows, uint64_t bytes, uint64_t word, uint64_t stride_words) {
  spec::DmaCommand command;
  command.header.opcode = WEFT_OPCODE_COPY;
  command.header.tag = tag;
  command.src_off = word * chip.word_bytes;
  command.dst_seg = to.segment;
  command.dst_off = to.offset_bytes + first_row * to.pitch_bytes;
  command.size0 = run_bytes(bytes);
  command.size1 = static_cast<uint16_t>(rows);
  command.src_stride1 = static_cast<int32_t>(stride_words * chip.word_bytes);
  command.dst_stride1 = static_cast<int32_t>(to.pitch_bytes);
  return command;
}

}  // namespace weft::compiler
