// The firmware's thread, and what its calls cost.
#include "model/chip/manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/crc32c.hpp"
#include "firmware/admin/state_dump.hpp"
#include "firmware/main_loop.hpp"
#include "firmware/state.hpp"
#include "model/chip/image_processor.hpp"
#include "model/chip/trace.hpp"
#include "weft/spec/names.hpp"

namespace weft::chip {
namespace {

constexpr uint64_t kDivider = WEFT_MANAGER_CLOCK_DIVIDER;
constexpr uint64_t kDeafCycles = 10'000;   // between two heartbeats of deaf firmware
constexpr uint64_t kMaxDebtCycles = 4096;  // so that a loop of pure costs lets time pass
constexpr uint64_t kCrcBlockBytes = 64;
constexpr size_t kOrderedWriteBytes = 32;
constexpr size_t kStackBytes = 256 * 1024;

}  // namespace

Manager::Manager(sc_core::sc_module_name name, const TimeBase& time, const spec::Chip& chip, CoreHost& core,
                 ChipBus& bus, CopyEngine& copy, std::span<const std::unique_ptr<Function>> functions)
    : sc_module(name),
      time_(time),
      chip_(chip),
      core_(core),
      bus_(bus),
      copy_(copy),
      functions_(functions),
      sram_(std::make_unique<fw::State>()),
      faults_(functions, core) {
  SC_HAS_PROCESS(Manager);
  SC_THREAD(thread);
  set_stack_size(kStackBytes);
  SC_METHOD(answer_overdue);
  dont_initialize();
  sensitive << overdue_;
}

Manager::~Manager() = default;

bool Manager::load(const fw::Image& image, const MakeProcessor& make_processor, std::string& error) {
  processor_ = ImageProcessor::make(*this, image, make_processor, error);
  sram_.reset();  // it has its own
  return processor_ != nullptr;
}

bool Manager::write_bus_log(const std::string& path, std::string& error) {
  if (processor_ == nullptr) {
    error = path + ": the log of a processor needs the firmware's image to run on one";
    return false;
  }
  auto log = BusLog::make(path, error);
  if (log == nullptr) return false;
  processor_->set_log(std::move(log));
  return true;
}

const fw::State& Manager::sram() const { return processor_ != nullptr ? processor_->state() : *sram_; }

void Manager::fall_asleep() {
  if (!awake_) return;
  awake_cycles_ += cycle() - awake_since_;
  awake_ = false;
  if (attention_ != nullptr) attention_->awake_managers--;
}

void Manager::awaken() {
  awake_ = true;
  awake_since_ = cycle();
  if (attention_ != nullptr) attention_->awake_managers++;
}

void Manager::tell(Attention& attention) {
  attention_ = &attention;
  if (awake_) attention_->awake_managers++;
}

void Manager::thread() {
  for (;;) {
    reset_pending_ = event_pending_ = interrupts_cleared_ = false;
    debt_cycles_ = 0;
    fall_asleep();
    halted_ = failure_reported_ = false;
    traps_ = 0;
    ailment_ = Ailment::kNone;
    waypoint_ = WEFT_WAYPOINT_RESET;
    watchdog_.restart(cycle());
    faults_.restart();
    awaken();
    failed_ = false;
    for (const auto& function : functions_)  // the firmware may have heard of it, and not come to its end
      if (function->leaving()) departed_ |= 1u << function->index();
    requests_ = departed_;  // resets have happened with the restart
    overdue_.cancel();
    if (requests_ != 0) expect_answer();
    for (const auto& function : functions_) {
      const bool clearing = functions() > 1 && (departed_ >> function->index() & 1) != 0;
      function->registers().firmware_write(WEFT_REG_DEVICE_STATE,
                                           clearing ? WEFT_DEVICE_STATE_RESETTING : WEFT_DEVICE_STATE_PRESENT);
    }
    bus_.set_core_function(0);
    try {
      set_running_manager(this);
      if (processor_ != nullptr) processor_->run();
      std::memset(sram_.get(), 0, sizeof *sram_);
      fw::run(*sram_);
    } catch (const DeviceReset&) {
    }
    set_running_manager(nullptr);
    if (!reset_pending_) wait(restart_);
  }
}

void Manager::wake() {
  event_pending_ = true;
  wake_.notify(sc_core::SC_ZERO_TIME);
}

void Manager::request(unsigned function, bool departed) {
  requests_ |= 1u << function;
  if (departed) departed_ |= 1u << function;
  expect_answer();
  wake();
}

void Manager::expect_answer() {  // of several events at one sc_event the earliest counts
  if (!reset_device_) return;
  const uint64_t limit = cycle() + firmware_watchdog_cycles();
  overdue_.notify(sc_core::sc_time::from_value(time_.edge_fs(limit)) - sc_core::sc_time_stamp());
}

void Manager::answer_overdue() {
  if (requests_ == 0) return;
  if (!failure_reported_) report_failure("takes no request of a function: the device is reset");
  reset_device_();
}

void Manager::reset() {
  reset_pending_ = true;
  wake_.notify(sc_core::SC_ZERO_TIME);
  restart_.notify(sc_core::SC_ZERO_TIME);
}

template <typename... Arguments>
void Manager::suspend(const Arguments&... arguments) {
  if (reset_pending_) throw DeviceReset{};
  set_running_manager(nullptr);
  wait(arguments...);
  set_running_manager(this);
  if (reset_pending_) throw DeviceReset{};
  if (awake_ && watchdog_.expired(cycle(), firmware_watchdog_cycles())) halt();
}

uint64_t Manager::firmware_watchdog_cycles() const {
  uint64_t cycles = 0;  // the most patient host has its way: one cannot stop the firmware for the others
  for (const auto& function : functions_) cycles = std::max(cycles, function->registers().firmware_watchdog_cycles());
  return cycles;
}

void Manager::report_failure(const std::string& what) {
  failure_reported_ = true;
  if (processor_ == nullptr || !report_failure_) return;
  const std::string_view name = spec::waypoint_name(waypoint_);
  report_failure_(fmt::format("{} in cycle {}, waypoint {}\n  at {}{}", what, now(),
                              name.empty() ? std::to_string(waypoint_) : std::string(name),
                              image_backtrace(processor_->image(), processor_->processor()),
                              register_lines(processor_->processor())));
}

void Manager::halt() {
  if (!failure_reported_) report_failure("halted: it stays awake without a heartbeat");
  halted_ = failed_ = true;
  fall_asleep();
  set_running_manager(nullptr);
  copy_.reset();
  core_.write_csr(WEFT_CSR_CONTROL, WEFT_CSR_CONTROL_CORE_RESET);
  const uint64_t stopped = cycle() + WEFT_CORE_CORE_RESET_CYCLES;  // before anybody is told
  wait(sc_core::sc_time::from_value(time_.edge_fs(stopped)) - sc_core::sc_time_stamp());
  for (const auto& function : functions_) {
    Registers& registers = function->registers();
    registers.note_error(WEFT_ERROR_DEVICE_HUNG);
    registers.firmware_write(WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_FAILED);
    registers.raise(0);
  }
  while (!reset_pending_) wait(restart_);
  set_running_manager(this);
  throw DeviceReset{};
}

uint32_t Manager::status() {
  const bool faulted = (core_.peek_csr(WEFT_CSR_STATUS) & WEFT_CSR_STATUS_FAULTED) != 0;
  return waypoint_ | (awake_ || halted_ ? 0 : WEFT_REG_FIRMWARE_STATUS_ASLEEP) |
         (core_.core().busy() ? WEFT_REG_FIRMWARE_STATUS_CORE_BUSY : 0) |
         (faulted ? WEFT_REG_FIRMWARE_STATUS_CORE_FAULTED : 0) |
         (copy_.busy() ? WEFT_REG_FIRMWARE_STATUS_COPY_BUSY : 0) | (halted_ ? WEFT_REG_FIRMWARE_STATUS_HALTED : 0);
}

std::vector<std::byte> Manager::state_page(uint32_t function) {
  if (function >= functions()) return {};
  std::vector<std::byte> page(WEFT_LIMIT_STATE_PAGE_BYTES);
  const Observation observation{page};
  const auto copy = std::make_unique<fw::State>(sram());  // the code leaves its waypoint and its scratch there
  weft_submission_entry entry{};
  entry.arg0 = kPageIova;
  entry.size = page.size();
  const uint32_t waypoint = waypoint_;
  observation_ = &observation;
  set_running_manager(this);
  const fw::Status status = fw::dump_state(*copy, copy->functions[function], entry);
  set_running_manager(nullptr);
  observation_ = nullptr;
  waypoint_ = waypoint;
  if (!status.ok()) page.clear();
  return page;
}

void Manager::wait_until(uint64_t target) {
  if (target > cycle()) suspend(sc_core::sc_time::from_value(time_.edge_fs(target)) - sc_core::sc_time_stamp());
}

void Manager::spend(uint64_t manager_cycles) {
  if (observation_ != nullptr) return;
  debt_cycles_ += manager_cycles * kDivider;
  const uint64_t target = cycle() + debt_cycles_;
  debt_cycles_ = 0;
  wait_until(target);
  while (ailment_ == Ailment::kLoops) wait_until(cycle() + kMaxDebtCycles);  // until the watchdog acts
}

void Manager::charge(uint32_t manager_cycles) {
  if (observation_ != nullptr) return;
  debt_cycles_ += manager_cycles * kDivider;
  if (debt_cycles_ > kMaxDebtCycles) spend(0);
}

uint64_t Manager::csr_read(uint32_t offset) {
  spend(WEFT_MANAGER_MMIO_READ);
  if (ailment_ == Ailment::kDeaf) {
    if (offset == WEFT_CSR_INTERRUPT) return 0;
    if (offset == WEFT_CSR_STATUS) return WEFT_CSR_STATUS_BUSY;
  }
  if (offset == WEFT_CSR_STATUS && faults_.core_stuck()) return WEFT_CSR_STATUS_BUSY;
  return observation_ != nullptr ? core_.peek_csr(offset) : core_.read_csr(offset);
}

void Manager::csr_write(uint32_t offset, uint64_t value) {
  spend(WEFT_MANAGER_MMIO_WRITE);
  if (offset == WEFT_CSR_INTERRUPT) interrupts_cleared_ = true;
  if (offset == WEFT_CSR_CONTROL && (value & WEFT_CSR_CONTROL_CORE_RESET) != 0) faults_.core_resets();
  if (offset - WEFT_CSR_PREFETCH_COUNT < WEFT_CORE_QUEUES * WEFT_CSR_PREFETCH_COUNT_STRIDE) faults_.core_fed();
  core_.write_csr(offset, value);
}

bool Manager::copy_abort() {
  spend(WEFT_MANAGER_MMIO_WRITE);
  copy_.reset();
  faults_.copy_aborted();
  return true;
}

bool Manager::push_command(uint32_t queue, const uint8_t* command) {
  debt_cycles_ += WEFT_MANAGER_COMMAND_PUSH_CORE_CYCLES;
  spend(0);
  faults_.core_fed();
  spec::Command copy;
  std::memcpy(copy.bytes.data(), command, copy.bytes.size());
  return core_.push(queue, copy);
}

void Manager::function_write(uint32_t function, uint32_t offset, uint64_t value) {
  spend(WEFT_MANAGER_MMIO_WRITE);
  for (uint32_t f = 0; f < functions(); f++) {
    if (f != function && function != fw::hal::kAllFunctions) continue;
    // The end of an earlier reset: of what was asked since, a departure say, the firmware has yet to hear.
    if (offset == WEFT_REG_DEVICE_STATE && value == WEFT_DEVICE_STATE_PRESENT && (requests_ >> f & 1) != 0) continue;
    functions_[f]->registers().firmware_write(offset, value);
  }
  if (function == fw::hal::kAllFunctions && offset == WEFT_REG_DEVICE_STATE && value == WEFT_DEVICE_STATE_FAILED) {
    failed_ = true;
    if (!failure_reported_) report_failure("panicked");
  }
  if (offset == WEFT_REG_HEARTBEAT) watchdog_.beat(cycle());
  if (offset == WEFT_REG_DEVICE_STATE && value == WEFT_DEVICE_STATE_BOOTING) watchdog_.beat(cycle());
  if (offset == WEFT_REG_BOOT_STAGE && faults_.boot_stops(function, static_cast<uint32_t>(value))) {
    fall_asleep();
    for (;;) suspend(wake_);  // until a device reset unwinds it
  }
}

uint64_t Manager::function_read(uint32_t function, uint32_t offset) {
  spend(WEFT_MANAGER_MMIO_WRITE);
  return functions_[function]->registers().firmware_read(offset);
}

void Manager::core_function(uint32_t function) {
  spend(WEFT_MANAGER_MMIO_WRITE);
  bus_.set_core_function(function);
}

bool Manager::dma_read(fw::Location from, std::span<std::byte> sram) {
  if (observation_ != nullptr) return from.space == WEFT_ADDRESS_SPACE_HBM && bus_.hbm().read(from.address, sram);
  spend(WEFT_MANAGER_DMA_KICK);
  wait_until(bus_.schedule_read(from.space, sram.size(), cycle()));
  return faults_.read(from, sram, bus_.read(from, sram, Accessor::kFirmware));
}

bool Manager::dma_write(fw::Location to, std::span<const std::byte> sram) {
  if (observation_ != nullptr) {
    const std::span<std::byte> page = observation_->page;
    const uint64_t at = to.address - kPageIova;
    if (at > page.size() || sram.size() > page.size() - at) return false;
    std::memcpy(&page[at], sram.data(), sram.size());
    return true;
  }
  spend(WEFT_MANAGER_DMA_KICK);
  wait_until(bus_.schedule_write(to.space, sram.size(), cycle()));
  if (faults_.write_fails(to)) return false;
  const auto order = sram.size() <= kOrderedWriteBytes ? ChipBus::Order::kLastWordAfter : ChipBus::Order::kAny;
  return bus_.write(to, sram, Accessor::kFirmware, order);
}

bool Manager::completion_write(uint32_t function, uint32_t queue, uint64_t iova, const weft_completion_entry& entry) {
  constexpr size_t kFirstBytes = offsetof(weft_completion_entry, command_id);  // the last 8 bytes hold the phase
  spend(WEFT_MANAGER_DMA_KICK);
  wait_until(bus_.schedule_write(WEFT_ADDRESS_SPACE_HOST, sizeof entry, cycle()));
  weft_completion_entry out = entry;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&out, 1));
  const auto write = [&](uint64_t address, std::span<const std::byte> data) {
    if (trace_ != nullptr) {
      const fw::Queue& known = sram().functions[function].queues[queue];
      trace_->command_completed(known, {fw::batch_of(sram(), known), known.batch_count}, entry, cycle());
    }
    return bus_.write({WEFT_ADDRESS_SPACE_HOST, function, address}, data, Accessor::kCompletion,
                      ChipBus::Order::kLastWordAfter);
  };
  switch (faults_.completion(function, queue, out)) {
    case ManagerFaults::CompletionWrite::kNone:
      return true;
    case ManagerFaults::CompletionWrite::kLastWord:
      return write(iova + kFirstBytes, bytes.subspan(kFirstBytes));
    case ManagerFaults::CompletionWrite::kWhole:
      break;
  }
  return write(iova, bytes);
}

