/// Layout of the vfio-user messages that the server speaks (docs/interop/vfio-user.rst of QEMU, protocol 0.1).
/// Little-endian.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::server {

inline constexpr uint16_t kProtocolMajor = 0;
inline constexpr uint16_t kProtocolMinor = 1;

enum class Command : uint16_t {
  kVersion = 1,
  kDmaMap = 2,
  kDmaUnmap = 3,
  kDeviceGetInfo = 4,
  kDeviceGetRegionInfo = 5,
  kDeviceGetRegionIoFds = 6,
  kDeviceGetIrqInfo = 7,
  kDeviceSetIrqs = 8,
  kRegionRead = 9,
  kRegionWrite = 10,
  kDmaRead = 11,
  kDmaWrite = 12,
  kDeviceReset = 13,
};

/// Before every message, both ways.
struct Header {
  uint16_t message_id;
  uint16_t command;
  uint32_t size;  ///< bytes of the message, this header included
  uint32_t flags;
  uint32_t error;  ///< errno of an error reply
};
static_assert(sizeof(Header) == 16 && offsetof(Header, size) == 4 && offsetof(Header, flags) == 8 &&
              offsetof(Header, error) == 12);

inline constexpr uint32_t kTypeMask = 0xf;
inline constexpr uint32_t kTypeCommand = 0;
inline constexpr uint32_t kTypeReply = 1;
inline constexpr uint32_t kFlagNoReply = 1 << 4;
inline constexpr uint32_t kFlagError = 1 << 5;

/// VERSION; JSON text with its final zero may follow.
struct VersionBody {
  uint16_t major;
  uint16_t minor;
};
static_assert(sizeof(VersionBody) == 4);

struct DmaMapBody {
  uint32_t argument_bytes;
  uint32_t flags;
  uint64_t offset;
  uint64_t address;
  uint64_t bytes;
};
static_assert(sizeof(DmaMapBody) == 32 && offsetof(DmaMapBody, address) == 16);
inline constexpr uint32_t kDmaReadable = 1 << 0;
inline constexpr uint32_t kDmaWritable = 1 << 1;
inline constexpr uint32_t kUnmapAll = 1 << 1;  ///< of DMA_UNMAP: VFIO_DMA_UNMAP_FLAG_ALL

/// Also its reply.
struct DmaUnmapBody {
  uint32_t argument_bytes;
  uint32_t flags;
  uint64_t address;
  uint64_t bytes;
};
static_assert(sizeof(DmaUnmapBody) == 24 && offsetof(DmaUnmapBody, address) == 8);

struct DeviceInfoBody {
  uint32_t argument_bytes;
  uint32_t flags;
  uint32_t regions;
  uint32_t irqs;
};
static_assert(sizeof(DeviceInfoBody) == 16);

struct RegionInfoBody {
  uint32_t argument_bytes;
  uint32_t flags;
  uint32_t index;
  uint32_t capability_offset;
  uint64_t bytes;
  uint64_t offset;
};
static_assert(sizeof(RegionInfoBody) == 32 && offsetof(RegionInfoBody, bytes) == 16);

struct IrqInfoBody {
  uint32_t argument_bytes;
  uint32_t flags;
  uint32_t index;
  uint32_t count;
};
static_assert(sizeof(IrqInfoBody) == 16);

/// Booleans may follow, one byte each; eventfds travel beside it.
struct IrqSetBody {
  uint32_t argument_bytes;
  uint32_t flags;
  uint32_t index;
  uint32_t start;
  uint32_t count;
};
static_assert(sizeof(IrqSetBody) == 20);

/// REGION_READ and REGION_WRITE, and their replies; `count` bytes of data follow a write and the reply to a read.
struct RegionAccessBody {
  uint64_t offset;
  uint32_t region;
  uint32_t count;
};
static_assert(sizeof(RegionAccessBody) == 16 && offsetof(RegionAccessBody, region) == 8);

/// DMA_READ and DMA_WRITE, which the server sends, and their replies; `count` bytes of data follow a write and the
/// reply to a read.
struct DmaAccessBody {
  uint64_t address;
  uint64_t count;
};
static_assert(sizeof(DmaAccessBody) == 16);

}  // namespace weft::server
