// Layouts and numbers of <linux/iommufd.h> and of VFIO's device files: Linux 6.2 and 6.6, which the headers of Debian 12
// do not have yet.
#pragma once
#include <linux/ioctl.h>
#include <linux/vfio.h>

#include <cstdint>

namespace weft::driver::iommufd {

struct Allocate {
  uint32_t size;
  uint32_t flags;
  uint32_t out_id;
};
static_assert(sizeof(Allocate) == 12);

struct Map {
  uint32_t size;
  uint32_t flags;
  uint32_t id;
  uint32_t reserved;
  uint64_t user_address;
  uint64_t bytes;
  uint64_t iova;
};
static_assert(sizeof(Map) == 40);
inline constexpr uint32_t kFixedIova = 1, kWritable = 2, kReadable = 4;

struct Unmap {
  uint32_t size;
  uint32_t id;
  uint64_t iova;
  uint64_t bytes;  ///< out: how many were unmapped
};
static_assert(sizeof(Unmap) == 24);

/// Of a device's file.
struct Bind {
  uint32_t size;
  uint32_t flags;
  int32_t iommufd;
  uint32_t out_id;
};
static_assert(sizeof(Bind) == 16);

struct Attach {
  uint32_t size;
  uint32_t flags;
  uint32_t id;  ///< of the address space
};
static_assert(sizeof(Attach) == 12);

inline constexpr unsigned long kAllocate = _IO(';', 0x81);
inline constexpr unsigned long kMap = _IO(';', 0x85);
inline constexpr unsigned long kUnmap = _IO(';', 0x86);
inline constexpr unsigned long kBind = _IO(VFIO_TYPE, VFIO_BASE + 18);
inline constexpr unsigned long kAttach = _IO(VFIO_TYPE, VFIO_BASE + 19);

}  // namespace weft::driver::iommufd
