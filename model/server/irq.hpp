/// The client's eventfds, one for each MSI-X vector.
#pragma once
#include <array>
#include <cstdint>

#include "model/chip/msix.hpp"
#include "model/server/file_descriptor.hpp"

namespace weft::server {

/// Owner: the dispatcher. Signalling never blocks: an eventfd whose count is full has been signalled already.
class EventfdInterrupts {
 public:
  /// Takes `fd` for `vector`; an invalid one takes the vector's listener away. False: it is not an eventfd; nothing
  /// changes.
  [[nodiscard]] bool assign(unsigned vector, FileDescriptor fd);
  void clear();
  [[nodiscard]] bool assigned(unsigned vector) const { return fds_[vector].valid(); }

  /// False: nobody listens to this vector.
  [[nodiscard]] bool signal(unsigned vector);

 private:
  std::array<FileDescriptor, chip::Msix::kVectors> fds_;
};

/// True unless the system says that `fd` is something else.
[[nodiscard]] bool is_eventfd(int fd);

}  // namespace weft::server
