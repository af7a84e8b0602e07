// The kernel's side of a PCI function: sysfs, the files of VFIO, and their ioctls.
#pragma once
#include <string>
#include <string_view>

#include "driver/transport/file_descriptor.hpp"

namespace weft::driver {

/// A seam: tests put a folder in the place of the root, and answer the ioctls. Any thread.
class VfioKernel {
 public:
  /// `root`: where /sys, /dev and /proc are looked for.
  explicit VfioKernel(std::string root = {}) : root_(std::move(root)) {}
  virtual ~VfioKernel() = default;
  VfioKernel(const VfioKernel&) = delete;
  VfioKernel& operator=(const VfioKernel&) = delete;

  /// Where the absolute `path` lies.
  std::string place(std::string_view path) const { return root_ + std::string(path); }

  /// For reading and writing. Not valid: errno says why.
  virtual FileDescriptor open(const std::string& path);
  /// As ioctl(2).
  virtual int ioctl(int fd, unsigned long request, void* argument);

 private:
  std::string root_;
};

/// The kernel of this machine.
VfioKernel& machine_kernel();

}  // namespace weft::driver
