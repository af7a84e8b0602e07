// open(2) and ioctl(2).
#include "driver/transport/vfio_kernel.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>

namespace weft::driver {

FileDescriptor VfioKernel::open(const std::string& path) {
  return FileDescriptor::opened_by([&] { return ::open(place(path).c_str(), O_RDWR | O_CLOEXEC); });
}

int VfioKernel::ioctl(int fd, unsigned long request, void* argument) { return ::ioctl(fd, request, argument); }

VfioKernel& machine_kernel() {
  static auto* const kernel = new VfioKernel;  // outlives whatever is destroyed at the end of the process
  return *kernel;
}

}  // namespace weft::driver
