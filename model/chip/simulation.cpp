// sc_start() in slices; their length in cycles follows the wall clock, which changes nothing that the device sees.
#include "model/chip/simulation.hpp"

#include <algorithm>
#include <cstdlib>
#include <systemc>

#include "model/chip/chip.hpp"

// SystemC's library refers to it; this program has a main() of its own.
int sc_main(int, char**) { return 0; }

namespace weft::chip {
namespace {

constexpr uint64_t kFirstSliceCycles = 256;
constexpr uint64_t kMinSliceCycles = 64;
constexpr uint64_t kMaxSliceCycles = uint64_t{1} << 18;

}  // namespace

std::unique_ptr<Simulation> Simulation::make(const ChipOptions& options, std::string& error) {
  ::setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  sc_core::sc_set_time_resolution(1, sc_core::SC_FS);
  auto chip = Chip::make("chip", options, error);
  if (chip == nullptr) return nullptr;
  std::unique_ptr<Simulation> simulation(new Simulation(std::move(chip)));
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  simulation->run_until_idle();
  return simulation;
}

Simulation::Simulation(std::unique_ptr<Chip> chip) : chip_(std::move(chip)), slice_cycles_(kFirstSliceCycles) {}
Simulation::~Simulation() = default;

Function& Simulation::function() { return chip_->function(); }
uint64_t Simulation::cycle() const { return chip_->cycle(); }
bool Simulation::pending() const { return sc_core::sc_pending_activity(); }

void Simulation::run_slice() {
  const TimeBase& time = chip_->time();
  const uint64_t now_fs = sc_core::sc_time_stamp().value();
  const uint64_t now = time.cycle_at(now_fs);
  uint64_t end = now + slice_cycles_;
  if (!sc_core::sc_pending_activity_at_current_time()) {
    end = std::max(end, time.cycle_at(now_fs + sc_core::sc_time_to_pending_activity().value()));
  }
  const uint64_t alarm = chip_->function().registers().alarm_cycle();
  const bool armed = alarm != 0;
  if (armed) end = std::min(end, std::max(alarm, now + 1));
  end = std::min(end, time.last_cycle());
  const auto begin = std::chrono::steady_clock::now();
  chip_->core().begin_slice(end, begin + kSliceTarget);
  sc_core::sc_start(sc_core::sc_time::from_value(time.edge_fs(end) - now_fs), sc_core::SC_EXIT_ON_STARVATION);
  adapt(std::chrono::steady_clock::now() - begin);
  if (armed && cycle() >= alarm) chip_->function().registers().end_wait(WEFT_WAIT_STATUS_DEADLINE);
}

void Simulation::adapt(std::chrono::nanoseconds taken) {
  if (taken > 2 * kSliceTarget) slice_cycles_ = std::max(slice_cycles_ / 2, kMinSliceCycles);
  if (taken < kSliceTarget / 2) slice_cycles_ = std::min(slice_cycles_ * 2, kMaxSliceCycles);
}

void Simulation::end_idle_wait() { chip_->function().registers().end_wait(WEFT_WAIT_STATUS_IDLE_WITH_OUTSTANDING); }

void Simulation::run_until_idle() {
  while (pending()) run_slice();
}

void Simulation::disconnect() { chip_->disconnect(); }

}  // namespace weft::chip
