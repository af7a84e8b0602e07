/// Sends the steps of a session on one end of a socket pair, with the descriptors that they ask for.
#pragma once
#include <array>

#include "model/server/file_descriptor.hpp"
#include "testbench/fuzz/vfio_user_session.hpp"

namespace weft::fuzz {

/// Two connected stream sockets.
[[nodiscard]] std::array<server::FileDescriptor, 2> socket_pair();

/// One of each kind of descriptor, kept for all sessions.
class SessionDescriptors {
 public:
  /// `memory_bytes`: size of the sealed and of the unsealed memory.
  explicit SessionDescriptors(size_t memory_bytes);
  /// The descriptor of a kind other than kNone.
  [[nodiscard]] int fd(Descriptors kind) const { return fds_[static_cast<size_t>(kind)].get(); }
  /// The sealed memory, mapped.
  [[nodiscard]] std::span<std::byte> memory() const { return memory_; }
  /// Counts of eventfds are taken away.
  void drain() const;

 private:
  std::array<server::FileDescriptor, kDescriptorKinds> fds_;
  server::FileDescriptor other_end_;
  std::span<std::byte> memory_;
};

/// Sends bytes of a step, the descriptors with the first of them. Never blocks: what does not fit is not sent. False:
/// the other side has closed.
bool send_step(int socket, const Step& step, std::span<const uint8_t> bytes, const SessionDescriptors& descriptors);

}  // namespace weft::fuzz
