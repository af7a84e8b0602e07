// A slice, its queues, and one launch of all chips at a time.
#include "host/runtime/slice_session.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <utility>

#include "host/runtime/driver_error.hpp"
#include "weft/weft.h"

namespace weft::runtime {
namespace {

struct Release {
  void operator()(weft_buffer* b) const { weft_buffer_release(b); }
  void operator()(weft_program* p) const { weft_program_release(p); }
  void operator()(weft_event* e) const { weft_event_release(e); }
};
template <typename T>
using Handle = std::unique_ptr<T, Release>;

/// Of one chip, for one launch.
struct Launch {
  Handle<weft_program> program;
  std::vector<Handle<weft_buffer>> buffers;
  Handle<weft_event> event;
};

Error on_chip(uint32_t chip, Error error) {
  error.message = fmt::format("chip {}: {}", chip, error.message);
  return error;
}

}  // namespace

struct SliceSession::State {
  ~State() {
    for (weft_queue* queue : queues) (void)!weft_queue_release(queue);
    if (slice != nullptr) (void)!weft_slice_close(slice, nullptr);
  }

  Result<Handle<weft_buffer>> buffer(uint32_t chip, weft_memory memory, uint64_t bytes) const {
    weft_buffer* handle = nullptr;
    if (const auto status = weft_buffer_create(devices[chip], memory, bytes, &handle); status != WEFT_ERROR_OK)
      return driver_error(status);
    return Handle<weft_buffer>(handle);
  }
  /// Copies and waits.
  Status copy(uint32_t chip, weft_buffer* to, weft_buffer* from, uint64_t bytes) const {
    weft_event* event = nullptr;
    if (const auto status = weft_copy(queues[chip], to, 0, from, 0, bytes, nullptr, &event); status != WEFT_ERROR_OK)
      return driver_error(status);
    const Handle<weft_event> handle(event);
    if (const auto status = weft_event_wait(event, nullptr); status != WEFT_ERROR_OK) return driver_error(status);
    return Ok{};
  }
  Status upload(uint32_t chip, weft_buffer* to, const std::vector<std::byte>& data, uint64_t bytes) const;
  Result<std::vector<std::byte>> download(uint32_t chip, weft_buffer* from, uint64_t bytes) const;
  Result<Launch> prepare(uint32_t number, const compiler::Kernel& kernel, const std::vector<std::byte>& input) const;
  Status start(uint32_t number, Launch& launch) const;

  weft_slice* slice = nullptr;
  compiler::SliceShape shape;
  uint64_t link_bytes_per_second = 0;
  const spec::Chip* chip = nullptr;
  std::vector<weft_device*> devices;
  std::vector<weft_queue*> queues;
};

Status SliceSession::State::upload(uint32_t number, weft_buffer* to, const std::vector<std::byte>& data,
                                   uint64_t bytes) const {
  auto staging = buffer(number, WEFT_MEMORY_HOST, bytes);
  if (!staging.ok()) return staging.error();
  void* pointer = nullptr;
  if (const auto status = weft_buffer_map(staging.value().get(), &pointer); status != WEFT_ERROR_OK)
    return driver_error(status);
  if (!data.empty()) std::memcpy(pointer, data.data(), data.size());
  return copy(number, to, staging.value().get(), bytes);
}

Result<std::vector<std::byte>> SliceSession::State::download(uint32_t number, weft_buffer* from, uint64_t bytes) const {
  auto staging = buffer(number, WEFT_MEMORY_HOST, bytes);
  if (!staging.ok()) return staging.error();
  if (auto status = copy(number, staging.value().get(), from, bytes); !status.ok()) return status.error();
  void* pointer = nullptr;
  if (const auto status = weft_buffer_map(staging.value().get(), &pointer); status != WEFT_ERROR_OK)
    return driver_error(status);
  const auto* first = static_cast<const std::byte*>(pointer);
  return std::vector<std::byte>(first, first + bytes);
}

Result<Launch> SliceSession::State::prepare(uint32_t number, const compiler::Kernel& kernel,
                                            const std::vector<std::byte>& input) const {
  const uint64_t room = kernel.arguments.empty() ? 0 : kernel.arguments.front().size_bytes;
  if (input.size() > room)
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("an input of {} bytes: its argument has {}", input.size(), room)};
  const auto bytes = compiler::write_executable(*chip, kernel);
  if (!bytes.ok()) return bytes.error();
  Launch launch;
  weft_program* program = nullptr;
  if (const auto status = weft_program_load(devices[number], bytes.value().data(), bytes.value().size(), &program);
      status != WEFT_ERROR_OK)
    return driver_error(status);
  launch.program.reset(program);
  for (size_t i = 0; i < kernel.arguments.size(); i++) {
    auto memory = buffer(number, WEFT_MEMORY_HBM, kernel.arguments[i].size_bytes);
    if (!memory.ok()) return memory.error();
    launch.buffers.push_back(std::move(memory.value()));
    const auto& data = i == 0 ? input : std::vector<std::byte>{};
    if (auto status = upload(number, launch.buffers.back().get(), data, kernel.arguments[i].size_bytes); !status.ok())
      return status.error();
  }
  return launch;
}

