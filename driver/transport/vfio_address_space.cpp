// Type 1 of Linux VFIO, and iommufd.
#include "driver/transport/vfio_address_space.hpp"

#include <linux/vfio.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "driver/transport/iommufd.hpp"

namespace weft::driver {
namespace {

/// A map that the kernel has refused with `error`.
Status no_map(uint64_t iova, uint64_t bytes, int error) {
  const std::string what =
      fmt::format("mapping {} bytes of host memory at {:#x} for the device: {}", bytes, iova, std::strerror(error));
  if (error == ENOMEM) {
    rlimit locked{};
    (void)::getrlimit(RLIMIT_MEMLOCK, &locked);
    const std::string limit = locked.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(locked.rlim_cur);
    return failure(WEFT_ERROR_NO_HOST_MEMORY,
                   "{}. Memory that a device reaches is locked: RLIMIT_MEMLOCK of this process is {} (ulimit -l)", what,
                   limit);
  }
  if (error == ENOSPC)
    return failure(WEFT_ERROR_NO_HOST_MEMORY,
                   "{}: as many ranges as the kernel maps (/sys/module/vfio_iommu_type1/parameters/dma_entry_limit)",
                   what);
  if (error == EINVAL || error == EFAULT || error == ERANGE)
    return failure(WEFT_ERROR_NO_HOST_MEMORY, "{}: the IOMMU does not translate these addresses", what);
  return failure(WEFT_ERROR_NO_HOST_MEMORY, "{}", what);
}

Status no_unmap(uint64_t iova, uint64_t bytes, const char* why) {
  return failure(WEFT_ERROR_DEVICE_LOST, "unmapping {} bytes of host memory at {:#x}: {}", bytes, iova, why);
}

class Container : public VfioAddressSpace {
 public:
  Container(VfioKernel& kernel, FileDescriptor container, FileDescriptor group)
      : kernel_(kernel), container_(std::move(container)), group_(std::move(group)) {}

  Status map(uint64_t iova, void* data, uint64_t bytes) override {
    vfio_iommu_type1_dma_map map{};
    map.argsz = sizeof map;
    map.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
    map.vaddr = reinterpret_cast<uintptr_t>(data);
    map.iova = iova;
    map.size = bytes;
    if (kernel_.ioctl(container_.get(), VFIO_IOMMU_MAP_DMA, &map) != 0) return no_map(iova, bytes, errno);
    return {};
  }

  Status unmap(uint64_t iova, uint64_t bytes) override {
    vfio_iommu_type1_dma_unmap unmap{};
    unmap.argsz = sizeof unmap;
    unmap.iova = iova;
    unmap.size = bytes;
    if (kernel_.ioctl(container_.get(), VFIO_IOMMU_UNMAP_DMA, &unmap) != 0)
      return no_unmap(iova, bytes, std::strerror(errno));
    if (unmap.size != bytes) return no_unmap(iova, bytes, "the kernel had other ranges there");
    return {};
  }

 private:
  VfioKernel& kernel_;
  FileDescriptor container_;
  FileDescriptor group_;
};

class Iommufd : public VfioAddressSpace {
 public:
  Iommufd(VfioKernel& kernel, FileDescriptor iommufd, uint32_t id)
      : kernel_(kernel), iommufd_(std::move(iommufd)), id_(id) {}

  Status map(uint64_t iova, void* data, uint64_t bytes) override {
    iommufd::Map map{sizeof map,
                     iommufd::kFixedIova | iommufd::kWritable | iommufd::kReadable,
                     id_,
                     0,
                     reinterpret_cast<uintptr_t>(data),
                     bytes,
                     iova};
    if (kernel_.ioctl(iommufd_.get(), iommufd::kMap, &map) != 0) return no_map(iova, bytes, errno);
    return {};
  }

  Status unmap(uint64_t iova, uint64_t bytes) override {
    iommufd::Unmap unmap{sizeof unmap, id_, iova, bytes};
    if (kernel_.ioctl(iommufd_.get(), iommufd::kUnmap, &unmap) != 0) return no_unmap(iova, bytes, std::strerror(errno));
    if (unmap.bytes != bytes) return no_unmap(iova, bytes, "the kernel had other ranges there");
    return {};
  }

