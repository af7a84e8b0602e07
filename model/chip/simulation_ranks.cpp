// Simulated time of a slice in several processes: windows of a hop's time, and what ranks give each other after each.
#include <algorithm>
#include <ctime>
#include <span>

#include "model/chip/chip.hpp"
#include "model/chip/core_clock.hpp"
#include "model/chip/core_host.hpp"
#include "model/chip/simulation.hpp"
#include "model/chip/slice_network.hpp"

namespace weft::chip {
namespace {

constexpr uint64_t kMaxAwakeCycles = 8192;  // that time goes on for the sake of firmware that works

/// That this thread has used.
uint64_t processor_ns() {
  constexpr uint64_t kSecond = 1'000'000'000;
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t now_fs() { return sc_core::sc_time_stamp().value(); }

}  // namespace

RankState Simulation::rank_state() {
  update_claims();
  RankState state;
  const TimeBase& time = chips_.front()->time();
  if (sc_core::sc_pending_activity_at_current_time())
    state.next_fs = now_fs();
  else if (pending())
    state.next_fs = now_fs() + sc_core::sc_time_to_pending_activity().value();
  state.time_fs = std::max({now_fs(), time.edge_fs(clock_->front_cycle()), network_->network().now()});
  state.alarm = next_alarm();
  state.awake = firmware_awake();
  state.holds = holding_ != 0;
  state.leaving = leaving_ != 0;
  return state;
}

RankState Simulation::meet(const RankState& own) {
  RankState all = own;
  all.next_fs = std::min({all.next_fs, network_->next_event_fs(), network_->first_packed_fs()});
  outbox_.resize(link_->ranks());
  inbox_.resize(link_->ranks());
  const RankState said = all;
  for (unsigned rank = 0; rank < link_->ranks(); rank++) {
    outbox_[rank].clear();
    if (rank == link_->rank()) continue;
    WireWriter(outbox_[rank]).put(said);
    network_->pack(rank, outbox_[rank]);
  }
  link_->exchange(outbox_, inbox_);
  for (unsigned rank = 0; rank < link_->ranks(); rank++) {
    if (rank == link_->rank()) continue;
    const std::span<const std::byte> bytes(inbox_[rank]);
    all.join(WireReader(bytes.first(sizeof(RankState))).get<RankState>());
    network_->unpack(bytes.subspan(sizeof(RankState)));
  }
  all.next_fs = std::min(all.next_fs, network_->exchanged(window_end_fs_));
  all.time_fs = std::max(all.time_fs, network_->network().now());
  return all;
}

void Simulation::join(RankLink& link) {
  link_ = &link;
  stand_at(meet(rank_state()).time_fs);  // booting has taken as long as it takes the slowest of them
  note_moment(Standstill::Kind::kAfter);
}

void Simulation::note_hosts_heard(const RankState& all) {
  meetings_++;
  settled_ = !all.runs();
}

void Simulation::run_windows(RankState all) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const TimeBase& time = chips_.front()->time();
  uint64_t enough_fs = UINT64_MAX;
  bool alarmed = false;
  while (all.runs() && !alarmed) {
    if (all.enough && enough_fs == UINT64_MAX) enough_fs = window_end_fs_ + time.edge_fs(kMaxAwakeCycles);
    if (all.enough && (!all.awake || window_end_fs_ >= enough_fs)) break;
    const uint64_t work_begin = processor_ns();
    const uint64_t alarm_fs = all.alarm != 0 ? time.edge_fs(all.alarm) : UINT64_MAX;
    const uint64_t start_fs = std::max(all.next_fs, window_end_fs_);
    alarmed = start_fs >= alarm_fs;
    if (alarmed) {
      window_end_fs_ = std::max(alarm_fs, window_end_fs_);
    } else {
      const uint64_t limit_fs = network_->begin_window(start_fs);
      window_end_fs_ = std::min({start_fs + network_->lookahead_fs(), limit_fs, alarm_fs});
    }
    if (network_->next_event_fs() != UINT64_MAX) clock_->kick();  // more may be on its way than the clock knows
    clock_->begin_slice(time.cycle_at(window_end_fs_), Clock::time_point::max());
    if (window_end_fs_ > now_fs()) {
      runs_++;
      sc_core::sc_start(sc_core::sc_time::from_value(window_end_fs_ - now_fs()),
                        alarmed ? sc_core::SC_RUN_TO_TIME : sc_core::SC_EXIT_ON_STARVATION);
    }
    if (alarmed) {
      note_moment(Standstill::Kind::kBefore);
      end_alarms();
    }
    RankState own = rank_state();
    own.work_ns = own.longest_ns = processor_ns() - work_begin;
    own.enough = all.enough || (link_->rank() == 0 && Clock::now() - begin > kSliceTarget);
    all = meet(own);
    meter_.windows++;
    meter_.work_ns += all.work_ns;
    meter_.longest_ns += all.longest_ns;
  }
  meter_.wall_ns += static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - begin).count());
  // Nothing is left to happen: time stands where the last thing did. Else at the end of the window: all ranks have come
  // so far, and what hosts do now acts later.
  stand_at(all.next_fs == UINT64_MAX ? all.time_fs : window_end_fs_);
  note_moment(all.next_fs == UINT64_MAX ? Standstill::Kind::kAfter : Standstill::Kind::kBefore);
}

void Simulation::stand_still(const RankState& all) {
  if (all.next_fs != UINT64_MAX) return;
  stand_at(all.time_fs);
  if (all.time_fs > moment_.fs) note_moment(Standstill::Kind::kAfter);
}

void Simulation::stand_at(uint64_t fs) {
  if (fs > now_fs()) sc_core::sc_start(sc_core::sc_time::from_value(fs - now_fs()), sc_core::SC_RUN_TO_TIME);
  window_end_fs_ = fs;
}

void Simulation::begin_look(size_t index, const RankState& all) {
  CoreHost& core = chip(index).core();
  look_idle_ = !all.runs() && !all.held();
  look_cycles_.resize(chips());
  const bool latches = all.runs() && core.core().busy();
  if (latches || look_idle_) look_cycles_[index] = core.cycle();
  if (latches) core.take_snapshot();
}

void Simulation::end_alarms() {
  for (const size_t i : waiting())
    if (cycle() >= function(i).registers().alarm_cycle()) end_wait(i, WEFT_WAIT_STATUS_DEADLINE);
}

}  // namespace weft::chip
