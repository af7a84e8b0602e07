// Moment by moment, chip by chip.
#include "model/record/slice_replayer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace weft::record {
namespace {

chip::Moment moment_of(const Record& record) {
  return {record.address, record.piece_bytes, static_cast<chip::Standstill::Kind>(record.detail)};
}

void add(Compared& sum, const Compared& part) {
  sum.host_reads += part.host_reads;
  sum.host_read_bytes += part.host_read_bytes;
  sum.completions += part.completions;
  sum.host_writes += part.host_writes;
  sum.host_written_bytes += part.host_written_bytes;
  sum.interrupts += part.interrupts;
  sum.registers += part.registers;
}

}  // namespace

SliceReplayer::SliceReplayer(chip::Simulation& simulation, std::span<const std::unique_ptr<Recording>> recordings)
    : simulation_(simulation) {
  for (size_t chip = 0; chip < recordings.size(); chip++)
    chips_.push_back(
        {recordings[chip].get(), std::make_unique<Replayer>(simulation, *recordings[chip], Pace::kCycles, chip)});
}

bool SliceReplayer::stopped() const {
  return std::ranges::any_of(chips_, [](const Chip& chip) { return chip.replayer->stopped(); });
}

bool SliceReplayer::cut() const {
  return std::ranges::any_of(chips_,
                             [](const Chip& chip) { return chip.moment == nullptr && !chip.recording->cut().empty(); });
}

ReplayResult SliceReplayer::run() {
  for (Chip& chip : chips_) chip.moment = chip.replayer->feed_to_moment();
  while (!stopped() && !cut()) {
    std::optional<chip::Moment> next;
    for (const Chip& chip : chips_)
      if (chip.moment != nullptr && (!next || moment_of(*chip.moment) < *next)) next = moment_of(*chip.moment);
    if (!next) break;
    simulation_.run_to(*next);
    for (Chip& chip : chips_) {
      if (stopped()) break;
      if (chip.moment == nullptr || moment_of(*chip.moment) != *next) continue;
      chip.replayer->reach_moment();
      chip.moment = chip.replayer->feed_to_moment();
    }
  }
  ReplayResult sum;
  const auto extent = stopped() || cut() ? Recording::Extent::kReadable : Recording::Extent::kWhole;
  for (size_t i = 0; i < chips_.size(); i++) {
    ReplayResult result = chips_[i].replayer->end(extent);
    sum.stimuli += result.stimuli;
    sum.last_cycle = std::max(sum.last_cycle, result.last_cycle);
    add(sum.compared, result.compared);
    if (!result.difference || sum.difference) continue;
    sum.difference = std::move(result.difference);
    sum.difference->what = fmt::format("chip {}: {}", i, sum.difference->what);
  }
  return sum;
}

}  // namespace weft::record
