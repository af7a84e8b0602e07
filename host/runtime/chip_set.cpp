// Opening, and staging of data through buffers in host memory.
#include "host/runtime/chip_set.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "host/runtime/driver_error.hpp"
#include "host/runtime/open_chips.hpp"

namespace weft::runtime {

struct ChipSet::State {
  ~State() {
    for (weft_queue* queue : queues) (void)!weft_queue_release(queue);
    if (slice != nullptr)
      (void)!weft_slice_close(slice, nullptr);
    else
      for (weft_device* device : devices) (void)!weft_close(device, nullptr);
  }

  /// A queue for each device, and the preset that all have.
  Status begin(const std::string& name) {
    for (size_t number = 0; number < devices.size(); number++) {
      weft_queue* queue = nullptr;
      if (const auto status = weft_queue_create(devices[number], nullptr, &queue); status != WEFT_ERROR_OK)
        return failure(static_cast<uint32_t>(number), driver_error(status));
      queues.push_back(queue);
    }
    const auto preset = preset_of(devices.front());
    if (!preset.ok()) return Error{preset.error().code, fmt::format("'{}': {}", name, preset.error().message)};
    chip = preset.value();
    return Ok{};
  }

  Error failure(uint32_t number, Error error) const {
    return devices.size() > 1 ? on_chip(number, std::move(error)) : error;
  }

  Status copy(uint32_t number, weft_buffer* to, uint64_t to_offset, weft_buffer* from, uint64_t from_offset,
              uint64_t bytes) const {
    weft_event* event = nullptr;
    auto status = weft_copy(queues[number], to, to_offset, from, from_offset, bytes, nullptr, &event);
    const EventHandle handle(event);
    if (status == WEFT_ERROR_OK) status = weft_event_wait(event, nullptr);
    if (status != WEFT_ERROR_OK) return failure(number, driver_error(status));
    return Ok{};
  }

  weft_slice* slice = nullptr;
  bool held = false;  // time, by us
  compiler::SliceShape shape;
  const spec::Chip* chip = nullptr;
  std::vector<weft_device*> devices;
  std::vector<weft_queue*> queues;
};

ChipSet::ChipSet(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChipSet::ChipSet(ChipSet&&) noexcept = default;
ChipSet& ChipSet::operator=(ChipSet&&) noexcept = default;
ChipSet::~ChipSet() = default;

const compiler::SliceShape& ChipSet::shape() const { return state_->shape; }
const spec::Chip& ChipSet::chip() const { return *state_->chip; }
uint64_t ChipSet::link_bytes_per_second() const { return state_->shape.link_bytes_per_second; }
weft_queue* ChipSet::queue(uint32_t chip) const { return state_->queues[chip]; }
weft_device* ChipSet::device(uint32_t chip) const { return state_->devices[chip]; }
weft_slice* ChipSet::slice() const { return state_->slice; }
Error ChipSet::error(uint32_t chip, weft_status status) const { return state_->failure(chip, driver_error(status)); }

Result<ChipSet> ChipSet::open_chip(const Target& target) {
  auto state = std::make_unique<State>();
  weft_device* device = nullptr;
  if (const auto status = weft_open(device_name(target).c_str(), &device); status != WEFT_ERROR_OK)
    return driver_error(status);
  state->devices.push_back(device);
  if (auto status = state->begin(device_name(target)); !status.ok()) return status.error();
  return ChipSet(std::move(state));
}

Result<ChipSet> ChipSet::open_slice(const std::string& name) {
  auto state = std::make_unique<State>();
  if (const auto status = weft_slice_open(name.c_str(), &state->slice); status != WEFT_ERROR_OK)
    return driver_error(status);
  auto shape = shape_of(state->slice);
  if (!shape.ok()) return shape.error();
  state->shape = shape.value();
  for (uint32_t number = 0; number < state->shape.chips(); number++) {
    weft_device* device = nullptr;
    if (const auto status = weft_slice_get_device(state->slice, number, &device); status != WEFT_ERROR_OK)
      return driver_error(status);
    state->devices.push_back(device);
  }
  if (auto status = state->begin(name); !status.ok()) return status.error();
  return ChipSet(std::move(state));
}

Status ChipSet::hold() {
  if (state_->slice == nullptr) return Ok{};
  const auto status = weft_slice_hold(state_->slice);
  state_->held = status == WEFT_ERROR_OK;
  // Beside other tenants of the simulator, as on hardware, time goes on.
  return state_->held || status == WEFT_ERROR_UNSUPPORTED ? Status(Ok{}) : Status(driver_error(status));
}

Status ChipSet::resume() {
  if (!std::exchange(state_->held, false)) return Ok{};
  if (const auto status = weft_slice_resume(state_->slice); status != WEFT_ERROR_OK) return driver_error(status);
  return Ok{};
}

Result<ProgramHandle> ChipSet::load(uint32_t number, const compiler::Kernel& kernel) const {
  auto program = load_kernel(state_->devices[number], chip(), kernel);
  if (!program.ok()) return state_->failure(number, program.error());
  return program;
}

Result<BufferHandle> ChipSet::buffer(uint32_t number, weft_memory memory, uint64_t bytes) const {
  weft_buffer* handle = nullptr;
  if (const auto status = weft_buffer_create(state_->devices[number], memory, bytes, &handle); status != WEFT_ERROR_OK)
    return error(number, status);
  return BufferHandle(handle);
}

Status ChipSet::write(uint32_t number, const BufferHandle& to, uint64_t offset, std::span<const std::byte> data) const {
  if (data.empty()) return Ok{};
  auto staging = buffer(number, WEFT_MEMORY_HOST, data.size());
  if (!staging.ok()) return staging.error();
  void* pointer = nullptr;
  if (const auto status = weft_buffer_map(staging.value().get(), &pointer); status != WEFT_ERROR_OK)
    return error(number, status);
  std::memcpy(pointer, data.data(), data.size());
  return state_->copy(number, to.get(), offset, staging.value().get(), 0, data.size());
}

Result<std::vector<std::byte>> ChipSet::read(uint32_t number, const BufferHandle& from, uint64_t offset,
                                             uint64_t bytes) const {
  auto staging = buffer(number, WEFT_MEMORY_HOST, bytes);
  if (!staging.ok()) return staging.error();
  if (auto status = state_->copy(number, staging.value().get(), 0, from.get(), offset, bytes); !status.ok())
    return status.error();
  void* pointer = nullptr;
  if (const auto status = weft_buffer_map(staging.value().get(), &pointer); status != WEFT_ERROR_OK)
    return error(number, status);
  const auto* first = static_cast<const std::byte*>(pointer);
  return std::vector<std::byte>(first, first + bytes);
}

}  // namespace weft::runtime
