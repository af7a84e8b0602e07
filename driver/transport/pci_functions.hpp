// PCI functions of this machine that are Weft chips, as sysfs shows them, and what keeps a program from opening one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "driver/status.hpp"
#include "driver/transport/vfio_kernel.hpp"

namespace weft::driver {

struct PciFunction {
  std::string address;  ///< "0000:00:05.0"
  std::string driver;   ///< that it is bound to; empty: none
  std::string group;    ///< of its IOMMU; empty: none translates for it
  std::string device;   ///< its file in /dev/vfio/devices; empty: the kernel has none (no iommufd)
  uint16_t vendor_id = 0;
  uint16_t device_id = 0;
};

/// All Weft chips, in the order of their addresses. Empty: there are none, or no sysfs.
std::vector<PciFunction> weft_functions(const VfioKernel& kernel);

/// `address` with or without its domain: "0000:00:05.0", "00:05.0". INVALID_ARGUMENT: not of this form; DEVICE_LOST: no
/// such function; UNSUPPORTED: not a Weft chip.
Result<PciFunction> find_function(const VfioKernel& kernel, const std::string& address);

/// By the kernel's iommufd, where it has one, instead of a container and a group.
bool uses_iommufd(const VfioKernel& kernel, const PciFunction& function);

/// What sysfs and the rights of files tell without opening it: INVALID_STATE if it is not bound to vfio-pci, if no IOMMU
/// translates for it, or if this user may not open it. Each says what to do. OK: nothing is known that is in the way.
Status obstacle(const VfioKernel& kernel, const PciFunction& function);

/// Process that has it open; 0: none, or one of another user, whose files this one may not see.
uint32_t owner_of(const VfioKernel& kernel, const PciFunction& function);

}  // namespace weft::driver
