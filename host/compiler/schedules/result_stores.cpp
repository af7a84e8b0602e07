// Which commands a rectangle of a result leaves VMEM by.
#include "host/compiler/schedules/result_stores.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::compiler {
namespace {

bool is_remote(const spec::CommandHeader& header) { return (header.flags & WEFT_COMMAND_FLAG_REMOTE) != 0; }

}  // namespace

std::vector<spec::DmaCommand> result_stores(ProgramBuilder& program, uint16_t tag, const std::vector<ResultSink>& sinks,
                                            const ResultBlock& block) {
  const spec::Chip& chip = program.chip();
  std::vector<spec::DmaCommand> stores;
  for (const ResultSink& sink : sinks) {
    const uint64_t first = std::max(sink.first_column, block.columns.first);
    const uint64_t end = std::min(sink.first_column + sink.columns, block.columns.first + block.columns.count);
    if (first >= end) continue;
    spec::DmaCommand store;
    store.header.opcode = WEFT_OPCODE_COPY;
    store.header.tag = sink.chip ? program.tag(fmt::format("send to chip {}", *sink.chip)) : tag;
    store.src_off = block.word * chip.word_bytes + (first - block.columns.first) * block.element_bytes;
    store.dst_seg = sink.place.segment;
    store.dst_off = sink.place.offset_bytes + block.rows.first * sink.place.pitch_bytes +
                    (first - sink.first_column) * block.element_bytes;
    store.size0 = static_cast<uint32_t>(((end - first) * block.element_bytes + 15) / 16 * 16);
    store.size1 = static_cast<uint16_t>(block.rows.count);
    store.src_stride1 = static_cast<int32_t>(block.row_words * chip.word_bytes);
    store.dst_stride1 = static_cast<int32_t>(sink.place.pitch_bytes);
    if (sink.chip) {
      store.header.flags = WEFT_COMMAND_FLAG_REMOTE;
      store.remote_chip = *sink.chip;
      if (end == sink.first_column + sink.columns) {
        store.header.post_sem1 = sink.arrival;
        store.header.post_count1 = 1;
      }
    }
    stores.push_back(store);
  }
  return stores;
}

bool post_store(spec::CommandHeader& header, uint64_t slot, bool taken_over, bool announce) {
  const bool step_done = announce && !(is_remote(header) && taken_over);
  const auto free = kOutputFree + static_cast<unsigned>(slot);
  if (!is_remote(header)) {
    ProgramBuilder::post(header, free, taken_over ? 1 : 0);
    ProgramBuilder::post(header, kStepDone, step_done ? 1 : 0);
  } else if (taken_over || step_done) {
    header.post_sem0 = static_cast<uint8_t>(taken_over ? free : kStepDone);
    header.post_count0 = 1;
  }
  return step_done;
}

void push_store(ProgramBuilder& program, spec::DmaCommand& store) {
  if (is_remote(store.header))
    program.wait_for_slice(store.header);
  else
    program.note_hbm_bytes(uint64_t{store.size0} * store.size1 * store.size2 * store.size3);
  program.push(WEFT_QUEUE_DMA_OUT, spec::encode(store));
}

}  // namespace weft::compiler
