// The list of the driver's descriptors.
#include "driver/transport/file_descriptor.hpp"

namespace weft::driver {
namespace {

FileDescriptor* first = nullptr;

}  // namespace

std::mutex& DescriptorList::mutex() {
  static auto* const mutex = new std::mutex;  // outlives whatever is destroyed at the end of the process
  return *mutex;
}

void DescriptorList::add(FileDescriptor& fd) {
  fd.next_ = first;
  fd.previous_ = nullptr;
  if (first != nullptr) first->previous_ = &fd;
  first = &fd;
}

void DescriptorList::remove(FileDescriptor& fd) {
  (fd.previous_ != nullptr ? fd.previous_->next_ : first) = fd.next_;
  if (fd.next_ != nullptr) fd.next_->previous_ = fd.previous_;
}

void DescriptorList::close_all() {
  for (FileDescriptor* fd = first; fd != nullptr; fd = fd->next_) ::close(std::exchange(fd->fd_, -1));
  first = nullptr;
}

}  // namespace weft::driver