bool Manager::copy_start(fw::Location source, fw::Location destination, uint64_t bytes) {
  spend(WEFT_MANAGER_DMA_KICK);
  if (faults_.copy_swallowed()) {
    wake();
    return true;
  }
  return copy_.start(source, destination, bytes);
}

uint32_t Manager::copy_result() {
  spend(WEFT_MANAGER_SRAM_WORD);
  if (ailment_ == Ailment::kDeaf) return 0;
  return faults_.copy_pending() ? faults_.copy_result() : copy_.take_result();
}

uint32_t Manager::doorbell_submission(uint32_t function, uint32_t queue) {
  spend(WEFT_MANAGER_SRAM_WORD);
  return functions_[function]->submission_tail(queue);
}

uint32_t Manager::doorbell_completion(uint32_t function, uint32_t queue) {
  spend(WEFT_MANAGER_SRAM_WORD);
  return functions_[function]->completion_head(queue);
}

uint32_t Manager::wake_causes() {
  const bool no_requests = functions() > 1 && requests_ == 0;  // else function_requests() takes the word's cycle
  spend((functions() + (no_requests ? 1u : 0u)) * WEFT_MANAGER_SRAM_WORD);
  uint32_t causes = requests_ != 0 && ailment_ != Ailment::kDeaf ? WEFT_MANAGER_WAKE_REQUESTS : 0;
  for (const auto& function : functions_) {
    const bool rung = function->doorbells_pending() && ailment_ != Ailment::kDeaf;
    if (rung || function->boot_pending()) causes |= 1u << function->index();
  }
  return causes;
}

