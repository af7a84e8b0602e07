/// Simulated time in slices: what the simulator's loop sees of SystemC.
#pragma once
#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/chip/attention.hpp"
#include "model/chip/boundary.hpp"
#include "model/chip/chip_options.hpp"
#include "model/chip/function.hpp"
#include "model/chip/rank_link.hpp"
#include "model/chip/rank_state.hpp"

namespace weft::chip {

class Chip;
class CoreClock;
class SliceNetwork;

/// Where simulated time stands between two slices: in which cycle, and how much of that cycle has happened. It decides
/// what a message of the host meets.
struct Standstill {
  enum class Kind : uint8_t {
    kBefore,  ///< what happens in this cycle is still to come
    kAfter,   ///< it has happened
    kPaused,  ///< it has happened, but for the busy core's next stride
  };
  uint64_t cycle = 0;
  Kind kind = Kind::kAfter;
  friend bool operator==(const Standstill&, const Standstill&) = default;
};

/// Where time of a slice stands between two slices of time: the same in all processes that simulate it.
struct Moment {
  uint64_t fs = 0;
  uint32_t stop = 0;  ///< how often it has stood there before: something may have happened since that took no time
  Standstill::Kind kind = Standstill::Kind::kAfter;  ///< never kPaused
  /// In which order they come; the kind follows.
  friend auto operator<=>(const Moment& a, const Moment& b) {
    return std::pair(a.fs, a.stop) <=> std::pair(b.fs, b.stop);
  }
  friend bool operator==(const Moment& a, const Moment& b) { return a.fs == b.fs && a.stop == b.stop; }
};

/// When a host asked to hold time (SIM_HOLD).
struct HoldRequest {
  uint64_t cycle = 0;
  uint64_t meetings = 0;  ///< of ranks, that had been until then
};

/// The SystemC kernel with one chip, or with all of a slice. A process can have one in its life (SystemC elaborates
/// once). Single-threaded: whoever calls run_slice() may look at the function between two calls, never from another
/// thread.
class Simulation {
 public:
  /// A slice aims at this much wall-clock time, so that sockets are looked at in between.
  static constexpr std::chrono::microseconds kSliceTarget{300};

  /// Elaborates and lets the firmware run until it sleeps. nullptr and a message in `error` on failure.
  static std::unique_ptr<Simulation> make(const ChipOptions& options, std::string& error);
  /// The chips of a slice, by number, or those of this rank; all have one preset's clock and as many functions.
  /// `network` outlives the simulation; options.slice is filled in here.
  static std::unique_ptr<Simulation> make_slice(std::vector<ChipOptions> options, SliceNetwork& network,
                                                std::string& error);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Of all chips that are simulated here: those of the first one, then those of the next one, ...
  [[nodiscard]] size_t functions() const;
  [[nodiscard]] Function& function(size_t index = 0);
  [[nodiscard]] size_t functions_of_a_chip() const { return functions() / chips(); }
  [[nodiscard]] size_t chips() const { return chips_.size(); }
  [[nodiscard]] Chip& chip(size_t index = 0) { return *chips_[index]; }
  /// The number of the first chip in its slice, and the slice's chips, those of other ranks too; 0 and 1 without one.
  [[nodiscard]] uint32_t first_chip() const;
  [[nodiscard]] uint32_t slice_chips() const;
  /// What the registers of any chip of the slice tell, one of another rank too. Empty without a slice.
  [[nodiscard]] SliceRegisters slice_registers(uint32_t chip) const;
  /// A spare takes the place of a cube of the slice: its links are up, the functions of its chips that are simulated
  /// here are reset as by an observer. Returns the numbers of its chips, or why there is no such cube. With several ranks
  /// all of them do it at one meeting.
  std::variant<std::vector<uint32_t>, std::string> replace_cube(uint32_t cube);
  [[nodiscard]] uint64_t cycle() const;

  /// A host holds time (SIM_HOLD), and no former client is being cleared away: slices must not run.
  [[nodiscard]] bool held();

  /// A host asks to hold time now. What an earlier command has left to do must not be held with it, or the next command
  /// would begin earlier or later by how far the wall clock has let that come: so the host's write waits until it
  /// may_hold(): nothing is pending any more, or time is held already, or WEFT_LIMIT_HOLD_DELAY_CYCLES have passed.
  [[nodiscard]] HoldRequest ask_to_hold() const { return {cycle(), meetings_}; }
  [[nodiscard]] bool may_hold(const HoldRequest& request);

  /// True if anything is going to happen by itself.
  [[nodiscard]] bool pending() const;

  /// The first alarm of all functions' armed waits; 0: none is armed.
  [[nodiscard]] uint64_t next_alarm();
  /// The functions whose hosts have armed a wait, in order.
  [[nodiscard]] std::vector<size_t> waiting();

  /// Lets time go on for a slice, or until nothing is pending, or to the armed wait's alarm, which then ends. At least
  /// one event happens if one is pending. Where slices begin and end changes no cycle of the device.
  void run_slice();

  // With several ranks, in place of run_slice(), held() and next_alarm()
  /// Joins the other ranks of a slice; blocks until all have come. Not owned.
  void join(RankLink& link);
  /// What this rank has to say of simulated time.
  [[nodiscard]] RankState rank_state();
  /// Tells the other ranks `own` and what has been given to the network since the last time, and hears theirs. Blocks
  /// until all ranks have come. Returns what they say together.
  [[nodiscard]] RankState meet(const RankState& own);
  /// After a meeting before which all ranks have looked at their sockets, and said `all`.
  void note_hosts_heard(const RankState& all);
  /// After a meeting whose state runs(): lets time go on for a slice, as all other ranks do, window by window. Time
  /// stands at the same moment in all ranks afterwards.
  void run_windows(RankState all);

