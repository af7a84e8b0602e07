/// Host memory that the client reads and writes for the device, because it is not shared.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/chip/host_memory.hpp"
#include "model/server/connection.hpp"
#include "model/server/wait_credit.hpp"

namespace weft::server {

/// DMA_READ and DMA_WRITE. The device's time stands still until the client has answered. One thread.
class ClientMemory final : public chip::MessageMemory {
 public:
  /// Both are nullptr in a replay, which puts the recorded bytes in the place of what is read here.
  ClientMemory(Connection* connection, WaitCredit* credit) : connection_(connection), credit_(credit) {}

  /// The client's max_data_xfer_size, not 0.
  void set_transfer_bytes(uint64_t bytes);

  [[nodiscard]] bool read(uint64_t iova, std::span<std::byte> out) override;
  [[nodiscard]] bool write(uint64_t iova, std::span<const std::byte> data) override;

 private:
  /// False: no reply, an error reply, or one of another size or place.
  [[nodiscard]] bool ask(vfio_user::Command command, const vfio_user::DmaAccess& body, std::span<const std::byte> data,
                         std::span<std::byte> out);

  Connection* connection_;
  WaitCredit* credit_;
  size_t transfer_bytes_ = chip::tenant_limits::kTransferBytes;
};

}  // namespace weft::server
