// Stages are chosen by the times of programs and collectives alone. A pair's program is compiled once more, for a chip
// with less VMEM; a pair that takes longer so than its parts is refused, and stages are chosen again.
#include "host/compiler/sequence/overlap.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/round_up.hpp"
#include "host/compiler/executable/kernel_blocks.hpp"
#include "host/compiler/sequence/sequence_kernel.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kMostOfVmem = 2;   // a collective has at most one half
constexpr size_t kMostDevices = 64;   // of more a launch's commands would take gigabytes
constexpr size_t kMostRefusals = 16;  // behind them pairs that are refused fall apart

spec::Chip with_vmem(const spec::Chip& chip, uint64_t bytes) {
  spec::Chip less = chip;
  less.vmem_bytes = bytes;
  less.vmem_words = static_cast<unsigned>(bytes / chip.word_bytes);
  return less;
}

using Numbers = std::pair<size_t, size_t>;  // of a program and a collective

class Pairing {
 public:
  Pairing(const spec::Chip& chip, const Sequence& sequence, const std::vector<Kernel>& programs,
          const DeviceSlice& slice)
      : chip_(chip), sequence_(sequence), slice_(slice), times_(programs.size()) {
    const bool hides =
        slice.chips.size() <= kMostDevices && std::ranges::any_of(sequence.steps, &SequenceStep::is_long);
    for (size_t i = 0; i < programs.size() && hides; i++) {
      if (sequence.steps[i].graph)
        times_[i] = of_one(programs[i]);
      else
        of_collective_.emplace(i, collective(sequence.steps[i].collective));
    }
    for (size_t i = 0; i < programs.size(); i++) kinds_.push_back(kind_of(i));
  }

  Overlap run() {
    for (;;) {
      const StageCosts costs{kinds_, first_of_.size(), [this](auto program, auto collective) {
                               return cost(program ? std::optional(first_of_[*program]) : std::nullopt,
                                           collective ? std::optional(first_of_[*collective]) : std::nullopt);
                             }};
      const auto stages = stages_of(sequence_, costs);
      bool good = true;
      for (const SequenceStage& stage : stages)
        if (stage.program && stage.collective) good &= pair(stage);
      if (good || refused_.size() > kMostRefusals) return made_of(stages);
    }
  }

 private:
  /// Of all chips.
  struct Compiled {
    std::vector<Kernel> kernels;
    std::vector<Beginnings> begin;
    std::vector<CycleSpan> sent;  ///< of the chip that sends most
    uint64_t cycles = 0, sent_cycles = 0;
  };

  /// Steps whose times are those of an earlier one are of its kind.
  [[nodiscard]] size_t kind_of(size_t step) {
    for (size_t kind = 0; kind < first_of_.size(); kind++)
      if (is_like(step, first_of_[kind])) return kind;
    first_of_.push_back(step);
    return first_of_.size() - 1;
  }
  [[nodiscard]] bool is_like(size_t a, size_t b) const {
    if (sequence_.steps[a].graph.has_value() != sequence_.steps[b].graph.has_value()) return false;
    if (!sequence_.steps[a].graph) return compiled(a) != nullptr && compiled(a) == compiled(b);
    return times_[a] && times_[b] && times_[a]->chips == times_[b]->chips && times_[a]->cycles == times_[b]->cycles;
  }

  /// Of the first steps of kinds.
  [[nodiscard]] std::optional<StageCost> cost(std::optional<size_t> program, std::optional<size_t> collective) const {
    if (!collective) return StageCost{cycles_of(*program), 0};
    const Compiled* const sent = compiled(*collective);
    if (!program) return sent != nullptr ? StageCost{sent->cycles, sent->sent_cycles} : StageCost{};
    if (sent == nullptr || !times_[*program] || refused_.contains({kinds_[*program], kinds_[*collective]}))
      return std::nullopt;
    const Timeline& times = *times_[*program];
    const auto hidden = hiding(times.work[0], times.cycles, sent->sent, sent->cycles);
    return StageCost{std::max(times.cycles, hidden.delay + sent->cycles), hidden.seen};
  }
  [[nodiscard]] uint64_t cycles_of(size_t program) const { return times_[program] ? times_[program]->cycles : 0; }
  [[nodiscard]] const Compiled* compiled(size_t step) const {
    const auto found = of_collective_.find(step);
    return found == of_collective_.end() || !found->second ? nullptr : &compiled_[*found->second];
  }