  /// After a meeting whose state does not run: time stands at the same moment in all ranks, unless a host holds it while
  /// something is still to happen.
  void stand_still(const RankState& all);

  /// Processor times are equal in all ranks; each measures the wall-clock time itself.
  [[nodiscard]] const RankMeter& rank_meter() const { return meter_; }

  /// Where time stands, and how often it has gone on: as long as that is the same, nothing has happened in between.
  [[nodiscard]] Standstill standstill() const;
  [[nodiscard]] uint64_t runs() const { return runs_; }
  /// The same of a slice: where time stands, and how often it has come to a stand.
  [[nodiscard]] const Moment& moment() const { return moment_; }
  [[nodiscard]] uint64_t moments() const { return moments_; }

  /// For a replay. Alarms do not act: it is the caller that ends waits.
  /// run_to(): until time stands as it did in another run of the same chip and core. run_for(): about `cycles`, at
  /// least to the next event, and until the firmware sleeps.
  void run_to(const Standstill& stop);
  void run_for(uint64_t cycles);
  /// Of a slice: until time stands as it did in another run, whatever number of processes had simulated that.
  void run_to(const Moment& stop);

  /// Hears what passes between a chip that is simulated here and its hosts, from now on; nullptr: no listener. Not owned.
  /// Time of a slice whose chips are listened to stands still only when no core is ahead of it.
  void set_boundary(Boundary* boundary, size_t chip = 0);
  /// Of the chip of a function; it counts functions from the chip's first one, function_in_chip().
  [[nodiscard]] Boundary* boundary(size_t function) { return boundaries_[function / functions_of_a_chip()]; }
  [[nodiscard]] unsigned function_in_chip(size_t function) const {
    return static_cast<unsigned>(function % functions_of_a_chip());
  }

  /// Nothing is pending and no message of the function's host is left: its armed wait ends as idle_with_outstanding.
  void end_idle_wait(size_t function);
  /// The same for all functions.
  void end_idle_wait();

  /// The core's counters for somebody who looks on: no cycle of what runs changes by it. While the core works this is a
  /// slice, in which what is pending goes on; else a few cycles pass on an idle device. Returns their cycle.
  /// With several ranks time goes on between begin_look() and this.
  uint64_t observe_counters(size_t chip, std::array<uint64_t, WEFT_COUNTERS>& counters);
  /// With several ranks: latches the counters at a meeting that has said `all`. Those of an idle core, while others
  /// work or a host holds time, stay as they were at the last look: it would be ahead of what comes to it by cycles.
  void begin_look(size_t chip, const RankState& all);

  /// run_slice() until nothing is pending.
  void run_until_idle();

  /// The client of a function has gone: the function is as new when it has settled. Time goes on from where it is.
  void disconnect(size_t function = 0);

 private:
  /// What a function's host has of time.
  struct Claims {
    bool leaving = false, holds = false;
    uint64_t alarm = 0;
  };

  /// The host's messages are taken between slices, and a slice does not end while the firmware works (up to a bound):
  /// so what a launch costs does not depend on the moment at which the wall clock lets its doorbell in.
  void let_firmware_sleep();

  Simulation();
  static std::unique_ptr<Simulation> elaborate(const std::vector<ChipOptions>& options, SliceNetwork* network,
                                               std::string& error);
  [[nodiscard]] bool firmware_awake() const { return attention_.awake_managers != 0; }
  /// Asks those functions again that may answer otherwise than the last time.
  void update_claims();
  void adapt(std::chrono::nanoseconds taken);
  /// Time has come to a stand.
  void note_moment(Standstill::Kind kind);
  [[nodiscard]] bool is_listened_to() const;
  /// All ranks let time go on to the same moment, before which nothing is left to happen.
  void stand_at(uint64_t fs);
  void end_alarms();
  enum class Policy : uint8_t { kToLastEvent, kToEnd };
  /// sc_start() until `end_fs`; nothing if that is not ahead.
  void start_until(uint64_t end_fs, Policy policy);
  /// The wait of a function ends, if it has armed one.
  void end_wait(size_t function, weft_wait_status status);

  Attention attention_;
  std::vector<Claims> claims_;                   // by function
  size_t leaving_ = 0, holding_ = 0;             // functions that are, as of claims_
  std::set<std::pair<uint64_t, size_t>> armed_;  // alarms and their functions, as of claims_
  std::unique_ptr<CoreClock> clock_;
  std::vector<std::unique_ptr<Chip>> chips_;
  uint64_t slice_cycles_;
  uint64_t runs_ = 0;
  bool alarms_ = true;
  Moment moment_;
  uint64_t moments_ = 0;
  std::vector<Boundary*> boundaries_;  // by chip
  SliceNetwork* network_ = nullptr;    // of a slice
  RankLink* link_ = nullptr;
  std::vector<RankLink::Bytes> outbox_, inbox_;  // by rank
  RankMeter meter_;
  uint64_t meetings_ = 0;              // before which all ranks have looked at their sockets
  bool settled_ = false;               // as of the last of them nothing is pending, or time is held
  std::vector<uint64_t> look_cycles_;  // of the last counters that were latched, by chip
  bool look_idle_ = false;             // no rank had anything to do then
  uint64_t window_end_fs_ = 0;         // all that happens before has happened, in all ranks
};

}  // namespace weft::chip
