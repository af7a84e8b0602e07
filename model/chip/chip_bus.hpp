/// The memory that the tensor core and the manager share: HBM, and host memory behind PCIe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "firmware/hal.hpp"
#include "model/chip/boundary.hpp"
#include "model/chip/data_path.hpp"
#include "model/chip/host_memory.hpp"
#include "model/chip/sparse_memory.hpp"
#include "model/core/memory_bus.hpp"
#include "weft/spec/chips.hpp"

namespace weft::chip {

/// Bytes booked since power-up.
struct BusTraffic {
  uint64_t hbm_read_bytes = 0;
  uint64_t hbm_written_bytes = 0;
  uint64_t host_read_bytes = 0;
  uint64_t host_written_bytes = 0;
};

/// A place of memory as the firmware names it: with the function whose host memory it is.
using fw::Location;

/// HBM: one data path for reads and writes, and a latency for each. Host memory: PCIe has a path each way; a write
/// crosses once, a read's request and data cross once each; all functions share them. The core's accesses to host
/// memory go to the function that set_core_function() names. One owner, one thread. All cycles are core cycles.
class ChipBus final : public core::MemoryBus {
 public:
  /// Cycles of transfer booked ahead beyond which a space is congested.
  static constexpr uint64_t kCongestedCycles = 64;

  /// Of the bytes of a write: kLastWordAfter as HostMemory::write_last_word_after() says.
  enum class Order : uint8_t { kAny, kLastWordAfter };

  /// `hosts`: the memory behind each function, which outlives this object.
  ChipBus(const spec::Chip& chip, SparseMemory& hbm, std::vector<HostMemory*> hosts);

  [[nodiscard]] bool read(weft_address_space space, uint64_t address, std::span<std::byte> out) override;
  [[nodiscard]] bool write(weft_address_space space, uint64_t address, std::span<const std::byte> data) override;
  /// Never decreases from one read of a space to the next.
  uint64_t schedule_read(weft_address_space space, uint64_t bytes, uint64_t cycle) override;
  /// Never decreases from one write to a space to the next.
  uint64_t schedule_write(weft_address_space space, uint64_t bytes, uint64_t cycle) override;
  [[nodiscard]] bool congested(weft_address_space space, uint64_t cycle) const override;

  /// Cycles from a request to its data, and from a write to its visibility, beyond the transfer itself.
  [[nodiscard]] uint64_t read_latency_cycles(weft_address_space space) const;
  [[nodiscard]] uint64_t write_latency_cycles(weft_address_space space) const;

  [[nodiscard]] const BusTraffic& traffic() const { return traffic_; }
  [[nodiscard]] SparseMemory& hbm() { return hbm_; }

  /// Accesses of manager and copy engine. Every access of host memory comes through these two, the core's as well.
  [[nodiscard]] bool read(Location from, std::span<std::byte> out, Accessor by);
  [[nodiscard]] bool write(Location to, std::span<const std::byte> data, Accessor by, Order order = Order::kAny);
  void set_core_function(size_t function) { core_function_ = function; }
  /// Hears of every access of host memory; nullptr: nobody. Outlives this object or is removed before.
  void set_boundary(Boundary* boundary) { boundary_ = boundary; }

 private:
  SparseMemory& hbm_;
  std::vector<HostMemory*> hosts_;
  size_t core_function_ = 0;
  Boundary* boundary_ = nullptr;
  uint64_t hbm_read_latency_cycles_;
  uint64_t hbm_write_latency_cycles_;
  uint64_t pcie_latency_cycles_;
  DataPath hbm_path_;
  DataPath to_device_;
  DataPath to_host_;
  BusTraffic traffic_;
};

}  // namespace weft::chip