uint32_t Manager::doorbell_pending(uint32_t function) {
  return ailment_ == Ailment::kDeaf ? 0 : functions_[function]->take_pending_doorbells();
}

uint64_t Manager::doorbell_cycle(uint32_t function, uint32_t queue) {
  spend(WEFT_MANAGER_SRAM_WORD);
  return functions_[function]->doorbell_cycle(queue);
}

uint32_t Manager::function_requests(uint32_t* departed) {
  spend(WEFT_MANAGER_SRAM_WORD);
  if (ailment_ == Ailment::kDeaf) return *departed = 0;
  overdue_.cancel();
  *departed = std::exchange(departed_, 0);
  return std::exchange(requests_, 0);
}

bool Manager::boot_requested(uint32_t function, uint64_t* parameter_page) {
  uint64_t page = 0;
  if (!functions_[function]->take_boot_request(page)) return false;
  *parameter_page = page;
  return true;
}

void Manager::raise_interrupt(uint32_t function, uint32_t vector) {
  spend(WEFT_MANAGER_MMIO_WRITE);
  functions_[function]->registers().raise(vector);
  if (trace_ != nullptr) trace_->interrupt(function, vector, cycle());
}

uint32_t Manager::crc32c(std::span<const std::byte> data) {
  charge(static_cast<uint32_t>((data.size() + kCrcBlockBytes - 1) / kCrcBlockBytes * WEFT_MANAGER_CRC_PER_64_BYTES));
  return weft::crc32c(data);
}

