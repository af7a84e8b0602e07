/// The manager: a small processor that runs the firmware and pays for what it does in cycles.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include "firmware/hal.hpp"
#include "model/chip/attention.hpp"
#include "model/chip/chip_bus.hpp"
#include "model/chip/chip_options.hpp"
#include "model/chip/copy_engine.hpp"
#include "model/chip/core_host.hpp"
#include "model/chip/firmware_watchdog.hpp"
#include "model/chip/function.hpp"
#include "model/chip/manager_faults.hpp"
#include "model/chip/time_base.hpp"

namespace weft::fw {
struct Image;
struct State;
}  // namespace weft::fw

namespace weft::chip {

class ImageProcessor;
class TraceWriter;

/// Runs weft::fw::run() in a SystemC thread of its own and answers firmware/hal.hpp (hal.cpp forwards to here).
/// Each call first lets the time pass that it costs, in the order of the calls, and then takes effect. Pure costs
/// (charge, CRC) are summed up and paid with the next call that touches something.
///
/// A device reset unwinds the firmware from whichever call it sleeps in (the one exception that crosses it) and starts
/// it anew. Firmware that loops without a HAL call that costs time would hold up the simulator; every loop of the
/// firmware has one.
class Manager final : public sc_core::sc_module {
 public:
  Manager(sc_core::sc_module_name name, const TimeBase& time, const spec::Chip& chip, CoreHost& core, ChipBus& bus,
          CopyEngine& copy, std::span<const std::unique_ptr<Function>> functions);
  ~Manager() override;
  /// From the next restart on a processor runs this image, not the natively compiled firmware. `make_processor` as in
  /// ChipOptions. False and a message in `error`: it cannot.
  [[nodiscard]] bool load(const fw::Image& image, const MakeProcessor& make_processor, std::string& error);
  /// Of the processor that runs the image. False and a message in `error`: the file does not open, or there is none.
  [[nodiscard]] bool write_bus_log(const std::string& path, std::string& error);
  /// Called when the image fails, with the reason and a backtrace: an exception, before the firmware's trap handler
  /// runs; a panic; a halt. Once for each restart, exceptions up to kReportedTraps times. Empty: not wanted.
  void report_failures(std::function<void(const std::string& report)> report) { report_failure_ = std::move(report); }
  /// An image without a trap handler traps at its handler's place again, for as long as the watchdog lets it.
  static constexpr unsigned kReportedTraps = 4;
  void firmware_trapped(const std::function<std::string()>& what) {
    if (traps_ == kReportedTraps) return;
    traps_++;
    report_failure(what());
  }

  /// Something happened that ends wait_for_event().
  void wake();
  /// The host of a function has reset it, or has gone: the firmware takes back what it held.
  void request(unsigned function, bool departed);
  /// The firmware has failed for every function: nothing but its restart helps.
  [[nodiscard]] bool failed() const { return failed_; }
  /// Called when the firmware has not taken a function's request within its watchdog's limit, asleep or awake: to reset
  /// the device, since no function alone can. From the kernel, not from the firmware's thread.
  void on_unanswered(std::function<void()> reset_device) { reset_device_ = std::move(reset_device); }
  /// Restarts the firmware.
  void reset();
  /// Whether it is awake is counted there from now on; it outlives this object.
  void tell(Attention& attention);
  /// nullptr: no trace.
  void set_trace(TraceWriter* trace) { trace_ = trace; }

