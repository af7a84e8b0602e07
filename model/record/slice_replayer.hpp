/// A recorded run of a slice once more.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "model/record/replayer.hpp"

namespace weft::record {

/// Feeds the recorded messages of all chips, each in its moment, to a slice that has just been made, with the recorded
/// firmware; whatever number of processes had simulated it. What happens on a chip is compared with that chip's
/// recording, cycle by cycle; chips of one moment come by number, as no chip touches another within a hop's time.
/// If recordings are cut off, to where the first one is. Single-threaded; one run.
class SliceReplayer {
 public:
  /// `recordings`: of all chips of the simulation; they outlive it.
  SliceReplayer(chip::Simulation& simulation, std::span<const std::unique_ptr<Recording>> recordings);

  /// To the end of all recordings, or to the first difference. What was compared is that of all chips together.
  [[nodiscard]] ReplayResult run();

 private:
  /// The chip has been fed up to this moment; nullptr: it is at its end.
  struct Chip {
    const Recording* recording;
    std::unique_ptr<Replayer> replayer;
    const Record* moment = nullptr;
  };
  [[nodiscard]] bool stopped() const;
  /// The recording of a chip is cut off here.
  [[nodiscard]] bool cut() const;

  chip::Simulation& simulation_;
  std::vector<Chip> chips_;
};

}  // namespace weft::record
