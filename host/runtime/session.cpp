// A session is one device, one queue, one program; buffers live for one run.
#include "host/runtime/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

#include "host/runtime/driver_error.hpp"
#include "host/runtime/driver_handles.hpp"
#include "weft/weft.h"

namespace weft::runtime {
namespace {

constexpr size_t kLoaded = 4;              // programs that stay on the device
constexpr uint64_t kKeptBytes = 4u << 20;  // of a program's arguments that stay there between calls

/// Reports the device's cycle about five times a second until it is destroyed.
class ProgressThread {
 public:
  ProgressThread(weft_device* device, uint64_t first_cycle, const Progress& progress) {
    if (!progress) return;
    thread_ = std::thread([this, device, first_cycle, &progress] {
      std::unique_lock lock(mutex_);
      while (!stop_.wait_for(lock, std::chrono::milliseconds(200), [this] { return stopped_; })) {
        uint64_t cycle = 0;
        if (weft_device_cycle(device, &cycle) == WEFT_ERROR_OK) progress(cycle - first_cycle);
      }
    });
  }
  ~ProgressThread() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    stop_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace

std::string device_name(const Target& target) {
  if (!target.device.empty()) return target.device;
  if (!target.socket.empty()) return "vfio-user:" + target.socket;
  std::string name = fmt::format("sim:{}?core={}", target.chip, target.core);
  if (!target.manager.empty()) name += "&manager=" + target.manager;
  if (!target.wave.empty()) name += fmt::format("&wave={}&wave-from={}", target.wave, target.wave_from);
  if (!target.wave.empty() && target.wave_to != UINT64_MAX) name += fmt::format("&wave-to={}", target.wave_to);
  if (!target.trace.empty()) name += "&trace=" + target.trace;
  if (!target.mismatch_report.empty()) name += "&mismatch-report=" + target.mismatch_report;
  return name;
}

/// A program in HBM, and what its calls have needed.
struct Session::Loaded {
  /// Of an argument; host: its staging memory, which is mapped.
  struct Buffers {
    BufferHandle device, host;
    std::byte* mapped = nullptr;
  };

  ProgramHandle program;
  std::vector<std::byte> executable;
  weft_kernel* kernel = nullptr;
  std::vector<ArgumentInfo> arguments;
  std::vector<Buffers> kept;
};

struct Session::State {
  ~State() {
    loaded.clear();
    if (queue) (void)!weft_queue_release(queue);
    if (device && owned) (void)!weft_close(device, nullptr);
  }

  Result<BufferHandle> buffer(weft_memory memory, uint64_t bytes) const {
    weft_buffer* handle = nullptr;
    if (const auto status = weft_buffer_create(device, memory, bytes, &handle); status != WEFT_ERROR_OK)
      return driver_error(status);
    return BufferHandle(handle);
  }

  /// Copies and waits.
  Status copy(weft_buffer* destination, weft_buffer* source, uint64_t bytes) const {
    weft_event* event = nullptr;
    if (const auto status = weft_copy(queue, destination, 0, source, 0, bytes, nullptr, &event);
        status != WEFT_ERROR_OK)
      return driver_error(status);
    const EventHandle handle(event);
    if (const auto status = weft_event_wait(event, nullptr); status != WEFT_ERROR_OK) return driver_error(status);
    return Ok{};
  }

  /// A program, without buffers for its arguments yet.
  Result<Loaded> load(std::span<const std::byte> bytes) const {
    Loaded made;
    weft_program* program = nullptr;
    if (const auto status = weft_program_load(device, bytes.data(), bytes.size(), &program); status != WEFT_ERROR_OK)
      return driver_error(status);
    made.program.reset(program);
    if (const auto status = weft_program_get_kernel(program, 0, &made.kernel); status != WEFT_ERROR_OK)
      return driver_error(status);
    weft_kernel_info kernel = WEFT_INIT(weft_kernel_info);
    if (const auto status = weft_kernel_get_info(made.kernel, &kernel); status != WEFT_ERROR_OK)
      return driver_error(status);
    for (uint32_t i = 0; i < kernel.argument_count; i++) {
      weft_argument_info a = WEFT_INIT(weft_argument_info);
      if (const auto status = weft_kernel_get_argument(made.kernel, i, &a); status != WEFT_ERROR_OK)
        return driver_error(status);
      made.arguments.push_back(
          {a.name, a.dtype, a.layout, a.direction, a.shape[0], a.shape[1], a.pitch_bytes, a.size_bytes});
    }
    made.executable.assign(bytes.begin(), bytes.end());
    return made;
  }

