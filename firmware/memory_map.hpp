/// What a command of the host may touch: IOVAs of its own function, and its function's share of HBM without the
/// firmware's part. Device addresses of the host count from the start of its share, so none names another's memory.
#pragma once
#include <stdint.h>

#include "firmware/admin/function.hpp"
#include "firmware/hal.hpp"

namespace weft::fw {

/// In COPY and FILL an address with bit 63 set is a device address in HBM, one with bit 63 clear an IOVA.
inline constexpr uint64_t kHbmAddressBit = UINT64_C(1) << 63;
/// Shares of HBM begin at multiples of this.
inline constexpr uint64_t kShareAlignment = WEFT_MANAGER_HBM_RESERVED_BYTES;

/// Where the function's address lies on the chip. Says nothing about whether the function may touch it.
inline Location locate(const Function& function, weft_address_space space, uint64_t address) {
  return space == WEFT_ADDRESS_SPACE_HBM ? hbm_at(function.hbm_base + address) : host_at(function.index, address);
}
inline Location locate(const Function& function, uint64_t address) {
  return (address & kHbmAddressBit) != 0 ? locate(function, WEFT_ADDRESS_SPACE_HBM, address & ~kHbmAddressBit)
                                         : locate(function, WEFT_ADDRESS_SPACE_HOST, address);
}

/// The function's own name for a place: what locate() was called with.
inline uint64_t address_of(const Function& function, Location where) {
  return where.space == WEFT_ADDRESS_SPACE_HBM ? where.address - function.hbm_base : where.address;
}

/// True if the range is a possible IOVA range (it does not reach bit 63). Whether it is mapped, the access will tell.
constexpr bool host_range_valid(uint64_t address, uint64_t bytes) {
  return address < kHbmAddressBit && bytes <= kHbmAddressBit - address;
}

/// True if `bytes` from `where` lie in what the function may touch: its share of HBM outside of the firmware's reserved
/// bytes, or its IOVA space.
inline bool range_valid(const Function& function, Location where, uint64_t bytes) {
  if (where.space != WEFT_ADDRESS_SPACE_HBM) return host_range_valid(where.address, bytes);
  const uint64_t end = function.hbm_base + function.hbm_bytes;
  return where.address >= function.hbm_base + WEFT_MANAGER_HBM_RESERVED_BYTES && where.address <= end &&
         bytes <= end - where.address;
}

}  // namespace weft::fw
