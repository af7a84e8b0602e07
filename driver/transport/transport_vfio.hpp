// Transport to a PCI function of this machine over Linux VFIO: a card, or what a guest sees of one.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "driver/transport/transport.hpp"
#include "driver/transport/vfio_address_space.hpp"
#include "driver/transport/vfio_region.hpp"

namespace weft::driver {

/// Accesses of regions run side by side, maps one by one beside them. The end of the connection waits for all, and later
/// calls find it closed.
class VfioTransport : public Transport {
 public:
  /// Opens the function at a PCI address and checks that it has the regions and vectors of the specification. `kernel`
  /// outlives the transport. Errors of find_function() and open_function().
  static Result<std::unique_ptr<Transport>> open(const std::string& address, VfioKernel& kernel = machine_kernel());

  ~VfioTransport() override;

  Status read(Region region, uint64_t offset, void* data, uint32_t bytes) override;
  Status write(Region region, uint64_t offset, const void* data, uint32_t bytes) override;
  /// As write(): the processor does not wait for a store.
  Status post(Region region, uint64_t offset, const void* data, uint32_t bytes) override;
  Status dma_map(int fd, uint64_t fd_offset, uint64_t iova, uint64_t bytes) override;
  Status dma_unmap(uint64_t iova, uint64_t bytes) override;
  Status set_irqs(std::span<const int> eventfds) override;
  Status reset() override;
  int liveness_fd() const override { return -1; }
  void disconnect() override;
  void shutdown() override { disconnect(); }
  std::string last_words() override { return {}; }

 private:
  /// Memory that the function reaches, mapped here: the kernel takes pages by their address in this process.
  struct Memory {
    void* data;
    uint64_t bytes;
  };

  VfioTransport(VfioKernel& kernel, std::string address) : kernel_(kernel), address_(std::move(address)) {}
  Status prepare();
  /// state_ is held.
  [[nodiscard]] Status check_open() const;
  [[nodiscard]] const VfioRegion& region(Region index) const { return regions_[static_cast<size_t>(index)]; }

  VfioKernel& kernel_;
  const std::string address_;
  std::shared_mutex state_;  ///< held shared by calls, alone by the end
  VfioFunction function_;
  std::array<VfioRegion, static_cast<size_t>(Region::kConfig) + 1> regions_;  ///< by their VFIO index
  std::mutex memory_mutex_;
  std::map<uint64_t, Memory> memory_;  ///< by IOVA
};

}  // namespace weft::driver
