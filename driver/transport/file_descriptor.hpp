// An owned file descriptor, which does not outlive its process in a forked child.
#pragma once
#include <unistd.h>

#include <mutex>
#include <utility>

namespace weft::driver {

class FileDescriptor;

/// All descriptors of this process's driver, so that a forked child can close them: see driver/device/fork.hpp. A leaf among
/// the locks; nothing is allocated under it.
class DescriptorList {
 public:
  static std::mutex& mutex();
  /// In a forked child, with the mutex held: closes all, and their owners have none any more.
  static void close_all();

 private:
  friend class FileDescriptor;
  static void add(FileDescriptor& fd);     ///< mutex() is held
  static void remove(FileDescriptor& fd);  ///< mutex() is held
};

/// Closes its descriptor. Moves, does not copy.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) {
    const std::lock_guard lock(DescriptorList::mutex());
    take(fd);
  }
  /// `make` opens a descriptor; no fork comes between that and its place in the list.
  template <typename Make>
  static FileDescriptor opened_by(Make&& make) {
    FileDescriptor made;
    const std::lock_guard lock(DescriptorList::mutex());
    made.take(make());
    return made;
  }
  FileDescriptor(FileDescriptor&& other) noexcept {
    const std::lock_guard lock(DescriptorList::mutex());
    take(other.give());
  }
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      const std::lock_guard lock(DescriptorList::mutex());
      if (const int old = give(); old >= 0) ::close(old);
      take(other.give());
    }
    return *this;
  }
  ~FileDescriptor() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset() {
    const std::lock_guard lock(DescriptorList::mutex());
    if (const int old = give(); old >= 0) ::close(old);
  }

 private:
  friend class DescriptorList;
  void take(int fd) {  // the list's mutex is held
    fd_ = fd;
    if (fd_ >= 0) DescriptorList::add(*this);
  }
  int give() {  // the list's mutex is held
    if (fd_ >= 0) DescriptorList::remove(*this);
    return std::exchange(fd_, -1);
  }

  int fd_ = -1;
  FileDescriptor* next_ = nullptr;
  FileDescriptor* previous_ = nullptr;
};

}  // namespace weft::driver
