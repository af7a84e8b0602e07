// A machine with one Weft chip in a folder: sysfs, the files of VFIO, and what their ioctls answer.
#pragma once
#include <linux/vfio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "driver/transport/iommufd.hpp"
#include "driver/transport/vfio_kernel.hpp"
#include "weft/spec/spec.h"

namespace weft::driver::test {

inline constexpr const char* kAddress = "0000:00:05.0";

/// A folder that goes with the test.
class MachineFolder {
 public:
  MachineFolder() {
    char pattern[] = "/tmp/weft-machine-XXXXXX";
    REQUIRE(::mkdtemp(pattern) != nullptr);
    path_ = pattern;
  }
  ~MachineFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  void file(const std::string& name, const std::string& text = {}) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + name).parent_path());
    std::ofstream(path_ + name) << text;
  }
  void link(const std::string& name, const std::string& target) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + name).parent_path());
    std::filesystem::create_symlink(target, path_ + name);
  }
  void remove(const std::string& name) const { std::filesystem::remove_all(path_ + name); }

 private:
  std::string path_;
};

/// Its device is a memfd: region i lies at i * kRegionStride. Each ioctl is counted by its number; `failing` answers
/// with an errno instead.
class FakeKernel : public VfioKernel {
 public:
  static constexpr uint64_t kRegionStride = 1 << 20;

  explicit FakeKernel(const MachineFolder& folder) : VfioKernel(folder.path()), folder_(folder) {
    function(kAddress, WEFT_PCI_VENDOR_ID, WEFT_PCI_DEVICE_ID);
    folder.link(in_sysfs("driver"), "../../../bus/pci/drivers/vfio-pci");
    folder.link(in_sysfs("iommu_group"), "../../../kernel/iommu_groups/7");
    folder.file("/dev/vfio/vfio");
    folder.file("/dev/vfio/7");
  }
  ~FakeKernel() override { ::close(device_); }

  static std::string in_sysfs(const std::string& name, const std::string& address = kAddress) {
    return "/sys/bus/pci/devices/" + address + "/" + name;
  }
  void function(const std::string& address, unsigned vendor, unsigned device) const {
    folder_.file(in_sysfs("vendor", address), fmt::format("{:#06x}\n", vendor));
    folder_.file(in_sysfs("device", address), fmt::format("{:#06x}\n", device));
  }
  /// The kernel has iommufd, and the function a file of its own.
  void add_iommufd() const {
    folder_.file(in_sysfs("vfio-dev/vfio3/dev"));
    folder_.file("/dev/vfio/devices/vfio3");
    folder_.file("/dev/iommu");
  }

  /// Bytes of the device, as the device itself sees them.
  template <typename T>
  T get(uint64_t region, uint64_t offset) const {
    T value{};
    REQUIRE(::pread(device_, &value, sizeof value, static_cast<off_t>(region * kRegionStride + offset)) ==
            static_cast<ssize_t>(sizeof value));
    return value;
  }
  template <typename T>
  void put(uint64_t region, uint64_t offset, T value) const {
    REQUIRE(::pwrite(device_, &value, sizeof value, static_cast<off_t>(region * kRegionStride + offset)) ==
            static_cast<ssize_t>(sizeof value));
  }

  FileDescriptor open(const std::string& path) override {
    if (const auto found = unopenable.find(path); found != unopenable.end()) {
      errno = found->second;
      return {};
    }
    opened.push_back(path);
    if (path.starts_with("/dev/vfio/devices/")) return FileDescriptor(::dup(device_));
    return VfioKernel::open(path);
  }

