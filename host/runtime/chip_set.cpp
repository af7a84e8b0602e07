// Opening, and staging of data through buffers in host memory.
#include "host/runtime/chip_set.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "host/runtime/driver_error.hpp"

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
        return on_chip(static_cast<uint32_t>(number), driver_error(status));
      queues.push_back(queue);
    }
    weft_device_info info = WEFT_INIT(weft_device_info);
    if (const auto status = weft_device_get_info(devices.front(), &info); status != WEFT_ERROR_OK)
      return driver_error(status);
    chip = spec::find_chip(info.preset);
    if (chip == nullptr)
      return Error{
          WEFT_ERROR_UNSUPPORTED,
          fmt::format("'{}' has chips of fingerprint {:#x}, which is no preset of this build", name, info.fingerprint)};
    return Ok{};
  }

  Error on_chip(uint32_t number, Error error) const {
    if (devices.size() > 1) error.message = fmt::format("chip {}: {}", number, error.message);
    return error;
  }

  Status copy(uint32_t number, weft_buffer* to, uint64_t to_offset, weft_buffer* from, uint64_t from_offset,
              uint64_t bytes) const {
    weft_event* event = nullptr;
    auto status = weft_copy(queues[number], to, to_offset, from, from_offset, bytes, nullptr, &event);
    const EventHandle handle(event);
    if (status == WEFT_ERROR_OK) status = weft_event_wait(event, nullptr);
    if (status != WEFT_ERROR_OK) return on_chip(number, driver_error(status));
    return Ok{};
  }

  weft_slice* slice = nullptr;
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
Error ChipSet::error(uint32_t chip, weft_status status) const { return state_->on_chip(chip, driver_error(status)); }

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
  weft_slice_info info = WEFT_INIT(weft_slice_info);
  if (const auto status = weft_slice_get_info(state->slice, &info); status != WEFT_ERROR_OK)
    return driver_error(status);
  for (unsigned axis = 0; axis < 3; axis++) {
    state->shape.size[axis] = info.dimensions[axis];
    state->shape.wraps[axis] = info.wraps[axis] != 0;
  }
  state->shape.link_bytes_per_second = info.link_bytes_per_second;
  for (uint32_t number = 0; number < info.chips; number++) {
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
  if (const auto status = weft_slice_hold(state_->slice); status != WEFT_ERROR_OK) return driver_error(status);
  return Ok{};
}

Status ChipSet::resume() {
  if (state_->slice == nullptr) return Ok{};
  if (const auto status = weft_slice_resume(state_->slice); status != WEFT_ERROR_OK) return driver_error(status);
  return Ok{};
}

Result<ProgramHandle> ChipSet::load(uint32_t number, const compiler::Kernel& kernel) const {
  const auto bytes = compiler::write_executable(chip(), kernel);
  if (!bytes.ok()) return bytes.error();
  weft_program* program = nullptr;
  if (const auto status =
          weft_program_load(state_->devices[number], bytes.value().data(), bytes.value().size(), &program);
      status != WEFT_ERROR_OK)
    return error(number, status);
  return ProgramHandle(program);
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