  [[nodiscard]] Result<std::vector<Loaded::Buffers>> buffers() const {
    std::vector<Loaded::Buffers> made;
    for (const auto& argument : loaded.front().arguments) {
      auto on_device = buffer(WEFT_MEMORY_HBM, argument.size_bytes);
      if (!on_device.ok()) return on_device.error();
      auto on_host = buffer(WEFT_MEMORY_HOST, argument.size_bytes);
      if (!on_host.ok()) return on_host.error();
      void* pointer = nullptr;
      if (const auto status = weft_buffer_map(on_host.value().get(), &pointer); status != WEFT_ERROR_OK)
        return driver_error(status);
      made.push_back({std::move(on_device.value()), std::move(on_host.value()), static_cast<std::byte*>(pointer)});
    }
    return made;
  }

  /// The arguments have the sizes of the program that is loaded.
  Status check(const std::vector<std::vector<std::byte>>& given) const {
    if (loaded.empty()) return Error{WEFT_ERROR_INVALID_STATE, "no program is loaded"};
    const auto& wanted = loaded.front().arguments;
    if (given.size() != wanted.size())
      return Error{WEFT_ERROR_INVALID_ARGUMENT,
                   fmt::format("{} arguments, the kernel has {}", given.size(), wanted.size())};
    for (size_t i = 0; i < given.size(); i++)
      if (wanted[i].direction == WEFT_ARGUMENT_DIRECTION_INPUT && given[i].size() != wanted[i].size_bytes)
        return Error{WEFT_ERROR_INVALID_ARGUMENT, fmt::format("argument '{}' has {} bytes, the kernel needs {}",
                                                              wanted[i].name, given[i].size(), wanted[i].size_bytes)};
    return Ok{};
  }

