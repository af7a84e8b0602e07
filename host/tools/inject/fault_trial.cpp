// The workload, the recovery, and the four invariants.
#include "host/tools/inject/fault_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <thread>

#include "host/compiler/layout.hpp"
#include "host/compiler/program.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/tools/inject/fault_areas.hpp"
#include "host/tools/inject/idle_time.hpp"
#include "model/golden/matmul.hpp"
#include "weft/weft.h"

namespace weft::tools {
namespace {

constexpr uint64_t kRows = 24, kInner = 20, kColumns = 12;
constexpr uint32_t kFillPattern = 0x5eed1e55;
constexpr uint64_t kDeadlineCycles = 300'000'000;  // of one wait: beyond the watchdog of core and copy engine
// Neither bound counts time in which driver or simulator work or wait for a processor: a busy machine breaks no invariant.
constexpr std::chrono::seconds kIdleBound{60};             // of all waits of a trial
constexpr std::chrono::milliseconds kCallbackBound{5000};  // from the end of an event to its callback

/// The driver's last error on this thread.
std::string driver_words(weft_status status) {
  weft_error_info info = WEFT_INIT(weft_error_info);
  if (weft_last_error(&info) != WEFT_ERROR_OK || info.code != status) return weft_status_name(status);
  return fmt::format("{}: {}", weft_status_name(status), info.message);
}

Error driver_error(weft_status status, std::string_view what) {
  return {status, fmt::format("{}: {}", what, driver_words(status))};
}

/// A submitted command. Its counter outlives the event: the callback may come after the handle's release.
struct Submitted {
  CommandOutcome outcome;
  weft_event* event = nullptr;
  std::shared_ptr<std::atomic<uint32_t>> completions = std::make_shared<std::atomic<uint32_t>>(0);
};

void count_completion(weft_event*, weft_status, void* user) {
  const std::unique_ptr<std::shared_ptr<std::atomic<uint32_t>>> counter(
      static_cast<std::shared_ptr<std::atomic<uint32_t>>*>(user));
  (*counter)->fetch_add(1);
}

}  // namespace

struct FaultTrial::State {
  ~State() { close(); }

  std::string name;
  uint64_t watchdog_cycles = 0;
  weft_device* device = nullptr;
  weft_queue* compute = nullptr;
  weft_queue* service = nullptr;
  weft_program* program = nullptr;
  weft_kernel* kernel = nullptr;
  weft_buffer* host = nullptr;
  weft_buffer* hbm = nullptr;
  weft_buffer* readback = nullptr;
  std::byte* host_bytes = nullptr;
  std::byte* readback_bytes = nullptr;
  const spec::Chip* chip = nullptr;
  std::vector<std::byte> executable;
  std::optional<FaultAreas> areas;
  runtime::FaultTargets targets;
  uint64_t reference_cycles = 0;

