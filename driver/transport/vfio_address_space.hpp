// The I/O addresses of a PCI function and what memory of this process they reach, by the kernel's IOMMU.
#pragma once
#include <cstdint>
#include <memory>

#include "driver/status.hpp"
#include "driver/transport/pci_functions.hpp"

namespace weft::driver {

/// One IOMMU domain. Its end takes all maps away. Any thread.
class VfioAddressSpace {
 public:
  virtual ~VfioAddressSpace() = default;

  /// Lets the function read and write `bytes` from `data` at `iova`; multiples of the page size. The pages are locked in
  /// memory. NO_HOST_MEMORY: says which limit, and what to do.
  virtual Status map(uint64_t iova, void* data, uint64_t bytes) = 0;

  /// When it returns OK, the function does not reach the range any more, which one map() has made.
  virtual Status unmap(uint64_t iova, uint64_t bytes) = 0;
};

/// An open function: the file of its regions, interrupts and reset, and its address space, which outlives it.
struct VfioFunction {
  std::unique_ptr<VfioAddressSpace> space;
  FileDescriptor device;
};

/// Opens a function by a container and its group, or by iommufd where the kernel has that. BUSY: another process has it
/// (and which, if that can be seen); INVALID_STATE as obstacle() says, or the group has functions of other drivers;
/// UNSUPPORTED: the IOMMU cannot do it.
Result<VfioFunction> open_function(VfioKernel& kernel, const PciFunction& function);

}  // namespace weft::driver
