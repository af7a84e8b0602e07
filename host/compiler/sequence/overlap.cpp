// A pair's program is compiled once more, for a chip with less VMEM; its times and the collective's are looked at.
#include "host/compiler/sequence/overlap.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/round_up.hpp"
#include "host/compiler/executable/kernel_blocks.hpp"
#include "host/compiler/sequence/sequence_kernel.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kMostOfVmem = 2;  // a collective has at most one half
constexpr double kMostStretch = 4, kShareOfProgram = 0.9;
constexpr size_t kMostDevices = 64;  // of more a launch's commands would take gigabytes

spec::Chip with_vmem(const spec::Chip& chip, uint64_t bytes) {
  spec::Chip less = chip;
  less.vmem_bytes = bytes;
  less.vmem_words = static_cast<unsigned>(bytes / chip.word_bytes);
  return less;
}

class Pairing {
 public:
  Pairing(const spec::Chip& chip, const Sequence& sequence, const std::vector<Kernel>& programs,
          const DeviceSlice& slice)
      : chip_(chip), sequence_(sequence), programs_(programs), slice_(slice) {}

  [[nodiscard]] std::optional<SequencePair> pair(const SequenceStage& stage) const {
    const SequenceStep& step = sequence_.steps[*stage.collective];
    SequencePair pair;
    Collective collective = step.collective;
    collective.beside_program = true;
    const auto less = with_vmem(chip_, chip_.vmem_bytes / kMostOfVmem);
    uint64_t vmem = 0;
    for (const uint32_t number : slice_.chips) {
      auto kernel = compile_collective(less, slice_.shape, number, collective);
      if (!kernel.ok()) return std::nullopt;
      vmem = std::max(vmem, kernel.value().vmem_bytes);
      pair.collectives.push_back(std::move(kernel.value()));
    }
    const uint64_t row = 2 * uint64_t{chip_.word_bytes};
    pair.place.vmem_bytes = chip_.vmem_bytes - round_up(vmem, row);
    auto program = compile_step(with_vmem(chip_, pair.place.vmem_bytes), sequence_.steps[*stage.program],
                                kSemaphoresBesideProgram);
    if (!program.ok()) return std::nullopt;
    pair.program = std::move(program.value());
    pair.place.scratch_bytes = block_aligned(pair.program.scratch_bytes);
    for (const Kernel& one : pair.collectives)
      if (!can_be_beside(chip_, pair.program, one, pair.place)) return std::nullopt;
    return timed(std::move(pair), *stage.program);
  }

 private:
  [[nodiscard]] std::optional<SequencePair> timed(SequencePair pair, size_t step) const {
    const auto alone = of_one(programs_[step]), with = of_one(pair.program);
    std::vector<const Block*> blocks;
    for (const Kernel& one : pair.collectives) blocks.push_back(&one.queues);
    auto collective = timeline(chip_, slice_.shape.link_bytes_per_second, blocks, slice_.chips);
    if (!alone || !with || !collective) return std::nullopt;
    if (std::max(with->cycles, collective->cycles) >= alone->cycles + collective->cycles) return std::nullopt;
    const double longer = kShareOfProgram * static_cast<double>(with->cycles) / static_cast<double>(collective->cycles);
    pair.stretch = std::clamp(longer, 1.0, kMostStretch);
    pair.of_program = with->chips[0];
    pair.of_collectives = std::move(collective->chips);
    return pair;
  }
  [[nodiscard]] std::optional<Timeline> of_one(const Kernel& kernel) const {
    const Block* const block = &kernel.queues;
    return timeline(chip_, slice_.shape.link_bytes_per_second, {&block, 1}, {slice_.chips[0]});
  }

  const spec::Chip& chip_;
  const Sequence& sequence_;
  const std::vector<Kernel>& programs_;
  const DeviceSlice& slice_;
};

}  // namespace

Overlap overlap(const spec::Chip& chip, const Sequence& sequence, const std::vector<Kernel>& programs,
                const DeviceSlice& slice) {
  const Pairing pairing(chip, sequence, programs, slice);
  Overlap made;
  for (const SequenceStage& stage : stages_of(sequence)) {
    if (stage.program && stage.collective) {
      if (auto pair = slice.chips.size() <= kMostDevices ? pairing.pair(stage) : std::nullopt) {
        made.pairs.emplace(made.stages.size(), std::move(*pair));
        made.stages.push_back(stage);
        continue;
      }
      made.stages.push_back({{}, stage.collective});
      made.stages.push_back({stage.program, {}});
      continue;
    }
    made.stages.push_back(stage);
  }
  return made;
}

}  // namespace weft::compiler
