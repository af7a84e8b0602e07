/// The client's eventfds, one for each MSI-X vector.
#pragma once
#include <array>
#include <cstdint>
#include <memory>

#include "model/chip/msix.hpp"
#include "model/server/event_signal.hpp"
#include "model/server/file_descriptor.hpp"

namespace weft::server {

/// Owner: the dispatcher.
class EventfdInterrupts {
 public:
  /// `signal`: shared by all clients; nullptr: vectors reach no eventfd (a replay).
  explicit EventfdInterrupts(std::shared_ptr<EventSignal> signal) : signal_(std::move(signal)) {}

  /// Takes `fd` for `vector`; an invalid one takes the vector's listener away. False: it is not an eventfd; nothing
  /// changes.
  [[nodiscard]] bool assign(unsigned vector, FileDescriptor fd);
  void clear();
  [[nodiscard]] bool assigned(unsigned vector) const { return fds_[vector].valid(); }

  /// Never waits: an eventfd whose count is full has been signalled already. False: no eventfd is assigned to this
  /// vector.
  [[nodiscard]] bool signal(unsigned vector);

 private:
  std::shared_ptr<EventSignal> signal_;
  std::array<FileDescriptor, chip::Msix::kVectors> fds_;
};

}  // namespace weft::server