  weft_device* device = nullptr;
  bool owned = true;
  weft_queue* queue = nullptr;
  std::list<Loaded> loaded;  ///< the first one is run
  const spec::Chip* chip = nullptr;
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const spec::Chip& Session::chip() const { return *state_->chip; }
const std::vector<ArgumentInfo>& Session::arguments() const {
  static const std::vector<ArgumentInfo> none;
  return state_->loaded.empty() ? none : state_->loaded.front().arguments;
}

weft_device* Session::device() const { return state_->device; }
weft_queue* Session::queue() const { return state_->queue; }

Status Session::reset(weft_reset_report& report) {
  State& s = *state_;
  s.loaded.clear();
  if (const auto status = weft_reset(s.device, nullptr, WEFT_RESET_LEVEL_DEVICE, &report); status != WEFT_ERROR_OK)
    return driver_error(status);
  (void)!weft_queue_release(std::exchange(s.queue, nullptr));  // it went with the reset
  if (const auto status = weft_queue_create(s.device, nullptr, &s.queue); status != WEFT_ERROR_OK)
    return driver_error(status);
  return Ok{};
}

Result<Session> Session::open(const Target& target) {
  auto state = std::make_unique<State>();
  if (const auto status = weft_open(device_name(target).c_str(), &state->device); status != WEFT_ERROR_OK)
    return driver_error(status);
  return begin(std::move(state));
}

Result<Session> Session::on(weft_device* device) {
  auto state = std::make_unique<State>();
  state->device = device;
  state->owned = false;
  return begin(std::move(state));
}

Result<Session> Session::begin(std::unique_ptr<State> state) {
  weft_device_info info = WEFT_INIT(weft_device_info);
  if (const auto status = weft_device_get_info(state->device, &info); status != WEFT_ERROR_OK)
    return driver_error(status);
  state->chip = spec::find_chip(info.preset);
  if (!state->chip)
    return Error{
        WEFT_ERROR_ABI_MISMATCH,
        fmt::format("the device's chip (fingerprint {:#018x}) is none of this build's presets", info.fingerprint)};
  if (const auto status = weft_queue_create(state->device, nullptr, &state->queue); status != WEFT_ERROR_OK)
    return driver_error(status);
  return Session(std::move(state));
}

Status Session::load(std::span<const std::byte> executable) {
  auto& loaded = state_->loaded;
  for (auto at = loaded.begin(); at != loaded.end(); at++)
    if (std::ranges::equal(at->executable, executable)) {
      loaded.splice(loaded.begin(), loaded, at);
      return Ok{};
    }
  auto made = state_->load(executable);
  if (!made.ok() && made.error().code == WEFT_ERROR_NO_DEVICE_MEMORY && !loaded.empty()) {
    loaded.clear();
    made = state_->load(executable);
  }
  if (!made.ok()) return made.error();
  loaded.push_front(std::move(made.value()));
  if (loaded.size() > kLoaded) loaded.pop_back();
  return Ok{};
}

Result<std::vector<std::vector<std::byte>>> Session::run(const std::vector<std::vector<std::byte>>& arguments,
                                                         LaunchResult& result, const Progress& progress) {
  State& s = *state_;
  if (auto status = s.check(arguments); !status.ok()) return status.error();
  const Loaded& program = s.loaded.front();
  std::vector<BufferHandle> buffers;
  std::vector<weft_argument> launch_arguments;
  for (size_t i = 0; i < arguments.size(); i++) {
    const ArgumentInfo& info = program.arguments[i];
    const bool input = info.direction == WEFT_ARGUMENT_DIRECTION_INPUT;
    auto buffer = s.buffer(WEFT_MEMORY_HBM, info.size_bytes);
    if (!buffer.ok()) return buffer.error();
    if (input) {
      auto staging = s.buffer(WEFT_MEMORY_HOST, info.size_bytes);
      if (!staging.ok()) return staging.error();
      void* pointer = nullptr;
      if (const auto status = weft_buffer_map(staging.value().get(), &pointer); status != WEFT_ERROR_OK)
        return driver_error(status);
      std::memcpy(pointer, arguments[i].data(), arguments[i].size());
      if (auto status = s.copy(buffer.value().get(), staging.value().get(), info.size_bytes); !status.ok())
        return status.error();
    }
    launch_arguments.push_back({buffer.value().get(), 0});
    buffers.push_back(std::move(buffer.value()));
  }

  std::vector<uint64_t> before(WEFT_COUNTERS), after(WEFT_COUNTERS);
  if (const auto status = weft_device_counters(s.device, before.data(), WEFT_COUNTERS); status != WEFT_ERROR_OK)
    return driver_error(status);
  uint64_t first_cycle = 0;
  if (const auto status = weft_device_cycle(s.device, &first_cycle); status != WEFT_ERROR_OK)
    return driver_error(status);
  const auto began = std::chrono::steady_clock::now();
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.profile = 1;
  weft_event* event = nullptr;
  if (const auto status = weft_launch(s.queue, program.kernel, launch_arguments.data(),
                                      static_cast<uint32_t>(launch_arguments.size()), &options, &event);
      status != WEFT_ERROR_OK)
    return driver_error(status);
  const EventHandle handle(event);
  {
    const ProgressThread thread(s.device, first_cycle, progress);
    if (const auto status = weft_event_wait(event, nullptr); status != WEFT_ERROR_OK) return driver_error(status);
  }
  result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (const auto status = weft_device_counters(s.device, after.data(), WEFT_COUNTERS); status != WEFT_ERROR_OK)
    return driver_error(status);
  result.counters.resize(WEFT_COUNTERS);
  for (size_t i = 0; i < result.counters.size(); i++) result.counters[i] = after[i] - before[i];
  weft_event_info info = WEFT_INIT(weft_event_info);
  if (const auto status = weft_event_query(event, &info); status != WEFT_ERROR_OK) return driver_error(status);
  weft_launch_profile profile{};
  if (const auto status = weft_event_get_profile(event, &profile); status != WEFT_ERROR_OK) return driver_error(status);
  result.start_cycle = info.start_cycle;
  result.end_cycle = info.end_cycle;
  result.cycles = {profile.doorbell,      profile.fetched,    profile.validated,
                   profile.first_command, profile.last_write, profile.completion};

  std::vector<std::vector<std::byte>> outputs(arguments.size());
  for (size_t i = 0; i < arguments.size(); i++) {
    const ArgumentInfo& argument = program.arguments[i];
    if (argument.direction != WEFT_ARGUMENT_DIRECTION_OUTPUT) continue;
    auto staging = s.buffer(WEFT_MEMORY_HOST, argument.size_bytes);
    if (!staging.ok()) return staging.error();
    if (auto status = s.copy(staging.value().get(), buffers[i].get(), argument.size_bytes); !status.ok())
      return status.error();
    void* pointer = nullptr;
    if (const auto status = weft_buffer_map(staging.value().get(), &pointer); status != WEFT_ERROR_OK)
      return driver_error(status);
    const auto* first = static_cast<const std::byte*>(pointer);
    outputs[i].assign(first, first + argument.size_bytes);
  }
  return outputs;
}

Result<std::vector<std::vector<std::byte>>> Session::call(const std::vector<std::vector<std::byte>>& arguments,
                                                          LaunchResult& result) {
  State& s = *state_;
  if (auto status = s.check(arguments); !status.ok()) return status.error();
  Loaded& program = s.loaded.front();
  auto buffers = std::exchange(program.kept, {});
  if (buffers.empty()) {
    auto made = s.buffers();
    if (!made.ok() && made.error().code == WEFT_ERROR_NO_DEVICE_MEMORY) {
      for (auto& other : s.loaded) other.kept.clear();
      made = s.buffers();
    }
    if (!made.ok()) return made.error();
    buffers = std::move(made.value());
  }
  const auto began = std::chrono::steady_clock::now();
  weft_command_options chained = WEFT_INIT(weft_command_options);
  chained.chain = 1;
  std::vector<weft_argument> launch_arguments;
  std::vector<weft_command> commands;
  const auto copy = [&](weft_buffer* to, weft_buffer* from, uint64_t bytes) {
    weft_command command = WEFT_INIT(weft_command);
    command.opcode = WEFT_QUEUE_OPCODE_COPY;
    command.destination = to, command.source = from, command.bytes = bytes;
    command.options = &chained;
    commands.push_back(command);
  };
  uint64_t bytes = 0;
  for (size_t i = 0; i < buffers.size(); i++) {
    launch_arguments.push_back({buffers[i].device.get(), 0});
    bytes += program.arguments[i].size_bytes;
    if (program.arguments[i].direction != WEFT_ARGUMENT_DIRECTION_INPUT) continue;
    std::memcpy(buffers[i].mapped, arguments[i].data(), arguments[i].size());
    copy(buffers[i].device.get(), buffers[i].host.get(), arguments[i].size());
  }
  weft_event *launched = nullptr, *ended = nullptr;
  weft_command launch = WEFT_INIT(weft_command);
  launch.opcode = WEFT_QUEUE_OPCODE_LAUNCH;
  launch.kernel = program.kernel;
  launch.arguments = launch_arguments.data(), launch.argument_count = static_cast<uint32_t>(launch_arguments.size());
  launch.options = &chained;
  launch.event = &launched;
  commands.push_back(launch);
  for (size_t i = 0; i < buffers.size(); i++)
    if (program.arguments[i].direction == WEFT_ARGUMENT_DIRECTION_OUTPUT)
      copy(buffers[i].host.get(), buffers[i].device.get(), program.arguments[i].size_bytes);
  const bool copies_back = commands.back().opcode == WEFT_QUEUE_OPCODE_COPY;
  commands.back().options = nullptr;
  if (copies_back) commands.back().event = &ended;
  if (const auto status = weft_submit(s.queue, commands.data(), static_cast<uint32_t>(commands.size()));
      status != WEFT_ERROR_OK)
    return driver_error(status);
  const EventHandle launch_handle(launched), end_handle(ended);
  if (ended != nullptr) (void)!weft_event_wait(ended, nullptr);
  for (weft_event* event : {launched, ended})  // the launch's own error, if it has failed
    if (event != nullptr)
      if (const auto status = weft_event_wait(event, nullptr); status != WEFT_ERROR_OK) return driver_error(status);
  result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  weft_event_info info = WEFT_INIT(weft_event_info);
  if (const auto status = weft_event_query(launched, &info); status != WEFT_ERROR_OK) return driver_error(status);
  result.start_cycle = info.start_cycle, result.end_cycle = info.end_cycle;
  std::vector<std::vector<std::byte>> outputs(arguments.size());
  for (size_t i = 0; i < buffers.size(); i++)
    if (program.arguments[i].direction == WEFT_ARGUMENT_DIRECTION_OUTPUT)
      outputs[i].assign(buffers[i].mapped, buffers[i].mapped + program.arguments[i].size_bytes);
  if (bytes <= kKeptBytes) program.kept = std::move(buffers);
  return outputs;
}

Status Session::close() {
  State& s = *state_;
  s.loaded.clear();
  weft_status status = WEFT_ERROR_OK;
  if (s.queue) status = weft_queue_release(std::exchange(s.queue, nullptr));
  if (s.device && s.owned)
    if (const auto closed = weft_close(std::exchange(s.device, nullptr), nullptr); closed != WEFT_ERROR_OK)
      status = closed;
  if (status != WEFT_ERROR_OK) return driver_error(status);
  return Ok{};
}

}  // namespace weft::runtime