  int ioctl(int fd, unsigned long request, void* argument) override {
    (void)fd;
    count[request]++;
    if (const auto found = failing.find(request); found != failing.end()) {
      errno = found->second;
      return -1;
    }
    switch (request) {
      case VFIO_GROUP_GET_STATUS:
        static_cast<vfio_group_status*>(argument)->flags = viable ? VFIO_GROUP_FLAGS_VIABLE : 0;
        return 0;
      case VFIO_CHECK_EXTENSION:
        return reinterpret_cast<uintptr_t>(argument) == VFIO_TYPE1v2_IOMMU && type1 ? 1 : 0;
      case VFIO_GROUP_GET_DEVICE_FD:
        named = static_cast<const char*>(argument);
        return ::dup(device_);
      case VFIO_DEVICE_GET_INFO: {
        auto* info = static_cast<vfio_device_info*>(argument);
        info->flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET;
        info->num_regions = regions;
        info->num_irqs = VFIO_PCI_NUM_IRQS;
        return 0;
      }
      case VFIO_DEVICE_GET_REGION_INFO: {
        auto* info = static_cast<vfio_region_info*>(argument);
        info->offset = info->index * kRegionStride;
        info->size = region_bytes[info->index];
        info->flags =
            VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE | (mappable ? VFIO_REGION_INFO_FLAG_MMAP : 0);
        return 0;
      }
      case VFIO_DEVICE_GET_IRQ_INFO:
        static_cast<vfio_irq_info*>(argument)->count = vectors;
        return 0;
      case VFIO_DEVICE_SET_IRQS: {
        const auto* set = static_cast<const vfio_irq_set*>(argument);
        irqs.assign(reinterpret_cast<const char*>(argument), reinterpret_cast<const char*>(argument) + set->argsz);
        return 0;
      }
      case VFIO_IOMMU_MAP_DMA: {
        const auto* map = static_cast<const vfio_iommu_type1_dma_map*>(argument);
        maps[map->iova] = {reinterpret_cast<const char*>(map->vaddr), map->size};
        return 0;
      }
      case VFIO_IOMMU_UNMAP_DMA: {
        auto* unmap = static_cast<vfio_iommu_type1_dma_unmap*>(argument);
        unmap->size = take(unmap->iova);
        return 0;
      }
      case iommufd::kAllocate:
        static_cast<iommufd::Allocate*>(argument)->out_id = kSpace;
        return 0;
      case iommufd::kAttach:
        attached = static_cast<const iommufd::Attach*>(argument)->id;
        return 0;
      case iommufd::kMap: {
        const auto* map = static_cast<const iommufd::Map*>(argument);
        if (map->id != kSpace || map->flags != 7) return errno = EINVAL, -1;
        maps[map->iova] = {reinterpret_cast<const char*>(map->user_address), map->bytes};
        return 0;
      }
      case iommufd::kUnmap: {
        auto* unmap = static_cast<iommufd::Unmap*>(argument);
        if (unmap->id != kSpace) return errno = EINVAL, -1;
        unmap->bytes = take(unmap->iova);
        return 0;
      }
      default:
        return 0;
    }
  }

  struct Map {
    const char* data;
    uint64_t bytes;
  };
  static constexpr uint32_t kSpace = 40;

  bool viable = true, type1 = true, mappable = true;
  uint32_t regions = VFIO_PCI_NUM_REGIONS, vectors = WEFT_PCI_MSIX_VECTORS;
  std::map<uint32_t, uint64_t> region_bytes{
      {0, WEFT_PCI_BAR0_BYTES}, {2, WEFT_PCI_BAR2_BYTES}, {4, WEFT_PCI_BAR4_BYTES}, {7, 4096}};
  std::map<std::string, int> unopenable;
  std::map<unsigned long, int> failing;

  std::vector<std::string> opened;
  std::map<unsigned long, int> count;
  std::map<uint64_t, Map> maps;
  std::vector<char> irqs;
  std::string named;
  uint32_t attached = 0;

 private:
  uint64_t take(uint64_t iova) {
    const auto found = maps.find(iova);
    if (found == maps.end()) return 0;
    const uint64_t bytes = found->second.bytes;
    maps.erase(found);
    return bytes;
  }
  static int make_device() {
    const int fd = ::memfd_create("device", MFD_CLOEXEC);
    REQUIRE(::ftruncate(fd, 8 * kRegionStride) == 0);
    return fd;
  }

  const MachineFolder& folder_;
  int device_ = make_device();
};

}  // namespace weft::driver::test
