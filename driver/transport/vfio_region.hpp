// A region of a PCI function that Linux VFIO has opened: mapped into this process where it may be, else read and written.
#pragma once
#include <cstddef>
#include <cstdint>

#include "driver/status.hpp"
#include "driver/transport/transport.hpp"
#include "driver/transport/vfio_kernel.hpp"

namespace weft::driver {

/// Registers and doorbells are mapped: an access of 1, 2, 4 or 8 bytes is one load or store, as the device wants it of
/// registers of 8 bytes; the kernel's read and write make two of it. The kernel keeps the MSI-X table and parts of
/// configuration space for itself, so these are always read and written. Any thread.
class VfioRegion {
 public:
  VfioRegion() = default;
  /// Asks for the region's place and size. UNSUPPORTED: it has fewer than `bytes`. The descriptor outlives the region.
  static Result<VfioRegion> open(VfioKernel& kernel, int device, Region region, uint64_t bytes);
  VfioRegion(VfioRegion&& other) noexcept;
  VfioRegion& operator=(VfioRegion&& other) noexcept;
  ~VfioRegion();

  /// INVALID_ARGUMENT: outside of the region, or of a size or alignment that registers do not take. DEVICE_LOST.
  Status read(uint64_t offset, void* data, uint32_t bytes) const;
  Status write(uint64_t offset, const void* data, uint32_t bytes) const;

  [[nodiscard]] bool mapped() const { return data_ != nullptr; }

 private:
  [[nodiscard]] Status check(uint64_t offset, uint32_t bytes) const;

  int device_ = -1;
  Region region_ = Region::kConfig;
  uint64_t place_ = 0;  ///< in the device's file
  uint64_t bytes_ = 0;
  volatile std::byte* data_ = nullptr;
};

}  // namespace weft::driver