  /// Its number among those that are different. None: a half of VMEM is too little for it.
  [[nodiscard]] std::optional<size_t> collective(Collective collective) {
    collective.beside_program = true;
    const auto known = std::ranges::find(known_, collective);
    if (known != known_.end()) return numbers_[static_cast<size_t>(known - known_.begin())];
    known_.push_back(collective);
    return numbers_.emplace_back(compile(collective));
  }
  [[nodiscard]] std::optional<size_t> compile(const Collective& collective) {
    const auto less = with_vmem(chip_, chip_.vmem_bytes / kMostOfVmem);
    Compiled made;
    std::vector<const Block*> blocks;
    for (const uint32_t number : slice_.chips) {
      auto kernel = compile_collective(less, slice_.shape, number, collective);
      if (!kernel.ok()) return std::nullopt;
      made.kernels.push_back(std::move(kernel.value()));
    }
    for (const Kernel& kernel : made.kernels) blocks.push_back(&kernel.queues);
    auto times = timeline(chip_, slice_.shape.link_bytes_per_second, blocks, slice_.chips);
    if (!times) return std::nullopt;
    made.begin = std::move(times->chips);
    made.cycles = times->cycles;
    for (auto& sent : times->sent) {
      uint64_t cycles = 0;
      for (const CycleSpan& span : sent) cycles += span.end - span.begin;
      if (cycles > made.sent_cycles) made.sent = std::move(sent), made.sent_cycles = cycles;
    }
    compiled_.push_back(std::move(made));
    return compiled_.size() - 1;
  }

  /// False: refused, as others of their kinds are from now on.
  bool pair(const SequenceStage& stage) {
    const Numbers steps{*stage.program, *stage.collective};
    const Numbers kinds{kinds_[steps.first], kinds_[steps.second]};
    if (pairs_.contains(steps)) return true;
    if (refused_.contains(kinds)) return false;
    if (auto made = fresh_pair(stage)) {
      pairs_.emplace(steps, std::move(*made));
      return true;
    }
    refused_.insert(kinds);
    return false;
  }
  [[nodiscard]] std::optional<SequencePair> fresh_pair(const SequenceStage& stage) const {
    const Compiled& collective = *compiled(*stage.collective);
    SequencePair pair;
    uint64_t vmem = 0;
    for (const Kernel& kernel : collective.kernels) vmem = std::max(vmem, kernel.vmem_bytes);
    const uint64_t row = 2 * uint64_t{chip_.word_bytes};
    pair.place.vmem_bytes = chip_.vmem_bytes - round_up(vmem, row);
    auto program =
        compile_step(with_vmem(chip_, pair.place.vmem_bytes), sequence_.steps[*stage.program], kSemaphoresBeside);
    if (!program.ok()) return std::nullopt;
    pair.program = std::move(program.value());
    pair.place.scratch_bytes = block_aligned(pair.program.scratch_bytes);
    for (const Kernel& one : collective.kernels)
      if (!can_be_beside(chip_, pair.program, one, pair.place)) return std::nullopt;
    auto with = of_one(pair.program);
    if (!with || std::max(with->cycles, collective.cycles) >= cycles_of(*stage.program) + collective.cycles)
      return std::nullopt;
    pair.hidden = hiding(with->work[0], with->cycles, collective.sent, collective.cycles);
    pair.of_program = std::move(with->chips[0]);
    pair.collectives = collective.kernels;
    pair.of_collectives = collective.begin;
    return pair;
  }
  [[nodiscard]] std::optional<Timeline> of_one(const Kernel& kernel) const {
    const Block* const block = &kernel.queues;
    return timeline(chip_, slice_.shape.link_bytes_per_second, {&block, 1}, {slice_.chips[0]});
  }

  Overlap made_of(const std::vector<SequenceStage>& stages) {
    Overlap made;
    for (const SequenceStage& stage : stages) {
      if (!stage.program || !stage.collective) {
        made.stages.push_back(stage);
        continue;
      }
      if (auto pair = pairs_.extract({*stage.program, *stage.collective}); !pair.empty()) {
        made.pairs.emplace(made.stages.size(), std::move(pair.mapped()));
        made.stages.push_back(stage);
        continue;
      }
      made.stages.push_back({{}, stage.collective});
      made.stages.push_back({stage.program, {}});
    }
    return made;
  }

  const spec::Chip& chip_;
  const Sequence& sequence_;
  const DeviceSlice& slice_;
  std::vector<std::optional<Timeline>> times_;             ///< of programs, by step
  std::map<size_t, std::optional<size_t>> of_collective_;  ///< by step
  std::vector<Collective> known_;
  std::vector<std::optional<size_t>> numbers_;  ///< of those that are known
  std::vector<Compiled> compiled_;
  std::vector<size_t> kinds_;              ///< by step
  std::vector<size_t> first_of_;           ///< by kind, a step
  std::map<Numbers, SequencePair> pairs_;  ///< by steps
  std::set<Numbers> refused_;              ///< by kinds
};

}  // namespace

Overlap overlap(const spec::Chip& chip, const Sequence& sequence, const std::vector<Kernel>& programs,
                const DeviceSlice& slice) {
  return Pairing(chip, sequence, programs, slice).run();
}

}  // namespace weft::compiler
