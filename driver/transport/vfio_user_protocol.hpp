// Messages of the vfio-user protocol (docs/interop/vfio-user.rst of QEMU), as far as this client speaks it.
// Little-endian.
#pragma once
#include <cstdint>

namespace weft::driver::vfio_user {

inline constexpr uint16_t kMajor = 0;
inline constexpr uint16_t kMinor = 1;

enum class Command : uint16_t {
  kVersion = 1,
  kDmaMap = 2,
  kDmaUnmap = 3,
  kDeviceGetInfo = 4,
  kDeviceGetRegionInfo = 5,
  kDeviceGetIrqInfo = 7,
  kDeviceSetIrqs = 8,
  kRegionRead = 9,
  kRegionWrite = 10,
  kDeviceReset = 13,
};

/// Precedes every message and every reply. Flags: type in bits 3:0.
struct Header {
  uint16_t message_id;
  uint16_t command;
  uint32_t message_bytes;  ///< with this header
  uint32_t flags;
  uint32_t error;  ///< errno of a reply with kFlagError
};
static_assert(sizeof(Header) == 16);
inline constexpr uint32_t kTypeMask = 0xf;
inline constexpr uint32_t kTypeCommand = 0;
inline constexpr uint32_t kTypeReply = 1;
inline constexpr uint32_t kFlagNoReply = 1u << 4;
inline constexpr uint32_t kFlagError = 1u << 5;

/// VERSION, both ways; JSON text with its terminating zero follows.
struct Version {
  uint16_t major;
  uint16_t minor;
};
static_assert(sizeof(Version) == 4);

/// DMA_MAP; the descriptor travels beside it. Reply: nothing.
struct DmaMap {
  uint32_t argument_bytes;
  uint32_t flags;
  uint64_t fd_offset;
  uint64_t address;
  uint64_t bytes;
};
static_assert(sizeof(DmaMap) == 32);
inline constexpr uint32_t kDmaReadable = 1;
inline constexpr uint32_t kDmaWritable = 2;

/// DMA_UNMAP, both ways.
struct DmaUnmap {
  uint32_t argument_bytes;
  uint32_t flags;
  uint64_t address;
  uint64_t bytes;
};
static_assert(sizeof(DmaUnmap) == 24);

/// DEVICE_GET_INFO, both ways.
struct DeviceInfo {
  uint32_t argument_bytes;
  uint32_t flags;
  uint32_t regions;
  uint32_t irqs;
};
static_assert(sizeof(DeviceInfo) == 16);

/// DEVICE_GET_REGION_INFO, both ways.
struct RegionInfo {
  uint32_t argument_bytes;
  uint32_t flags;
  uint32_t index;
  uint32_t capability_offset;
  uint64_t bytes;
  uint64_t fd_offset;
};
static_assert(sizeof(RegionInfo) == 32);
inline constexpr uint32_t kRegionReadable = 1;
inline constexpr uint32_t kRegionWritable = 2;

/// DEVICE_GET_IRQ_INFO, both ways.
struct IrqInfo {
  uint32_t argument_bytes;
  uint32_t flags;
  uint32_t index;
  uint32_t count;
};
static_assert(sizeof(IrqInfo) == 16);
inline constexpr uint32_t kIrqMsix = 2;

/// DEVICE_SET_IRQS; eventfds travel beside it. Reply: nothing.
struct IrqSet {
  uint32_t argument_bytes;
  uint32_t flags;
  uint32_t index;
  uint32_t start;
  uint32_t count;
};
static_assert(sizeof(IrqSet) == 20);
inline constexpr uint32_t kIrqDataNone = 1u << 0;
inline constexpr uint32_t kIrqDataEventfd = 1u << 2;
inline constexpr uint32_t kIrqActionTrigger = 1u << 5;

/// REGION_READ (reply: the same and the data), REGION_WRITE (the data follows; reply: the same without data).
struct RegionAccess {
  uint64_t offset;
  uint32_t region;
  uint32_t bytes;
};
static_assert(sizeof(RegionAccess) == 16);

}  // namespace weft::driver::vfio_user