Status SliceSession::State::start(uint32_t number, Launch& launch) const {
  weft_kernel* kernel = nullptr;
  if (const auto status = weft_program_get_kernel(launch.program.get(), 0, &kernel); status != WEFT_ERROR_OK)
    return driver_error(status);
  std::vector<weft_argument> arguments;
  for (const auto& b : launch.buffers) arguments.push_back({b.get(), 0});
  weft_event* event = nullptr;
  if (const auto status = weft_launch(queues[number], kernel, arguments.data(), static_cast<uint32_t>(arguments.size()),
                                      nullptr, &event);
      status != WEFT_ERROR_OK)
    return driver_error(status);
  launch.event.reset(event);
  return Ok{};
}

SliceSession::SliceSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
SliceSession::SliceSession(SliceSession&&) noexcept = default;
SliceSession& SliceSession::operator=(SliceSession&&) noexcept = default;
SliceSession::~SliceSession() = default;

const compiler::SliceShape& SliceSession::shape() const { return state_->shape; }
const spec::Chip& SliceSession::chip() const { return *state_->chip; }
uint64_t SliceSession::link_bytes_per_second() const { return state_->link_bytes_per_second; }

Result<SliceSession> SliceSession::open(const std::string& name) {
  auto state = std::make_unique<State>();
  if (const auto status = weft_slice_open(name.c_str(), &state->slice); status != WEFT_ERROR_OK)
    return driver_error(status);
  weft_slice_info info = WEFT_INIT(weft_slice_info);
  if (const auto status = weft_slice_get_info(state->slice, &info); status != WEFT_ERROR_OK)
    return driver_error(status);
  for (unsigned axis = 0; axis < 3; axis++) {
    state->shape.size[axis] = info.dimensions[axis];
    state->shape.wraps[axis] = info.wraps[axis] != 0;
  }
  state->link_bytes_per_second = info.link_bytes_per_second;
  for (uint32_t number = 0; number < info.chips; number++) {
    weft_device* device = nullptr;
    if (const auto status = weft_slice_get_device(state->slice, number, &device); status != WEFT_ERROR_OK)
      return driver_error(status);
    weft_queue* queue = nullptr;
    if (const auto status = weft_queue_create(device, nullptr, &queue); status != WEFT_ERROR_OK)
      return on_chip(number, driver_error(status));
    state->devices.push_back(device);
    state->queues.push_back(queue);
  }
  weft_device_info device = WEFT_INIT(weft_device_info);
  if (const auto status = weft_device_get_info(state->devices.front(), &device); status != WEFT_ERROR_OK)
    return driver_error(status);
  state->chip = spec::find_chip(device.preset);
  if (state->chip == nullptr)
    return Error{
        WEFT_ERROR_UNSUPPORTED,
        fmt::format("'{}' has chips of fingerprint {:#x}, which is no preset of this build", name, device.fingerprint)};
  return SliceSession(std::move(state));
}

Result<SliceResult> SliceSession::run(const std::vector<compiler::Kernel>& kernels,
                                      const std::vector<std::vector<std::byte>>& inputs) {
  State& s = *state_;
  if (kernels.size() != s.devices.size() || inputs.size() != s.devices.size())
    return Error{WEFT_ERROR_INVALID_ARGUMENT,
                 fmt::format("{} kernels and {} inputs for {} chips", kernels.size(), inputs.size(), s.devices.size())};
  std::vector<Launch> launches;
  for (uint32_t number = 0; number < kernels.size(); number++) {
    auto launch = s.prepare(number, kernels[number], inputs[number]);
    if (!launch.ok()) return on_chip(number, launch.error());
    launches.push_back(std::move(launch.value()));
  }
  if (const auto status = weft_slice_hold(s.slice); status != WEFT_ERROR_OK) return driver_error(status);
  std::optional<Error> failure;
  for (uint32_t number = 0; number < launches.size() && !failure; number++)
    if (auto status = s.start(number, launches[number]); !status.ok()) failure = on_chip(number, status.error());
  if (const auto status = weft_slice_resume(s.slice); status != WEFT_ERROR_OK) return driver_error(status);

  SliceResult result;
  for (uint32_t number = 0; number < launches.size(); number++) {
    if (launches[number].event == nullptr) break;
    const auto status = weft_event_wait(launches[number].event.get(), nullptr);
    if (status != WEFT_ERROR_OK && !failure) failure = on_chip(number, driver_error(status));
    weft_event_info info = WEFT_INIT(weft_event_info);
    (void)!weft_event_query(launches[number].event.get(), &info);
    result.start_cycle.push_back(info.start_cycle);
    result.end_cycle.push_back(info.end_cycle);
  }
  if (failure) return *failure;
  for (uint32_t number = 0; number < launches.size(); number++) {
    const auto& arguments = kernels[number].arguments;
    if (arguments.empty() || arguments.back().direction != WEFT_ARGUMENT_DIRECTION_OUTPUT) {
      result.outputs.emplace_back();
      continue;
    }
    auto data = s.download(number, launches[number].buffers.back().get(), arguments.back().size_bytes);
    if (!data.ok()) return on_chip(number, data.error());
    result.outputs.push_back(std::move(data.value()));
  }
  return result;
}

Result<SliceResult> run_collective(SliceSession& session, const compiler::Collective& collective,
                                   const std::vector<std::vector<std::byte>>& inputs) {
  std::vector<compiler::Kernel> kernels;
  for (uint32_t number = 0; number < session.shape().chips(); number++) {
    auto kernel = compiler::compile_collective(session.chip(), session.shape(), number, collective);
    if (!kernel.ok()) return kernel.error();
    kernels.push_back(std::move(kernel.value()));
  }
  return session.run(kernels, inputs);
}

}  // namespace weft::runtime
