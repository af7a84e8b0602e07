// The mock's timeline semaphores.
#include <cstring>

#include "driver/mock/transport_mock.hpp"

namespace weft::driver {

using E = weft_submission_entry;

bool MockTransport::waits(const E& entry) const {
  const auto timeline = timelines_.find(entry.wait_id);
  if (timeline == timelines_.end()) return false;
  return timeline->second.now.value < entry.wait_value && timeline->second.now.failed == 0;
}

void MockTransport::publish(MockTimeline& timeline) {
  signalled_ = true;
  std::byte* mirror = host(timeline.mirror_iova, sizeof timeline.now);
  if (mirror == nullptr) return;
  constexpr size_t kLastWord = offsetof(weft_timeline_mirror, error);
  std::memcpy(mirror, &timeline.now, kLastWord);
  uint64_t last = 0;
  std::memcpy(&last, reinterpret_cast<const char*>(&timeline.now) + kLastWord, sizeof last);
  // Release: pairs with the acquire load in Timeline::failure.
  __atomic_store_n(reinterpret_cast<uint64_t*>(mirror + kLastWord), last, __ATOMIC_RELEASE);
  raise(0);
}

void MockTransport::signal(uint32_t queue, const E& entry, Outcome& outcome) {
  const auto found = timelines_.find(entry.signal_id);
  if (found == timelines_.end() || found->second.now.failed != 0 || outcome.error == WEFT_ERROR_BAD_DESCRIPTOR) return;
  weft_timeline_mirror& now = found->second.now;
  if (outcome.error == WEFT_ERROR_OK && entry.signal_value <= now.value) {
    outcome = {WEFT_ERROR_SEMAPHORE_FAULT, entry.signal_id, now.value, outcome.start};
    return;
  }
  if (outcome.error == WEFT_ERROR_OK) {
    now.value = entry.signal_value;
  } else {
    const bool dependant = outcome.error == WEFT_ERROR_DEPENDENCY_FAILED;
    now.failed = 1;
    now.root =
        dependant ? outcome.detail0 : uint64_t{entry.command_id} | uint64_t{queue} << 16 | uint64_t{entry.tag} << 32;
    now.error = dependant ? static_cast<uint32_t>(outcome.detail1) : outcome.error;
  }
  publish(found->second);
}

/// The semaphore that a command owes, which was ended with `error`, fails.
void MockTransport::fail_signal(uint32_t queue, const E& entry, uint32_t error) {
  Outcome outcome{error};
  signal(queue, entry, outcome);
}

MockTransport::Outcome MockTransport::execute_timeline(const E& entry) {
  if (entry.opcode == WEFT_ADMIN_OPCODE_CREATE_TIMELINE) {
    if (timelines_.count(entry.size) != 0) return {WEFT_ERROR_INVALID_STATE, offsetof(E, size), entry.size, 0};
    timelines_[entry.size] = {{entry.arg0, 0, 0, 0}, entry.arg1};
    return {};
  }
  const bool signal = entry.opcode == WEFT_ADMIN_OPCODE_SIGNAL_TIMELINE;
  const uint32_t error = signal ? static_cast<uint32_t>(entry.size >> 32) : uint32_t{WEFT_ERROR_OK};
  const auto found = timelines_.find(signal ? static_cast<uint32_t>(entry.size) : entry.size);
  if (found == timelines_.end()) return {WEFT_ERROR_INVALID_STATE, offsetof(E, size), entry.size, 0};
  if (entry.opcode == WEFT_ADMIN_OPCODE_DELETE_TIMELINE) {
    timelines_.erase(found);
    return {};
  }
  weft_timeline_mirror& now = found->second.now;
  if (error != WEFT_ERROR_OK) {  // what a command owed that the driver has ended
    if (now.failed != 0 || entry.arg0 <= now.value) return {};
    now.failed = 1;
    now.root = entry.arg1;
    now.error = error;
    publish(found->second);
    return {};
  }
  if (now.failed != 0) return {WEFT_ERROR_DEPENDENCY_FAILED, now.root, now.error, 0};
  if (entry.arg0 <= now.value) return {WEFT_ERROR_INVALID_ARGUMENT, offsetof(E, arg0), entry.arg0, 0};
  now.value = entry.arg0;
  publish(found->second);
  return {};
}

}  // namespace weft::driver
