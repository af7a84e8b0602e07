/// What a command of the host may touch: address spaces, and ranges of HBM outside of the firmware's own.
#pragma once
#include <stdint.h>

#include "firmware/hal.hpp"

namespace weft::fw {

/// In COPY and FILL an address with bit 63 set is a device address in HBM, one with bit 63 clear an IOVA.
inline constexpr uint64_t kHbmAddressBit = UINT64_C(1) << 63;

struct Location {
  weft_address_space space;
  uint64_t address;  ///< within the space, without kHbmAddressBit
};

constexpr Location locate(uint64_t address) {
  return (address & kHbmAddressBit) != 0 ? Location{WEFT_ADDRESS_SPACE_HBM, address & ~kHbmAddressBit}
                                         : Location{WEFT_ADDRESS_SPACE_HOST, address};
}

/// True if `bytes` from `address` lie in HBM and outside of the firmware's reserved area.
inline bool hbm_range_valid(uint64_t address, uint64_t bytes) {
  const uint64_t size = hal::hbm_bytes();
  return address >= WEFT_MANAGER_HBM_RESERVED_BYTES && address <= size && bytes <= size - address;
}

/// True if the range is a possible IOVA range (it does not reach bit 63). Whether it is mapped, the access will tell.
constexpr bool host_range_valid(uint64_t address, uint64_t bytes) {
  return address < kHbmAddressBit && bytes <= kHbmAddressBit - address;
}

inline bool range_valid(Location where, uint64_t bytes) {
  return where.space == WEFT_ADDRESS_SPACE_HBM ? hbm_range_valid(where.address, bytes)
                                               : host_range_valid(where.address, bytes);
}

}  // namespace weft::fw