  // firmware/hal.hpp, called on the firmware's thread only.
  [[nodiscard]] uint64_t csr_read(uint32_t offset);
  void csr_write(uint32_t offset, uint64_t value);
  [[nodiscard]] bool push_command(uint32_t queue, const uint8_t* command);
  [[nodiscard]] uint32_t functions() const { return static_cast<uint32_t>(functions_.size()); }
  void function_write(uint32_t function, uint32_t offset, uint64_t value);
  [[nodiscard]] uint64_t function_read(uint32_t function, uint32_t offset);
  void core_function(uint32_t function);
  void show_waypoint(uint32_t waypoint) { waypoint_ = waypoint & 0xff; }
  [[nodiscard]] bool dma_read(fw::Location from, std::span<std::byte> sram);
  [[nodiscard]] bool dma_write(fw::Location to, std::span<const std::byte> sram);
  [[nodiscard]] bool completion_write(uint32_t function, uint32_t queue, uint64_t iova,
                                      const weft_completion_entry& entry);
  [[nodiscard]] bool copy_start(fw::Location source, fw::Location destination, uint64_t bytes);
  [[nodiscard]] bool copy_abort();
  [[nodiscard]] bool copy_busy() const { return copy_.busy(); }
  [[nodiscard]] uint32_t copy_result();
  [[nodiscard]] uint32_t doorbell_submission(uint32_t function, uint32_t queue);
  [[nodiscard]] uint32_t doorbell_completion(uint32_t function, uint32_t queue);
  [[nodiscard]] uint32_t wake_causes();
  [[nodiscard]] uint32_t doorbell_pending(uint32_t function);
  [[nodiscard]] uint64_t doorbell_cycle(uint32_t function, uint32_t queue);
  [[nodiscard]] uint32_t function_requests(uint32_t* departed);
  [[nodiscard]] bool boot_requested(uint32_t function, uint64_t* parameter_page);
  void raise_interrupt(uint32_t function, uint32_t vector);
  [[nodiscard]] uint32_t crc32c(std::span<const std::byte> data);
  [[nodiscard]] uint64_t now() const { return cycle() + debt_cycles_; }
  void charge(uint32_t manager_cycles);
  void wait_for_event(uint64_t deadline_cycle);
  [[nodiscard]] bool running() const { return !reset_pending_; }
  /// The firmware is not in wait_for_event().
  [[nodiscard]] bool awake() const { return awake_; }
  /// The processor fails in this way from now until the next device reset (fault injection).
  void ail(Ailment ailment) { ailment_ = ailment; }
  /// FIRMWARE_STATUS of this moment.
  [[nodiscard]] uint32_t status();
  /// The firmware's memory, as a port beside the processor would read it. Between slices of simulated time only.
  [[nodiscard]] const fw::State& sram() const;
  /// The processor that runs an image; nullptr: the firmware runs natively, and its time is charged by the call.
  [[nodiscard]] const ImageProcessor* processor() const { return processor_.get(); }
  /// The processor stands still, and the device has failed, until the next reset: its watchdog has expired, or it has
  /// locked up. Called on the firmware's thread.
  [[noreturn]] void halt();
  /// Device cycles since power-up in which the firmware was awake.
  [[nodiscard]] uint64_t awake_cycles() const { return awake_cycles_ + (awake_ ? cycle() - awake_since_ : 0); }
  /// The state page of a function as its own DUMP_STATE would have it: the firmware's code on a copy of its memory, so
  /// it takes no device time, changes nothing, and works whatever the firmware does. Between slices only. Empty: the
  /// function does not exist.
  [[nodiscard]] std::vector<std::byte> state_page(uint32_t function);
  [[nodiscard]] const spec::Chip& chip() const { return chip_; }

 private:
  struct DeviceReset {};  ///< thrown through the firmware to unwind it
  /// While it stands, calls of the firmware's code cost nothing, and what it writes into host memory goes to `page`.
  struct Observation {
    std::span<std::byte> page;  ///< its IOVA is kPageIova
  };
  static constexpr uint64_t kPageIova = 0;

  void thread();
  /// The limit of the oldest request begins, unless it runs already.
  void expect_answer();
  void answer_overdue();
  /// Of an image only: natively the debugger knows more.
  void report_failure(const std::string& what);
  [[nodiscard]] uint64_t firmware_watchdog_cycles() const;
  void fall_asleep();
  void awaken();
  [[nodiscard]] uint64_t cycle() const { return time_.cycle_at(sc_core::sc_time_stamp().value()); }
  /// Lets `manager_cycles` and what is owed pass.
  void spend(uint64_t manager_cycles);
  void wait_until(uint64_t cycle);
  template <typename... Arguments>
  void suspend(const Arguments&... arguments);

  const TimeBase& time_;
  const spec::Chip& chip_;
  CoreHost& core_;
  ChipBus& bus_;
  CopyEngine& copy_;
  std::span<const std::unique_ptr<Function>> functions_;
  TraceWriter* trace_ = nullptr;
  Attention* attention_ = nullptr;
  sc_core::sc_event wake_;
  sc_core::sc_event restart_;
  sc_core::sc_event overdue_;  // a request has waited for too long
  uint64_t debt_cycles_ = 0;   // core cycles owed
  uint64_t awake_since_ = 0;
  uint64_t awake_cycles_ = 0;        // of times awake that have ended
  std::unique_ptr<fw::State> sram_;  // the firmware's state
  std::unique_ptr<ImageProcessor> processor_;
  std::function<void(const std::string&)> report_failure_;
  std::function<void()> reset_device_;
  bool failure_reported_ = false;  // since the last restart
  unsigned traps_ = 0;             // reported since the last restart
  const Observation* observation_ = nullptr;
  bool event_pending_ = false;
  bool interrupts_cleared_ = false;  // the firmware wrote INTERRUPT since it last slept
  bool reset_pending_ = false;
  bool failed_ = false;
  uint32_t requests_ = 0;  // a bit a function
  uint32_t departed_ = 0;
  bool awake_ = true;
  Ailment ailment_ = Ailment::kNone;
  ManagerFaults faults_;
  bool halted_ = false;  // by its watchdog
  uint32_t waypoint_ = 0;
  FirmwareWatchdog watchdog_;
};

/// The manager whose firmware runs at this moment. The HAL's free functions have no argument that says which chip
/// calls, so each manager sets this around the time that its thread runs: the only such state of the simulator, defined
/// in hal.cpp.
void set_running_manager(Manager* manager);

}  // namespace weft::chip
