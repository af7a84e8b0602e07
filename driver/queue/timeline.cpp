// A timeline semaphore as its mirror shows it.
#include "driver/queue/timeline.hpp"

#include "driver/report/fault_log.hpp"

namespace weft::driver {
namespace {

/// The mirror is written by the device while we look.
template <typename T>
T load(const HostMemory& mirror, size_t offset) {
  T value;
  // Acquire: pairs with the device's release store of the last 8 bytes (error, failed); the value lies before them.
  __atomic_load(reinterpret_cast<const T*>(mirror.data() + offset), &value, __ATOMIC_ACQUIRE);
  return value;
}

}  // namespace

uint64_t Timeline::value() const { return load<uint64_t>(*mirror_, offsetof(weft_timeline_mirror, value)); }

bool Timeline::failed() const { return load<uint32_t>(*mirror_, offsetof(weft_timeline_mirror, failed)) != 0; }

Status Timeline::failure() const {
  if (!failed()) return {};
  weft_fault_record record{};
  record.error = WEFT_ERROR_DEPENDENCY_FAILED;
  record.detail0 = load<uint64_t>(*mirror_, offsetof(weft_timeline_mirror, root));
  record.detail1 = load<uint32_t>(*mirror_, offsetof(weft_timeline_mirror, error));
  return failure_of(record);
}

Status Timeline::failure_of(const weft_fault_record& record) const {
  return ::weft::driver::failure(WEFT_ERROR_DEPENDENCY_FAILED, "semaphore {} stays at {}: {}", id_, value(),
                                 describe_record(record));
}

std::string Timeline::describe_wait(uint64_t value) const {
  return fmt::format("semaphore {} to reach {}, which stands at {}", id_, value, this->value());
}

}  // namespace weft::driver
