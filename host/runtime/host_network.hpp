/// The network between the hosts of several slices (data-centre network, DCN), as those see it who send over it.
#pragma once
#include <cstdint>
#include <vector>

namespace weft::runtime {

/// From the host of a chip to the host of the chip of the same number in another slice. Times are femtoseconds on one
/// clock of all slices and hosts.
struct HostMessage {
  uint32_t from_slice = 0, to_slice = 0;
  uint32_t chip = 0;
  uint64_t bytes = 0;
  uint64_t at = 0;  ///< when the data lie in the sending host's memory
};

/// Tells times, and moves no data: a simulated network's, or a model of a real one. One thread.
class HostNetwork {
 public:
  HostNetwork() = default;
  HostNetwork(const HostNetwork&) = delete;
  HostNetwork& operator=(const HostNetwork&) = delete;
  virtual ~HostNetwork() = default;
  /// When the last byte of each message lies in the receiving host's memory, by message. No message is sent before those
  /// of an earlier call have arrived. Messages of one host that are sent at one time go in their order here.
  [[nodiscard]] virtual std::vector<uint64_t> arrivals(const std::vector<HostMessage>& messages) = 0;
};

}  // namespace weft::runtime
