/// A recorded run once more, without the processes that drove it.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/chip/simulation.hpp"
#include "model/record/expectation.hpp"
#include "model/record/recording.hpp"
#include "model/server/dispatcher.hpp"

namespace weft::record {

/// How the recorded stimuli find their moment.
enum class Pace : uint8_t {
  kCycles,  ///< the same firmware: in the cycle in which they came
  kCauses,  ///< another firmware: after all that had happened before they came, and as many cycles later
};

struct ReplayResult {
  uint64_t stimuli = 0;  ///< messages and ends of waits that were fed
  uint64_t last_cycle = 0;
  Compared compared;
  std::optional<Difference> difference;
};

/// Feeds the recorded messages to a chip that has just been made, in the place of its hosts: host memory reads as it
/// did, writes and interrupts are compared and go nowhere. `simulation` has the recorded preset and functions, and for
/// Pace::kCycles the recorded core. Single-threaded; one run.
///
/// Each chip of a slice has a Replayer; their owner, a SliceReplayer, lets time go on.
class Replayer final : public chip::Boundary {
 public:
  /// `chip`: of those that are simulated.
  Replayer(chip::Simulation& simulation, const Recording& recording, Pace pace, size_t chip = 0);
  ~Replayer() override;
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;

  /// To the recording's end, or to the first difference.
  [[nodiscard]] ReplayResult run();

  // Of a chip of a slice, in place of run()
  /// Feeds what stands before the next moment, which is returned; nullptr: the recording has no more, or differs.
  [[nodiscard]] const Record* feed_to_moment();
  /// Time stands at that moment: what was recorded before it has happened.
  void reach_moment();
  /// Time is over for all chips. Extent::kReadable: before this one's recording is.
  [[nodiscard]] ReplayResult end(Recording::Extent extent = Recording::Extent::kWhole);
  [[nodiscard]] bool stopped() const { return expectation_->difference().has_value(); }

 private:
  // chip::Boundary
  void host_read(const chip::HostAccess& access, std::span<std::byte> data, bool ok) override;
  void host_written(const chip::HostAccess& access, std::span<const std::byte> data, bool ok) override;
  void interrupt(unsigned function, unsigned vector) override;
  void wait_ends(unsigned, weft_wait_status) override {}
  void observer_resets(unsigned) override {}
  [[nodiscard]] bool simulator_exits() override { return false; }

  /// Lets time go on to what the record at `number` says.
  void go_to(size_t number, const Record& record);
  void wait_for_causes(size_t number, const Record& record);
  void feed(size_t number, const Record& record);
  void connect(size_t number, const Record& record);
  void access_region(size_t number, const Record& record);
  void repeat_message(size_t number, const Record& record);
  void refused(size_t number, const Record& record, const std::string& what, int error);
  void compare_read(size_t number, const Record& record, std::span<const std::byte> now);
  void finish();
  [[nodiscard]] size_t global(unsigned function) const { return first_function_ + function; }
  [[nodiscard]] uint64_t cycle() const { return simulation_.standstill().cycle; }

  chip::Simulation& simulation_;
  const Recording& recording_;
  const Pace pace_;
  const size_t chip_, first_function_;
  size_t at_ = 0;  // of a slice: the next record
  std::unique_ptr<Expectation> expectation_;
  std::array<std::unique_ptr<server::Dispatcher>, WEFT_LIMIT_FUNCTIONS> clients_;
  uint64_t last_told_cycle_ = 0;  // by the records so far
  uint64_t stimuli_ = 0;
};

}  // namespace weft::record
