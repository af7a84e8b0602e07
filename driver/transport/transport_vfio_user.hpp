// Transport over a vfio-user socket: to weft-sim, or to any server that speaks the protocol.
#pragma once
#include <algorithm>
#include <memory>

#include "driver/transport/sim_process.hpp"
#include "driver/transport/transport.hpp"
#include "driver/transport/vfio_user_socket.hpp"

namespace weft::driver {

class VfioUserTransport : public Transport {
 public:
  static constexpr int kReplyTimeoutMs = 30000;
  static constexpr int kCloseMs = 10000;

  /// Negotiates the version and checks that the device has the regions and vectors of the specification. `simulator`
  /// (may be null) is the process behind the socket: it ends with the transport.
  static Result<std::unique_ptr<Transport>> connect(FileDescriptor socket, std::unique_ptr<SimProcess> simulator,
                                                    int reply_timeout_ms = kReplyTimeoutMs);
  /// Connects to the socket at `path`.
  static Result<std::unique_ptr<Transport>> connect_path(const std::string& path);

  ~VfioUserTransport() override;

  Status read(Region region, uint64_t offset, void* data, uint32_t bytes) override;
  Status write(Region region, uint64_t offset, const void* data, uint32_t bytes) override;
  Status post(Region region, uint64_t offset, const void* data, uint32_t bytes) override;
  Status dma_map(int fd, uint64_t fd_offset, uint64_t iova, uint64_t bytes) override;
  Status dma_unmap(uint64_t iova, uint64_t bytes) override;
  Status set_irqs(std::span<const int> eventfds) override;
  Status reset() override;
  int liveness_fd() const override { return socket_.fd(); }
  void disconnect() override;
  void shutdown() override;
  std::string last_words() override;

 private:
  VfioUserTransport(FileDescriptor socket, std::unique_ptr<SimProcess> simulator, int reply_timeout_ms)
      : socket_(std::move(socket), reply_timeout_ms),
        simulator_(std::move(simulator)),
        close_ms_(std::min(reply_timeout_ms, kCloseMs)) {}

  Status negotiate();
  Status check_device();
  /// A lost connection explained by the simulator: its refusal to start, or how it ended.
  Status with_last_words(Status status);

  VfioUserSocket socket_;
  std::unique_ptr<SimProcess> simulator_;
  size_t message_descriptors_ = 1;  ///< that the server takes
  const int close_ms_;              ///< that the other end gets to let go of this process
};

}  // namespace weft::driver