  void close();
  void drop_queues();
  Status open_device();
  Status set_up();
  Status make_queues();
  Status load_areas();
  /// `submitted` is called after each command.
  std::vector<Submitted> submit_workload(const std::function<void(Submitted&)>& submitted);
  Result<uint64_t> run_clean();
  Status recover(TrialResult& result, bool needed);
  bool answers(weft_queue* queue) const;
  Status copy_and_wait(weft_buffer* destination, weft_buffer* source) const;
};

void FaultTrial::State::drop_queues() {
  weft_program_release(std::exchange(program, nullptr));
  (void)!weft_queue_release(std::exchange(compute, nullptr));
  (void)!weft_queue_release(std::exchange(service, nullptr));
}

void FaultTrial::State::close() {
  if (device == nullptr) return;
  for (weft_buffer** buffer : {&host, &hbm, &readback}) weft_buffer_release(std::exchange(*buffer, nullptr));
  weft_close_options options = WEFT_INIT(weft_close_options);
  weft_device* const closing = std::exchange(device, nullptr);
  weft_program* const old_program = std::exchange(program, nullptr);
  weft_queue* const old_queues[] = {std::exchange(compute, nullptr), std::exchange(service, nullptr)};
  (void)!weft_close(closing, &options);
  weft_program_release(old_program);
  for (weft_queue* queue : old_queues) (void)!weft_queue_release(queue);
}

Status FaultTrial::State::open_device() {
  if (auto status = weft_open(name.c_str(), &device); status != WEFT_ERROR_OK) return driver_error(status, "open");
  weft_device_info info = WEFT_INIT(weft_device_info);
  if (auto status = weft_device_get_info(device, &info); status != WEFT_ERROR_OK) return driver_error(status, "info");
  chip = spec::find_chip(info.preset);
  if (chip == nullptr) return Error{WEFT_ERROR_ABI_MISMATCH, "the device's chip is none of this build's presets"};
  return Ok{};
}

/// Queues, the program, and the watchdog's limit, none of which a reset leaves.
Status FaultTrial::State::make_queues() {
  if (watchdog_cycles != 0)
    if (auto status = weft_device_set_watchdog(device, watchdog_cycles); status != WEFT_ERROR_OK)
      return driver_error(status, "watchdog");
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = 16;
  for (weft_queue** queue : {&compute, &service})
    if (auto status = weft_queue_create(device, &options, queue); status != WEFT_ERROR_OK)
      return driver_error(status, "queue");
  if (auto status = weft_program_load(device, executable.data(), executable.size(), &program); status != WEFT_ERROR_OK)
    return driver_error(status, "load");
  if (auto status = weft_program_get_kernel(program, 0, &kernel); status != WEFT_ERROR_OK)
    return driver_error(status, "kernel");
  targets.queues.clear();
  for (weft_queue* queue : {compute, service}) {
    weft_queue_info info = WEFT_INIT(weft_queue_info);
    if (auto status = weft_queue_get_info(queue, &info); status != WEFT_ERROR_OK) return driver_error(status, "queue");
    targets.queues.push_back(info.id);
  }
  return Ok{};
}

/// Buffers, queues and program of a device that has just been opened.
Status FaultTrial::State::set_up() {
  if (!areas) {
    const auto graph = compiler::gemm_program(*chip, WEFT_MXU_DTYPE_BF16, kRows, kInner, kColumns);
    if (!graph.ok()) return graph.error();
    const auto compiled = compiler::tiles::compile_fitting(*chip, graph.value());
    if (!compiled.ok()) return compiled.error();
    auto written = compiler::write_executable(*chip, compiled.value());
    if (!written.ok()) return written.error();
    executable = std::move(written.value());
    areas.emplace(*chip, kRows, kInner, kColumns, kFillPattern);
    targets.vmem_bytes = std::min<uint64_t>(chip->vmem_bytes, 16384);
  }
  const std::pair<weft_buffer**, weft_memory> buffers[] = {
      {&host, WEFT_MEMORY_HOST}, {&hbm, WEFT_MEMORY_HBM}, {&readback, WEFT_MEMORY_HOST}};
  for (const auto& [buffer, memory] : buffers)
    if (auto status = weft_buffer_create(device, memory, areas->total_bytes(), buffer); status != WEFT_ERROR_OK)
      return driver_error(status, "buffer");
  const std::pair<weft_buffer*, std::byte**> maps[] = {{host, &host_bytes}, {readback, &readback_bytes}};
  for (const auto& [buffer, bytes] : maps) {
    void* pointer = nullptr;
    if (auto status = weft_buffer_map(buffer, &pointer); status != WEFT_ERROR_OK) return driver_error(status, "map");
    *bytes = static_cast<std::byte*>(pointer);
  }
  return make_queues();
}

Status FaultTrial::State::copy_and_wait(weft_buffer* destination, weft_buffer* source) const {
  weft_event* event = nullptr;
  if (auto status = weft_copy(service, destination, 0, source, 0, areas->total_bytes(), nullptr, &event);
      status != WEFT_ERROR_OK)
    return driver_error(status, "copy");
  weft_wait_options wait = WEFT_INIT(weft_wait_options);
  wait.deadline_cycles = kDeadlineCycles;
  const auto status = weft_event_wait(event, &wait);
  weft_event_release(event);
  if (status != WEFT_ERROR_OK) return driver_error(status, "copy");
  return Ok{};
}

/// Guards, operands and cleared results in host memory and HBM.
Status FaultTrial::State::load_areas() {
  areas->write_hbm_image({host_bytes, areas->total_bytes()});
  if (auto status = copy_and_wait(hbm, host); !status.ok()) return status;
  areas->write_host_image({host_bytes, areas->total_bytes()});
  return Ok{};
}

std::vector<Submitted> FaultTrial::State::submit_workload(const std::function<void(Submitted&)>& submitted) {
  std::vector<Submitted> commands;
  const auto add = [&](std::string_view what, auto&& submit) {
    Submitted command;
    command.outcome.name = what;
    command.outcome.status = submit(&command.event);
    if (command.outcome.status == WEFT_ERROR_OK) {
      auto counter = std::make_unique<std::shared_ptr<std::atomic<uint32_t>>>(command.completions);
      if (weft_event_set_callback(command.event, count_completion, counter.get()) == WEFT_ERROR_OK)
        (void)counter.release();
    }
    submitted(command);
    commands.push_back(std::move(command));
  };
  const FaultAreas& a = *areas;
  const auto copy = [&](weft_queue* queue, bool to_host, const FaultAreas::Area& area, weft_event** event) {
    return weft_copy(queue, to_host ? host : hbm, area.offset, to_host ? hbm : host, area.offset, area.bytes, nullptr,
                     event);
  };
  add("copy x to HBM", [&](weft_event** e) { return copy(compute, false, a.x(), e); });
  add("copy w to HBM", [&](weft_event** e) { return copy(compute, false, a.w(), e); });
  add("fill f",
      [&](weft_event** e) { return weft_fill(service, hbm, a.f().offset, a.f().bytes, kFillPattern, nullptr, e); });
  const weft_argument arguments[] = {{hbm, a.x().offset}, {hbm, a.w().offset}, {hbm, a.y().offset}};
  add("launch", [&](weft_event** e) { return weft_launch(compute, kernel, arguments, 3, nullptr, e); });
  add("no-op", [&](weft_event** e) { return weft_nop(service, nullptr, e); });
  add("copy y to host", [&](weft_event** e) { return copy(compute, true, a.y(), e); });
  add("copy f to host", [&](weft_event** e) { return copy(service, true, a.f(), e); });
  add("timestamp", [&](weft_event** e) { return weft_timestamp(service, nullptr, e); });
  return commands;
}

/// The queue works, and the copy engine behind it.
bool FaultTrial::State::answers(weft_queue* queue) const {
  weft_event* event = nullptr;
  if (weft_fill(queue, hbm, areas->f().offset, sizeof kFillPattern, kFillPattern, nullptr, &event) != WEFT_ERROR_OK)
    return false;
  weft_wait_options wait = WEFT_INIT(weft_wait_options);
  wait.deadline_cycles = kDeadlineCycles;
  const bool answered = weft_event_wait(event, &wait) == WEFT_ERROR_OK;
  weft_event_release(event);
  return answered;
}

Status FaultTrial::State::recover(TrialResult& result, bool needed) {
  weft_device_info info = WEFT_INIT(weft_device_info);
  const bool ready = weft_device_get_info(device, &info) == WEFT_ERROR_OK && info.state == WEFT_DEVICE_STATE_READY;
  if (!needed && ready && answers(compute) && answers(service)) return Ok{};
  result.recovery = Recovery::kReset;
  if (weft_device_reset(device) == WEFT_ERROR_OK) {
    drop_queues();
    return make_queues();
  }
  result.recovery = Recovery::kReopened;
  close();
  if (auto status = open_device(); !status.ok()) return status;
  return set_up();
}

/// The workload without faults, on a drained chip each command: OK, the reference's bits. Returns the launch's device
/// cycles, which then depend on nothing else.
Result<uint64_t> FaultTrial::State::run_clean() {
  if (auto status = load_areas(); !status.ok()) return status.error();
  auto commands = submit_workload([](Submitted& command) {
    if (command.event != nullptr) (void)!weft_event_wait(command.event, nullptr);
  });
  uint64_t cycles = 0;
  std::optional<Error> failed;
  for (auto& command : commands) {
    if (command.event == nullptr) {
      failed = driver_error(command.outcome.status, command.outcome.name);
      continue;
    }
    if (auto status = weft_event_wait(command.event, nullptr); status != WEFT_ERROR_OK)
      failed = driver_error(status, command.outcome.name);
    weft_event_info info = WEFT_INIT(weft_event_info);
    if (command.outcome.name == "launch" && weft_event_query(command.event, &info) == WEFT_ERROR_OK)
      cycles = info.end_cycle - info.start_cycle;
    weft_event_release(command.event);
  }
  if (failed) return *failed;
  if (const auto wrong = areas->first_wrong_host_byte({host_bytes, areas->total_bytes()}, true, true); !wrong.empty())
    return Error{WEFT_ERROR_GOLDEN_MISMATCH, "the workload without faults: " + wrong};
  return cycles;
}

FaultTrial::FaultTrial(std::unique_ptr<State> state) : state_(std::move(state)) {}
FaultTrial::FaultTrial(FaultTrial&&) noexcept = default;
FaultTrial& FaultTrial::operator=(FaultTrial&&) noexcept = default;
FaultTrial::~FaultTrial() = default;

const runtime::FaultTargets& FaultTrial::targets() const { return state_->targets; }
const spec::Chip& FaultTrial::chip() const { return *state_->chip; }

Result<FaultTrial> FaultTrial::open(const std::string& device, uint64_t watchdog_cycles) {
  auto state = std::make_unique<State>();
  state->name = device;
  state->watchdog_cycles = watchdog_cycles;
  if (auto status = state->open_device(); !status.ok()) return status.error();
  if (auto status = state->set_up(); !status.ok()) return status.error();
  const auto cycles = state->run_clean();
  if (!cycles.ok()) return cycles.error();
  state->reference_cycles = cycles.value();
  return FaultTrial(std::move(state));
}

Result<TrialResult> FaultTrial::run(const runtime::FaultSchedule& faults, Pace pace) {
  State& s = *state_;
  TrialResult result;
  if (auto status = s.load_areas(); !status.ok()) return status.error();
  for (const auto& fault : faults)
    if (auto status = weft_fault_inject(s.device, &fault); status != WEFT_ERROR_OK) {
      const Error refused = driver_error(status, runtime::describe_fault(fault));
      (void)!weft_fault_disarm(s.device);
      return refused;
    }
  IdleTime idle;
  bool stuck = false;
  const auto settle = [&](Submitted& command) {
    weft_status status = command.outcome.status;
    if (command.event != nullptr) {
      weft_wait_options wait = WEFT_INIT(weft_wait_options);
      wait.deadline_cycles = kDeadlineCycles;
      status = weft_event_wait(command.event, &wait);
      command.outcome.waited_out = status == WEFT_ERROR_TIMEOUT_WAIT;
      stuck = stuck || command.outcome.waited_out;
      (void)idle.elapsed();  // looks at a simulator before it may end
    }
    if (status == WEFT_ERROR_OK || result.first_error != WEFT_ERROR_OK) return;
    result.first_error = status;
    result.message = driver_words(status);
  };
  auto commands = s.submit_workload([&](Submitted& command) {
    if (pace == Pace::kOneByOne) settle(command);
  });
  if (pace == Pace::kAtOnce)
    for (auto& command : commands) settle(command);
  weft_fault_injection_info info = WEFT_INIT(weft_fault_injection_info);
  if (weft_fault_get_info(s.device, &info) == WEFT_ERROR_OK)
    result.acted = info.acted;
  else
    result.acted = 1;  // a device that does not answer has met its fault
  // What has not acted must not act on the recovery, unless the recovery is what it is for.
  const bool of_reset = std::any_of(faults.begin(), faults.end(),
                                    [](const auto& f) { return f.kind == WEFT_INJECTED_FAULT_RESET_STUCK; });
  if (!of_reset) (void)!weft_fault_disarm(s.device);

  // Invariant 3, host memory, before anything else is written to it.
  const auto ok = [&](std::string_view name) {
    return std::any_of(commands.begin(), commands.end(), [&](const Submitted& c) {
      weft_event_info event = WEFT_INIT(weft_event_info);
      return c.outcome.name == name && c.event != nullptr && weft_event_query(c.event, &event) == WEFT_ERROR_OK &&
             event.done != 0 && event.status == WEFT_ERROR_OK;
    });
  };
  const bool product_done = ok("copy x to HBM") && ok("copy w to HBM") && ok("launch");
  const bool y_done = product_done && ok("copy y to host"), f_done = ok("fill f") && ok("copy f to host");
  if (const auto wrong = s.areas->first_wrong_host_byte({s.host_bytes, s.areas->total_bytes()}, y_done, f_done);
      !wrong.empty())
    result.broken.push_back("host memory: " + wrong);

  const auto recovered = s.recover(result, stuck);
  if (of_reset && s.device != nullptr) (void)!weft_fault_disarm(s.device);
  // Invariant 1.
  if (idle.elapsed() > kIdleBound)
    result.broken.push_back(fmt::format("for {} s of the waits nothing worked", kIdleBound.count()));
  // Invariant 2.
  for (auto& command : commands) {
    if (command.event == nullptr) continue;
    weft_event_info event = WEFT_INIT(weft_event_info);
    const bool asked = weft_event_query(command.event, &event) == WEFT_ERROR_OK;
    const auto patience = idle.elapsed() + kCallbackBound;
    while (command.completions->load() == 0 && idle.elapsed() < patience)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    command.outcome.completions = command.completions->load();
    command.outcome.status = event.status;
    if (!asked || event.done == 0)
      result.broken.push_back(fmt::format("'{}' has not ended after the recovery", command.outcome.name));
    if (command.outcome.completions != 1)
      result.broken.push_back(fmt::format("'{}' ended {} times", command.outcome.name, command.outcome.completions));
    weft_event_release(command.event);
  }
  for (auto& command : commands) result.commands.push_back(std::move(command.outcome));
  if (!recovered.ok()) return recovered.error();

  // Invariant 3, HBM. A device opened anew has none of it.
  if (result.recovery != Recovery::kReopened) {
    if (auto status = s.copy_and_wait(s.readback, s.hbm); !status.ok())
      result.broken.push_back("HBM cannot be read back: " + status.error().message);
    else if (const auto wrong = s.areas->first_wrong_hbm_byte({s.readback_bytes, s.areas->total_bytes()});
             !wrong.empty())
      result.broken.push_back("HBM: " + wrong);
  }
  // Invariant 4.
  weft_device_statistics counts = WEFT_INIT(weft_device_statistics);
  if (weft_device_get_statistics(s.device, &counts) == WEFT_ERROR_OK && counts.completed != counts.submitted)
    result.broken.push_back(fmt::format("{} commands completed of {} submitted", counts.completed, counts.submitted));
  // And once more without faults.
  const auto again = s.run_clean();
  if (!again.ok())
    result.broken.push_back(again.error().message);
  else if (again.value() != s.reference_cycles)
    result.broken.push_back(fmt::format("the next launch took {} cycles, not {}", again.value(), s.reference_cycles));
  return result;
}

}  // namespace weft::tools
