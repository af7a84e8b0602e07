// Function and timing of HBM and host memory.
#include "model/chip/chip_bus.hpp"

#include <algorithm>
#include <utility>

namespace weft::chip {

ChipBus::ChipBus(const spec::Chip& chip, SparseMemory& hbm, std::vector<HostMemory*> hosts)
    : hbm_(hbm),
      hosts_(std::move(hosts)),
      hbm_read_latency_cycles_(chip.hbm_read_latency_cycles),
      hbm_write_latency_cycles_(chip.hbm_write_latency_cycles),
      pcie_latency_cycles_(chip.pcie_latency_cycles),
      hbm_path_(chip.hbm_bytes_per_second, chip.clock_hz),
      to_device_(chip.pcie_bytes_per_second, chip.clock_hz),
      to_host_(chip.pcie_bytes_per_second, chip.clock_hz) {}

bool ChipBus::read(weft_address_space space, uint64_t address, std::span<std::byte> out) {
  return read(Location{space, static_cast<uint32_t>(core_function_), address}, out, Accessor::kCore);
}

bool ChipBus::write(weft_address_space space, uint64_t address, std::span<const std::byte> data) {
  return write(Location{space, static_cast<uint32_t>(core_function_), address}, data, Accessor::kCore);
}

bool ChipBus::read(Location from, std::span<std::byte> out, Accessor by) {
  if (from.space == WEFT_ADDRESS_SPACE_HBM) return hbm_.read(from.address, out);
  if (from.space != WEFT_ADDRESS_SPACE_HOST) return false;
  const bool ok = hosts_[from.function]->read(from.address, out);
  if (boundary_ != nullptr) boundary_->host_read({by, from.function, from.address}, out, ok);
  return ok;
}

bool ChipBus::write(Location to, std::span<const std::byte> data, Accessor by, Order order) {
  if (to.space == WEFT_ADDRESS_SPACE_HBM) return hbm_.write(to.address, data);
  if (to.space != WEFT_ADDRESS_SPACE_HOST) return false;
  HostMemory& host = *hosts_[to.function];
  const bool ok =
      order == Order::kLastWordAfter ? host.write_last_word_after(to.address, data) : host.write(to.address, data);
  if (boundary_ != nullptr) boundary_->host_written({by, to.function, to.address}, data, ok);
  return ok;
}

uint64_t ChipBus::read_latency_cycles(weft_address_space space) const {
  if (space == WEFT_ADDRESS_SPACE_HBM) return hbm_read_latency_cycles_;
  if (space == WEFT_ADDRESS_SPACE_HOST) return 2 * pcie_latency_cycles_;
  return 0;
}

uint64_t ChipBus::write_latency_cycles(weft_address_space space) const {
  if (space == WEFT_ADDRESS_SPACE_HBM) return hbm_write_latency_cycles_;
  if (space == WEFT_ADDRESS_SPACE_HOST) return pcie_latency_cycles_;
  return 0;
}

uint64_t ChipBus::schedule_read(weft_address_space space, uint64_t bytes, uint64_t cycle) {
  if (space == WEFT_ADDRESS_SPACE_HBM) {
    traffic_.hbm_read_bytes += bytes;
    return hbm_path_.book(bytes, cycle) + hbm_read_latency_cycles_;
  }
  if (space == WEFT_ADDRESS_SPACE_HOST) {
    traffic_.host_read_bytes += bytes;
    return to_device_.book(bytes, cycle + pcie_latency_cycles_) + pcie_latency_cycles_;
  }
  return cycle;
}

uint64_t ChipBus::schedule_write(weft_address_space space, uint64_t bytes, uint64_t cycle) {
  if (space == WEFT_ADDRESS_SPACE_HBM) {
    traffic_.hbm_written_bytes += bytes;
    return hbm_path_.book(bytes, cycle) + hbm_write_latency_cycles_;
  }
  if (space == WEFT_ADDRESS_SPACE_HOST) {
    traffic_.host_written_bytes += bytes;
    return to_host_.book(bytes, cycle) + pcie_latency_cycles_;
  }
  return cycle;
}

bool ChipBus::congested(weft_address_space space, uint64_t cycle) const {
  if (space == WEFT_ADDRESS_SPACE_HBM) return hbm_path_.booked_ahead(cycle) > kCongestedCycles;
  if (space == WEFT_ADDRESS_SPACE_HOST) {
    return std::max(to_device_.booked_ahead(cycle + pcie_latency_cycles_), to_host_.booked_ahead(cycle)) >
           kCongestedCycles;
  }
  return false;
}

}  // namespace weft::chip
