// Rows on their way from HBM to other chips: a row chunk of a range of columns is loaded once, and sent to every chip
// that takes this range.
#include "host/compiler/schedules/exchange_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "host/compiler/schedules/chunk_pipeline.hpp"
#include "host/compiler/schedules/result_stores.hpp"

namespace weft::compiler {

Result<uint64_t> schedule_exchange(ProgramBuilder& program, const ExchangeStep& step, const StepChain& chain) {
  const spec::Chip& chip = program.chip();
  std::map<std::pair<uint64_t, uint64_t>, std::vector<ResultSink>> ranges;
  uint64_t widest = 0;
  for (const ResultSink& sink : step.sinks) {
    ranges[{sink.first_column, sink.columns}].push_back(sink);
    widest = std::max(widest, sink.columns);
  }
  const auto row_chunks = cut_rows(chip, step.rows);
  uint64_t rows = 0;
  for (const Span& chunk : row_chunks) rows = std::max(rows, chunk.count);
  const uint64_t words = (widest + chip.n - 1) / chip.n * row_words(step.dtype), slot_words = rows * words;
  if (kOutputSlots * slot_words > chip.vmem_words)
    return Error{
        WEFT_ERROR_NO_DEVICE_MEMORY,
        fmt::format("{}: {} rows of {} columns on their way to other chips need {} bytes of VMEM, chip {} has {}",
                    step.name, rows, widest, kOutputSlots * slot_words * chip.word_bytes, chip.name, chip.vmem_bytes)};
  ChunkPipeline pipeline(program, chain, row_chunks.size() * ranges.size());
  uint64_t index = 0;
  for (const Span& chunk : row_chunks) {
    for (const auto& [range, sinks] : ranges) {
      const auto [first, columns] = range;
      const uint64_t base = index++ % kOutputSlots * slot_words, element = vpu_element_bytes(step.dtype);
      const uint16_t tag = program.tag(fmt::format("{} exchange rows {}..", step.name, chunk.first));
      TensorPlace from = step.from;
      from.offset_bytes += first * element;
      pipeline.add({{chunk_load(chip, tag, from, chunk.first, chunk.count, columns * element, base, words)},
                    {},
                    result_stores(program, tag, sinks, {chunk, {first, columns}, element, base, words})});
    }
  }
  program.note_vmem_words(kOutputSlots * slot_words);
  return pipeline.stores();
}

}  // namespace weft::compiler
