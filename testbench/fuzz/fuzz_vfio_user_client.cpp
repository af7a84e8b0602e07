// The driver's vfio-user client against a server that answers anything. All answers lie in the socket before the client
// asks, and then the server is gone: whatever the client waits for, it must end at once, and with an error that says
// why. A session that sends in halves trickles: the client's calls move a few bytes, or are interrupted.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "driver/transport/pci.hpp"
#include "driver/transport/transport_vfio_user.hpp"
#include "testbench/fuzz/fuzz_target.hpp"
#include "testbench/fuzz/session_socket.hpp"
#include "testbench/fuzz/vfio_user_messages.hpp"

using namespace weft;
using driver::Region;
using driver::Status;
using fuzz::Action;
using fuzz::Session;
using fuzz::Step;

namespace {

constexpr int kReplyTimeoutMs = 20;     // nobody answers later: what is not there when it is waited for does not come
constexpr size_t kLeastSentBytes = 32;  // or a socket that nobody reads fills up with its own bookkeeping

/// What the client's recv() and sendmsg() do (linked with --wrap, see CMakeLists.txt).
struct Trickle {
  size_t most_bytes = SIZE_MAX;  // of a call
  unsigned calls = 0;
  [[nodiscard]] bool interrupts() { return most_bytes != SIZE_MAX && calls++ % 3 == 0; }
};
Trickle trickle;

/// The first step that sends in halves says by its place how few bytes a call moves.
Trickle trickle_of(const Session& session) {
  for (size_t i = 0; i < session.size(); i++)
    if (session[i].action == Action::kSendHalves) return {.most_bytes = i + 1};
  return {};
}

/// An outcome is success, or an error with words. Once the device is lost, it stays lost.
class Outcome {
 public:
  void operator()(const Status& status) {
    if (!status.ok()) fuzz::require(!status.message().empty(), "an error has a message");
    if (lost_) fuzz::require(status.code() == WEFT_ERROR_DEVICE_LOST, "a lost device stays lost");
    lost_ |= status.code() == WEFT_ERROR_DEVICE_LOST;
  }

 private:
  bool lost_ = false;
};

void use(driver::Transport& transport, int memory_fd, int event_fd) {
  Outcome outcome;
  outcome(driver::prepare_pci(transport));
  uint32_t word = 0;
  outcome(transport.read(Region::kRegisters, WEFT_REG_MAGIC, &word, sizeof word));
  outcome(transport.write(Region::kRegisters, WEFT_REG_INTERRUPT_MASK, &word, sizeof word));
  outcome(transport.dma_map(memory_fd, 0, 0, 4096));
  outcome(transport.dma_unmap(0, 4096));
  std::array<int, WEFT_PCI_MSIX_VECTORS> events;
  events.fill(event_fd);
  outcome(transport.set_irqs(events));
  outcome(transport.reset());
}

/// The server's side of the session; then it closes, whole or half.
void answer(const Session& session, int socket, const fuzz::SessionDescriptors& descriptors) {
  for (const Step& step : session) {
    if (step.action == Action::kHalfClose || step.action == Action::kClose) break;
    if (!fuzz::send_step(socket, step, step.bytes, descriptors)) break;
  }
  ::shutdown(socket, SHUT_WR);
}

}  // namespace

extern "C" {
ssize_t __real_recv(int socket, void* data, size_t bytes, int flags);
ssize_t __real_sendmsg(int socket, const msghdr* message, int flags);

ssize_t __wrap_recv(int socket, void* data, size_t bytes, int flags) {
  if (trickle.interrupts()) {
    errno = EINTR;
    return -1;
  }
  return __real_recv(socket, data, std::min(bytes, trickle.most_bytes), flags);
}

ssize_t __wrap_sendmsg(int socket, const msghdr* message, int flags) {
  if (trickle.most_bytes == SIZE_MAX) return __real_sendmsg(socket, message, flags);
  if (trickle.interrupts()) {
    errno = trickle.calls % 2 == 0 ? EINTR : EAGAIN;
    return -1;
  }
  iovec piece = *message->msg_iov;
  piece.iov_len = std::min(piece.iov_len, kLeastSentBytes + trickle.most_bytes);
  msghdr some = *message;
  some.msg_iov = &piece;
  some.msg_iovlen = 1;
  return __real_sendmsg(socket, &some, flags);
}
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::SessionDescriptors descriptors(fuzz::kHostMemoryBytes);
  const Session session = fuzz::read_session(data, size);
  trickle = {};
  auto pair = fuzz::socket_pair();
  answer(session, pair[1].get(), descriptors);
  // A server that has closed at all does not take what the client sends.
  if (!session.empty() && session.back().action == Action::kClose) pair[1].reset();
  driver::FileDescriptor client(::dup(pair[0].get()));
  pair[0].reset();
  trickle = trickle_of(session);
  auto connected = driver::VfioUserTransport::connect(std::move(client), nullptr, kReplyTimeoutMs);
  if (!connected.ok()) {
    fuzz::require(!connected.status().message().empty(), "an error has a message");
    return 0;
  }
  use(*connected.value(), descriptors.fd(fuzz::Descriptors::kMemory), descriptors.fd(fuzz::Descriptors::kEventfd));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  static const Session kTemplates = fuzz::server_replies();
  return fuzz::mutate_session(data, size, max_size, seed, kTemplates);
}