 private:
  VfioKernel& kernel_;
  FileDescriptor iommufd_;
  uint32_t id_;
};

/// A step of opening that the kernel has refused with errno.
Status refused(const PciFunction& function, const std::string& step) {
  return failure(WEFT_ERROR_DEVICE_LOST, "opening PCI function {}: {}: {}", function.address, step,
                 std::strerror(errno));
}

Status busy(const VfioKernel& kernel, const PciFunction& function) {
  const uint32_t pid = owner_of(kernel, function);
  return failure(WEFT_ERROR_BUSY, "PCI function {} belongs to {}; it is free when that ends", function.address,
                 pid == 0 ? std::string("another process") : fmt::format("process {}", pid));
}

Result<VfioFunction> open_by_group(VfioKernel& kernel, const PciFunction& function) {
  FileDescriptor container = kernel.open("/dev/vfio/vfio");
  if (!container.valid()) return refused(function, "/dev/vfio/vfio");
  const std::string group_file = "/dev/vfio/" + function.group;
  FileDescriptor group = kernel.open(group_file);
  if (!group.valid()) return errno == EBUSY ? busy(kernel, function) : refused(function, group_file);
  vfio_group_status status{};
  status.argsz = sizeof status;
  if (kernel.ioctl(group.get(), VFIO_GROUP_GET_STATUS, &status) != 0) return refused(function, "the group's status");
  if ((status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0)
    return failure(WEFT_ERROR_INVALID_STATE,
                   "IOMMU group {1} of PCI function {0} has functions that are bound to other drivers than vfio-pci "
                   "(ls /sys/kernel/iommu_groups/{1}/devices): bind those as well, or put the card into another slot",
                   function.address, function.group);
  int container_fd = container.get();
  if (kernel.ioctl(group.get(), VFIO_GROUP_SET_CONTAINER, &container_fd) != 0)
    return refused(function, "putting its group into a container");
  if (kernel.ioctl(container.get(), VFIO_CHECK_EXTENSION, reinterpret_cast<void*>(uintptr_t{VFIO_TYPE1v2_IOMMU})) != 1)
    return failure(WEFT_ERROR_UNSUPPORTED,
                   "the kernel has no type 1 IOMMU for PCI function {}: modprobe vfio_iommu_type1", function.address);
  if (kernel.ioctl(container.get(), VFIO_SET_IOMMU, reinterpret_cast<void*>(uintptr_t{VFIO_TYPE1v2_IOMMU})) != 0) {
    if (errno == EPERM)
      return failure(
          WEFT_ERROR_UNSUPPORTED,
          "the IOMMU of PCI function {} does not remap interrupts, so a device could raise any of this machine: "
          "vfio_iommu_type1.allow_unsafe_interrupts=1 lets it",
          function.address);
    return refused(function, "its IOMMU");
  }
  auto device = FileDescriptor::opened_by(
      [&] { return kernel.ioctl(group.get(), VFIO_GROUP_GET_DEVICE_FD, const_cast<char*>(function.address.c_str())); });
  if (!device.valid()) return errno == EBUSY ? busy(kernel, function) : refused(function, "its file");
  return VfioFunction{std::make_unique<Container>(kernel, std::move(container), std::move(group)), std::move(device)};
}

Result<VfioFunction> open_by_iommufd(VfioKernel& kernel, const PciFunction& function) {
  const std::string file = "/dev/vfio/devices/" + function.device;
  FileDescriptor device = kernel.open(file);
  if (!device.valid()) return errno == EBUSY ? busy(kernel, function) : refused(function, file);
  FileDescriptor iommufd = kernel.open("/dev/iommu");
  if (!iommufd.valid()) return refused(function, "/dev/iommu");
  iommufd::Bind bind{sizeof bind, 0, iommufd.get(), 0};
  if (kernel.ioctl(device.get(), iommufd::kBind, &bind) != 0)
    return errno == EBUSY ? busy(kernel, function) : refused(function, "binding it to an iommufd");
  iommufd::Allocate space{sizeof space, 0, 0};
  if (kernel.ioctl(iommufd.get(), iommufd::kAllocate, &space) != 0) return refused(function, "an address space");
  iommufd::Attach attach{sizeof attach, 0, space.out_id};
  if (kernel.ioctl(device.get(), iommufd::kAttach, &attach) != 0) return refused(function, "its address space");
  return VfioFunction{std::make_unique<Iommufd>(kernel, std::move(iommufd), space.out_id), std::move(device)};
}

}  // namespace

Result<VfioFunction> open_function(VfioKernel& kernel, const PciFunction& function) {
  if (Status s = obstacle(kernel, function); !s.ok()) return s;
  return uses_iommufd(kernel, function) ? open_by_iommufd(kernel, function) : open_by_group(kernel, function);
}

}  // namespace weft::driver
