// sc_start() in slices; their length in cycles follows the wall clock, which changes nothing that the device sees.
#include "model/chip/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <systemc>
#include <variant>

#include "model/chip/chip.hpp"
#include "model/chip/core_clock.hpp"
#include "model/chip/slice_network.hpp"

// SystemC's library refers to it; this program has a main() of its own.
int sc_main(int, char**) { return 0; }

namespace weft::chip {
namespace {

constexpr uint64_t kFirstSliceCycles = 256;
constexpr uint64_t kMinSliceCycles = 64;
constexpr uint64_t kMaxSliceCycles = uint64_t{1} << 18;
constexpr uint64_t kAwakeStepCycles = 64;
constexpr uint64_t kMaxAwakeCycles = 8192;

/// Other ranks hear of faults of links.
void tell_of_faults(Chip& chip, uint32_t number, SliceNetwork& network) {
  if (network.share().ranks == 1) return;
  for (unsigned i = 0; i < chip.functions(); i++)
    chip.function(i).faults().tell(
        [&network, number, i](const InjectedFault* fault) { network.note_fault(number, i, fault); });
}

}  // namespace

std::unique_ptr<Simulation> Simulation::make(const ChipOptions& options, std::string& error) {
  return elaborate({options}, nullptr, error);
}

std::unique_ptr<Simulation> Simulation::make_slice(std::vector<ChipOptions> options, SliceNetwork& network,
                                                   std::string& error) {
  for (uint32_t i = 0; i < options.size(); i++) options[i].slice = network.registers(network.first_chip() + i);
  return elaborate(options, &network, error);
}

std::unique_ptr<Simulation> Simulation::elaborate(const std::vector<ChipOptions>& options, SliceNetwork* network,
                                                  std::string& error) {
  ::setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  sc_core::sc_report_handler::set_actions(sc_core::SC_ID_NO_SC_START_ACTIVITY_, sc_core::SC_DO_NOTHING);
  sc_core::sc_set_time_resolution(1, sc_core::SC_FS);
  std::unique_ptr<Simulation> simulation(new Simulation);
  simulation->clock_ = std::make_unique<CoreClock>("clock", TimeBase(options.front().preset->clock_hz), network);
  simulation->network_ = network;
  simulation->claims_.resize(options.size() * options.front().functions);
  simulation->attention_.watch(simulation->claims_.size());
  for (uint32_t i = 0; i < options.size(); i++) {
    const uint32_t number = network == nullptr ? 0 : network->first_chip() + i;
    const std::string name = network == nullptr ? "chip" : "chip" + std::to_string(number);
    auto chip = Chip::make(name.c_str(), options[i], *simulation->clock_, error);
    if (chip == nullptr) return nullptr;
    if (network != nullptr)
      network->attach(number, chip->core(), [c = chip.get()](unsigned port) { return c->link_trouble(port); });
    chip->tell(simulation->attention_, i * chip->functions());
    if (network != nullptr) tell_of_faults(*chip, number, *network);
    simulation->chips_.push_back(std::move(chip));
  }
  simulation->boundaries_.resize(options.size());
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  simulation->run_until_idle();
  return simulation;
}

Simulation::Simulation() : slice_cycles_(kFirstSliceCycles) {}
Simulation::~Simulation() = default;

size_t Simulation::functions() const { return chips_.size() * chips_.front()->functions(); }
Function& Simulation::function(size_t index) {
  const size_t of_chip = chips_.front()->functions();
  return chips_[index / of_chip]->function(index % of_chip);
}
uint32_t Simulation::first_chip() const { return network_ == nullptr ? 0 : network_->first_chip(); }
uint32_t Simulation::slice_chips() const { return network_ == nullptr ? 1 : network_->slice().chips(); }
SliceRegisters Simulation::slice_registers(uint32_t chip) const {
  return network_ == nullptr ? SliceRegisters{} : network_->registers(chip);
}
std::variant<std::vector<uint32_t>, std::string> Simulation::replace_cube(uint32_t cube) {
  const uint32_t cubes = network_ == nullptr ? 0 : network_->slice().cubes();
  if (cubes == 0) return "there is no slice of cubes of 4x4x4 chips here, as v4 and v5p have them";
  if (cube >= cubes)
    return fmt::format("slice {} has cubes 0 to {}: there is no cube {}", network_->slice().name(), cubes - 1, cube);
  if (is_listened_to())
    return "the slice is being recorded, and a recording knows of no spare that takes a cube's place";
  const std::vector<uint32_t> spare = network_->slice().chips_of_cube(cube);
  network_->replace_chips(spare);
  for (const uint32_t number : spare) {
    if (number < first_chip() || number - first_chip() >= chips()) continue;
    for (size_t i = 0; i < functions_of_a_chip(); i++)
      function((number - first_chip()) * functions_of_a_chip() + i).reset_by_observer();
  }
  return spare;
}
uint64_t Simulation::cycle() const {
  return std::max(chips_.front()->time().cycle_at(sc_core::sc_time_stamp().value()), clock_->front_cycle());
}
void Simulation::update_claims() {
  attention_.take_claims([this](size_t index) {
    Function& function = this->function(index);
    const Claims now{function.leaving(), function.registers().holds_time(), function.registers().alarm_cycle()};
    Claims& last = claims_[index];
    leaving_ += size_t{now.leaving} - size_t{last.leaving};
    holding_ += size_t{now.holds} - size_t{last.holds};
    if (last.alarm != 0) armed_.erase({last.alarm, index});
    if (now.alarm != 0) armed_.emplace(now.alarm, index);
    last = now;
  });
}
bool Simulation::held() {
  update_claims();
  return leaving_ == 0 && holding_ != 0;  // what a client left is cleared away in simulated time
}
bool Simulation::may_hold(const HoldRequest& request) {
  if (cycle() >= request.cycle + WEFT_LIMIT_HOLD_DELAY_CYCLES) return true;
  if (link_ == nullptr) return !pending() || held();
  // By the first meeting after it other ranks may not have looked at what the host has said to them before.
  return meetings_ >= request.meetings + 2 && settled_;
}
bool Simulation::pending() const { return sc_core::sc_pending_activity(); }

uint64_t Simulation::next_alarm() {
  update_claims();
  return armed_.empty() ? 0 : armed_.begin()->first;
}

std::vector<size_t> Simulation::waiting() {
  update_claims();
  std::vector<size_t> functions;
  for (const auto& [alarm, function] : armed_) functions.push_back(function);
  std::ranges::sort(functions);
  return functions;
}

void Simulation::set_boundary(Boundary* boundary, size_t chip) {
  boundaries_[chip] = boundary;
  chips_[chip]->set_boundary(boundary);
}

bool Simulation::is_listened_to() const {
  return std::ranges::any_of(boundaries_, [](const Boundary* boundary) { return boundary != nullptr; });
}

void Simulation::note_moment(Standstill::Kind kind) {
  const uint64_t now_fs = sc_core::sc_time_stamp().value();
  moment_ = {now_fs, moments_ != 0 && moment_.fs == now_fs ? moment_.stop + 1 : 0, kind};
  moments_++;
}

Standstill Simulation::standstill() const {
  const uint64_t cycle = chips_.front()->time().cycle_at(sc_core::sc_time_stamp().value());
  if (clock_->paused()) return {cycle, Standstill::Kind::kPaused};
  const bool more = sc_core::sc_pending_activity_at_current_time();
  return {cycle, more ? Standstill::Kind::kBefore : Standstill::Kind::kAfter};
}

void Simulation::start_until(uint64_t end_fs, Policy policy) {
  const uint64_t now_fs = sc_core::sc_time_stamp().value();
  if (end_fs <= now_fs) return;
  runs_++;
  sc_core::sc_start(sc_core::sc_time::from_value(end_fs - now_fs),
                    policy == Policy::kToEnd ? sc_core::SC_RUN_TO_TIME : sc_core::SC_EXIT_ON_STARVATION);
  if (clock_->paused() || sc_core::sc_pending_activity_at_current_time()) return note_moment(Standstill::Kind::kBefore);
  // A core that has nothing to tell for long stands where its stride ended, which is the wall clock's choice: whoever
  // looks now sees that cycle, and what comes now comes in it.
  const uint64_t front_fs = chips_.front()->time().edge_fs(clock_->front_cycle());
  const uint64_t last_fs = sc_core::sc_time_stamp().value();
  if (front_fs > last_fs) sc_core::sc_start(sc_core::sc_time::from_value(front_fs - last_fs), sc_core::SC_RUN_TO_TIME);
  note_moment(standstill().kind);
}

void Simulation::run_slice() {
  const TimeBase& time = chips_.front()->time();
  const uint64_t now_fs = sc_core::sc_time_stamp().value();
  const uint64_t now = time.cycle_at(now_fs);
  uint64_t end = now + slice_cycles_;
  if (!sc_core::sc_pending_activity_at_current_time()) {
    end = std::max(end, time.cycle_at(now_fs + sc_core::sc_time_to_pending_activity().value()));
  }
  const uint64_t alarm = next_alarm();
  const bool armed = alarm != 0;
  if (armed) end = std::min(end, std::max(alarm, now + 1));
  end = std::min(end, time.last_cycle());
  const auto begin = std::chrono::steady_clock::now();
  // Where a slice is cut at the deadline some cores are ahead of others: what a host does then is repeated by no replay.
  const bool whole = network_ != nullptr && is_listened_to();
  clock_->begin_slice(end, whole ? std::chrono::steady_clock::time_point::max() : begin + kSliceTarget);
  start_until(time.edge_fs(end), Policy::kToLastEvent);
  adapt(std::chrono::steady_clock::now() - begin);
  const bool gap = sc_core::sc_pending_activity_at_future_time() && !sc_core::sc_pending_activity_at_current_time();
  if (armed && end == alarm && gap && cycle() < end) {  // SystemC stops at the last event before the end
    start_until(time.edge_fs(end), Policy::kToEnd);
  }
  if (armed && cycle() >= alarm) end_alarms();
  let_firmware_sleep();
}

void Simulation::run_to(const Standstill& stop) {
  const uint64_t cycle = std::min(stop.cycle, chips_.front()->time().last_cycle());
  const uint64_t edge_fs = chips_.front()->time().edge_fs(cycle);
  clock_->begin_slice(cycle, std::chrono::steady_clock::time_point::max(), cycle);
  start_until(edge_fs, Policy::kToLastEvent);
  if (stop.kind == Standstill::Kind::kBefore) return start_until(edge_fs, Policy::kToEnd);
  while (sc_core::sc_pending_activity_at_current_time() && !clock_->paused()) {
    runs_++;
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  start_until(edge_fs, Policy::kToEnd);  // an alarm's cycle
}

void Simulation::run_to(const Moment& stop) {
  clock_->begin_slice(chips_.front()->time().cycle_at(stop.fs), std::chrono::steady_clock::time_point::max());
  start_until(stop.fs, Policy::kToEnd);
  while (stop.kind == Standstill::Kind::kAfter && sc_core::sc_pending_activity_at_current_time()) {
    runs_++;
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
}

void Simulation::run_for(uint64_t cycles) {
  const TimeBase& time = chips_.front()->time();
  const uint64_t now_fs = sc_core::sc_time_stamp().value();
  uint64_t end = cycle() + cycles;
  if (!sc_core::sc_pending_activity_at_current_time() && pending())
    end = std::max(end, time.cycle_at(now_fs + sc_core::sc_time_to_pending_activity().value()) + 1);
  end = std::min(end, time.last_cycle());
  clock_->begin_slice(end, std::chrono::steady_clock::time_point::max());
  start_until(time.edge_fs(end), Policy::kToLastEvent);
  alarms_ = false;
  let_firmware_sleep();
  alarms_ = true;
}

void Simulation::let_firmware_sleep() {
  const TimeBase& time = chips_.front()->time();
  uint64_t limit = std::min(cycle() + kMaxAwakeCycles, time.last_cycle());
  const uint64_t alarm = alarms_ ? next_alarm() : 0;
  if (alarm != 0) limit = std::min(limit, alarm);  // the next slice ends in its very cycle
  while (firmware_awake() && pending() && cycle() < limit) {
    const uint64_t now_fs = sc_core::sc_time_stamp().value();
    uint64_t end = cycle() + kAwakeStepCycles;
    if (!sc_core::sc_pending_activity_at_current_time())  // at least one event happens, or nothing would ever end
      end = std::max(end, time.cycle_at(now_fs + sc_core::sc_time_to_pending_activity().value()) + 1);
    if (end >= limit) return;
    clock_->begin_slice(end, std::chrono::steady_clock::time_point::max());
    start_until(time.edge_fs(end), Policy::kToLastEvent);
  }
}

void Simulation::adapt(std::chrono::nanoseconds taken) {
  if (taken > 2 * kSliceTarget) slice_cycles_ = std::max(slice_cycles_ / 2, kMinSliceCycles);
  if (taken < kSliceTarget / 2) slice_cycles_ = std::min(slice_cycles_ * 2, kMaxSliceCycles);
}

void Simulation::end_wait(size_t function_index, weft_wait_status status) {
  Registers& registers = function(function_index).registers();
  if (registers.alarm_cycle() == 0) return;
  if (Boundary* hears = boundary(function_index)) hears->wait_ends(function_in_chip(function_index), status);
  registers.end_wait(status);
}

void Simulation::end_idle_wait(size_t function_index) {
  end_wait(function_index, WEFT_WAIT_STATUS_IDLE_WITH_OUTSTANDING);
}
void Simulation::end_idle_wait() {
  for (const size_t function : waiting()) end_idle_wait(function);
}

uint64_t Simulation::observe_counters(size_t index, std::array<uint64_t, WEFT_COUNTERS>& counters) {
  CoreHost& core = chip(index).core();
  if (link_ != nullptr) {
    look_idle_ ? core.snapshot(counters) : core.read_snapshot(counters);
    return look_cycles_[index];
  }
  const uint64_t cycle = core.cycle();
  if (held()) {  // no cycle passes: as of the last look
    core.read_snapshot(counters);
    return cycle;
  }
  if (pending()) {
    core.take_snapshot();
    run_slice();
  }
  if (core.cycle() < cycle + CoreHost::kSnapshotCycles) {  // nothing was pending that lets time go on
    core.snapshot(counters);
  } else {
    core.read_snapshot(counters);
  }
  return cycle;
}

void Simulation::run_until_idle() {
  while (pending()) run_slice();
}

void Simulation::disconnect(size_t function) { this->function(function).disconnect(); }

}  // namespace weft::chip