void Manager::wait_for_event(uint64_t deadline_cycle) {
  spend(0);
  if (reset_pending_) throw DeviceReset{};
  if (ailment_ == Ailment::kNone) ailment_ = faults_.sleeps();
  if (ailment_ == Ailment::kDeaf) return wait_until(cycle() + kDeafCycles);
  if (ailment_ == Ailment::kLoops) spend(0);
  // Rising edges set event_pending_. A bit that was set while others were being cleared makes no edge, so the level
  // counts then; it does not count for firmware that leaves the line alone: that one would never sleep.
  const bool interrupt_left = interrupts_cleared_ && core_.interrupt();
  if (!event_pending_ && !interrupt_left && deadline_cycle > cycle()) {
    if (trace_ != nullptr) trace_->manager_awake(awake_since_, cycle());
    fall_asleep();
    if (deadline_cycle > time_.last_cycle()) {
      suspend(wake_);
    } else {
      suspend(sc_core::sc_time::from_value(time_.edge_fs(deadline_cycle)) - sc_core::sc_time_stamp(), wake_);
    }
    while (ailment_ == Ailment::kDead) suspend(wake_);
    awaken();
    watchdog_.beat(awake_since_);
  }
  event_pending_ = interrupts_cleared_ = false;
}

}  // namespace weft::chip
