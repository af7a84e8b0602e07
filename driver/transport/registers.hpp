// BAR0 registers and doorbells as typed accesses.
#pragma once
#include "driver/transport/transport.hpp"

namespace weft::driver {

/// All ones: the device is gone.
inline constexpr uint32_t kAllOnes = 0xffffffffu;
inline constexpr uint64_t kAllOnes64 = ~uint64_t{0};

inline Result<uint32_t> read32(Transport& transport, uint64_t offset) {
  uint32_t value = 0;
  if (Status s = transport.read(Region::kRegisters, offset, &value, sizeof value); !s.ok()) return s;
  return value;
}

inline Result<uint64_t> read64(Transport& transport, uint64_t offset) {
  uint64_t value = 0;
  if (Status s = transport.read(Region::kRegisters, offset, &value, sizeof value); !s.ok()) return s;
  return value;
}

inline Status write32(Transport& transport, uint64_t offset, uint32_t value) {
  return transport.write(Region::kRegisters, offset, &value, sizeof value);
}

inline Status write64(Transport& transport, uint64_t offset, uint64_t value) {
  return transport.write(Region::kRegisters, offset, &value, sizeof value);
}

inline Status post64(Transport& transport, uint64_t offset, uint64_t value) {
  return transport.post(Region::kRegisters, offset, &value, sizeof value);
}

inline constexpr uint64_t kDoorbellStride = 8;
inline constexpr uint64_t kCompletionDoorbell = 4;

inline Status ring_submission_doorbell(Transport& transport, uint32_t queue, uint32_t tail) {
  return transport.post(Region::kDoorbells, kDoorbellStride * queue, &tail, sizeof tail);
}

inline Status ring_completion_doorbell(Transport& transport, uint32_t queue, uint32_t head) {
  return transport.post(Region::kDoorbells, kDoorbellStride * queue + kCompletionDoorbell, &head, sizeof head);
}

}  // namespace weft::driver
