// C ABI: command buffers, recorded once and replayed with one doorbell.
#include <mutex>

#include "driver/abi/abi_command.hpp"

namespace {

using namespace weft::driver;
using namespace weft::driver::abi;

/// What was recorded; never changes. A patch makes another one, so replays in flight keep theirs.
using Recording = std::vector<PreparedCommand>;

}  // namespace

struct weft_command_buffer {
  DeviceHandle device;
  uint32_t generation;
  std::mutex mutex;  ///< the pointer; a replay holds it only to take a copy
  std::shared_ptr<const Recording> recording;
  std::vector<TimelineHandle> signals;  ///< by command: what a replay could still raise
};

namespace weft::driver::abi {

inline bool inherited(const weft_command_buffer* handle) { return inherited_handle(handle); }

}  // namespace weft::driver::abi

namespace {

/// All commands of a buffer but the last are links of one chain.
Result<PreparedCommand> record(const DeviceHandle& device, const weft_command& command, uint32_t index,
                               uint32_t count) {
  if (command.event != nullptr)
    return in_batch(Status(WEFT_ERROR_INVALID_ARGUMENT, "a recorded command has no event: its replays have"), index,
                    count);
  auto made = prepare_command(device, command);
  if (!made.ok()) return in_batch(made.status(), index, count);
  if ((made.value().command.flags & WEFT_SUBMISSION_FLAG_PROFILE) != 0)
    return in_batch(Status(WEFT_ERROR_INVALID_ARGUMENT, "a recorded command has no profile"), index, count);
  if (index + 1 != count) made.value().command.flags |= WEFT_SUBMISSION_FLAG_CHAIN;
  return made;
}

Status check_generation(const weft_command_buffer& buffer) {
  if (Status s = buffer.device->check_not_closed(); !s.ok()) return s;
  if (buffer.generation == buffer.device->generation()) return {};
  return failure(WEFT_ERROR_INVALID_STATE,
                 "the command buffer was recorded in generation {}, the device is in {}: record it again",
                 buffer.generation, buffer.device->generation());
}

std::shared_ptr<const Recording> recording_of(weft_command_buffer& buffer) {
  const std::lock_guard lock(buffer.mutex);
  return buffer.recording;
}

}  // namespace

weft_status weft_command_buffer_create(weft_device* device, const weft_command* commands, uint32_t count,
                                       weft_command_buffer** buffer) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(buffer);
    *buffer = nullptr;
    WEFT_REQUIRE(device);
    WEFT_REQUIRE(commands);
    if (count == 0 || count > WEFT_LIMIT_RING_ENTRIES_MAX)
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "a command buffer of {} commands: 1 to {}", count,
                     WEFT_LIMIT_RING_ENTRIES_MAX);
    std::vector<weft_command> own;
    const auto known = taken_commands(commands, count, own);
    if (!known.ok()) return known.status();
    const uint32_t generation = device->device->generation();
    Recording recording;
    recording.reserve(count);
    for (uint32_t i = 0; i < count; i++) {
      auto made = record(device->device, known.value()[i], i, count);
      if (!made.ok()) return made.status();
      recording.push_back(std::move(made.value()));
    }
    std::vector<TimelineHandle> signals;
    signals.reserve(count);
    for (const PreparedCommand& command : recording) signals.emplace_back(command.signal);
    *buffer = new weft_command_buffer{
        device->device, generation, {}, std::make_shared<const Recording>(std::move(recording)), std::move(signals)};
    return {};
  });
}

weft_status weft_command_buffer_patch(weft_command_buffer* buffer, uint32_t index, const weft_command* command) {
  return guard([&]() -> Status {
    WEFT_REQUIRE(buffer);
    const auto known = taken(command, "command");
    if (!known.ok()) return known.status();
    const weft_command& patch = known.value();
    if (Status s = check_generation(*buffer); !s.ok()) return s;
    const std::lock_guard lock(buffer->mutex);
    const Recording& now = *buffer->recording;
    const auto count = static_cast<uint32_t>(now.size());
    if (index >= count)
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "command {} of a command buffer of {}", index, count);
    if (patch.opcode != static_cast<weft_queue_opcode>(now[index].command.opcode)) {
      return failure(WEFT_ERROR_INVALID_ARGUMENT, "command {} was recorded with opcode {}, the patch has {}", index,
                     now[index].command.opcode, static_cast<int>(patch.opcode));
    }
    auto made = record(buffer->device, patch, index, count);
    if (!made.ok()) return made.status();
    auto patched = std::make_shared<Recording>(now);
    (*patched)[index] = std::move(made.value());
    buffer->signals[index] = TimelineHandle((*patched)[index].signal);
    buffer->recording = std::move(patched);
    return {};
  });
}

weft_status weft_command_buffer_submit(weft_queue* queue, weft_command_buffer* buffer, weft_event** event) {
  return guard([&]() -> Status {
    if (event != nullptr) *event = nullptr;
    WEFT_REQUIRE(queue);
    WEFT_REQUIRE(buffer);
    if (buffer->device != queue->device)
      return Status(WEFT_ERROR_INVALID_ARGUMENT, "the command buffer belongs to another device");
    if (Status s = check_generation(*buffer); !s.ok()) return s;
    const auto recording = recording_of(*buffer);
    std::vector<Submission> submissions;
    submissions.reserve(recording->size());
    for (const PreparedCommand& p : *recording) {
      Submission& submission = submissions.emplace_back(make_event(*queue->queue, p, {recording}), p.command);
      submission.command.arguments = p.arguments;
      submission.command.interrupt = &p == &recording->back();
    }
    std::unique_ptr<weft_event> handle;
    if (event != nullptr) {  // before the submission: nothing may fail after it
      handle = std::make_unique<weft_event>();
      handle->device = queue->device;
      handle->event = submissions.back().event;
    }
    if (Status s = queue->device->submit(*queue->queue, submissions); !s.ok()) return s;
    if (event != nullptr) *event = handle.release();
    return {};
  });
}

void weft_command_buffer_release(weft_command_buffer* buffer) {
  if (buffer == nullptr || put_aside(buffer, inherited(buffer))) return;
  delete buffer;
}
