/// The simulated network between the hosts of several slices, for commands that run programs over them.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "host/compiler/result.hpp"
#include "host/runtime/host_network.hpp"
#include "weft/spec/dcn.hpp"

namespace weft::ici {
class Dcn;
}

namespace weft::tools {

/// What the command line says of the hosts; 0: what the generation has.
struct HostOptions {
  uint32_t slices = 1, chips_per_host = 0;
  double gigabits = 0;  ///< a second, of a host, each way
  double latency_us = spec::kDcnLatencyUs;
};

/// With what spec/dcn.toml knows of a slice's generation. `slice`: its name ("v5e-4x4"). INVALID_ARGUMENT: no such slice,
/// or the bandwidth is given nowhere.
[[nodiscard]] Result<HostOptions> with_known_hosts(HostOptions options, std::string_view slice);

/// Packets of model/ici/dcn.hpp with their framing; chip c of a slice is at host c / chips_per_host of it.
class SimulatedHosts : public runtime::HostNetwork {
 public:
  /// `options`: as with_known_hosts returns them.
  SimulatedHosts(const HostOptions& options, uint32_t chips_of_a_slice);
  SimulatedHosts(const SimulatedHosts&) = delete;
  SimulatedHosts& operator=(const SimulatedHosts&) = delete;
  ~SimulatedHosts() override;

  [[nodiscard]] std::vector<uint64_t> arrivals(const std::vector<runtime::HostMessage>& messages) override;

  /// Of the busiest host, on its wire.
  [[nodiscard]] uint64_t most_bytes_sent() const;
  /// What one crossing takes alone, without framing, if each of the hosts' chips has `share_bytes` of its slice's sum, or
  /// gets as many of the whole array: (S - 1) / S D / B + L. Microseconds.
  [[nodiscard]] double crossing_us(uint64_t share_bytes) const;

 private:
  HostOptions options_;
  uint32_t chips_, hosts_;  // of a slice
  std::unique_ptr<ici::Dcn> network_;
};

}  // namespace weft::tools
