// The way to a device, shaped after VFIO: regions, DMA maps, interrupt eventfds, reset, and whether it still lives.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "driver/status.hpp"

namespace weft::driver {

/// Regions by their VFIO index.
enum class Region : uint32_t { kRegisters = 0, kDoorbells = 2, kMsix = 4, kConfig = 7 };

/// One device function. All calls may come from any thread. A call fails with DEVICE_LOST once the device is gone, and
/// then every later call does.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Reads or writes a region and waits for the answer.
  virtual Status read(Region region, uint64_t offset, void* data, uint32_t bytes) = 0;
  virtual Status write(Region region, uint64_t offset, const void* data, uint32_t bytes) = 0;

  /// Writes without waiting for an answer; keeps its order among all posts and writes of the calling thread.
  virtual Status post(Region region, uint64_t offset, const void* data, uint32_t bytes) = 0;

  /// Lets the device read and write `bytes` of `fd` from `fd_offset` at `iova`; all multiples of the page size. The
  /// descriptor is a file in memory (memfd_create).
  virtual Status dma_map(int fd, uint64_t fd_offset, uint64_t iova, uint64_t bytes) = 0;

  /// When it returns OK, the device does not touch the range any more.
  virtual Status dma_unmap(uint64_t iova, uint64_t bytes) = 0;

  /// Eventfd of each MSI-X vector from 0. One eventfd may serve several vectors.
  virtual Status set_irqs(std::span<const int> eventfds) = 0;

  /// Function-level reset.
  virtual Status reset() = 0;

  /// A descriptor that polls as hung up when the device is gone; -1: none.
  virtual int liveness_fd() const = 0;

  /// Ends the connection. When it returns, the device does not touch host memory any more, and all calls fail.
  virtual void disconnect() = 0;

  /// The same, and waits for the end of a simulator that this process has started.
  virtual void shutdown() = 0;

  /// What the device left behind when it died, one line or more; empty: nothing.
  virtual std::string last_words() = 0;
};

}  // namespace weft::driver
