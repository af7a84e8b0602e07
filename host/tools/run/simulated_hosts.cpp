// Messages by their number, through the packet model.
#include "host/tools/run/simulated_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "model/ici/dcn.hpp"
#include "model/ici/slice.hpp"
#include "model/ici/time.hpp"

namespace weft::tools {

Result<HostOptions> with_known_hosts(HostOptions options, std::string_view slice) {
  const auto parsed = ici::parse_slice(slice);
  if (const auto* error = std::get_if<std::string>(&parsed)) return Error{WEFT_ERROR_INVALID_ARGUMENT, *error};
  const auto generation = std::get<ici::Slice>(parsed).generation->name;
  for (const auto& known : spec::kDcnHosts) {
    if (known.generation != generation) continue;
    if (options.chips_per_host == 0) options.chips_per_host = known.chips_per_host;
    if (options.gigabits == 0) options.gigabits = static_cast<double>(known.network_bytes_per_second) * 8e-9;
  }
  if (options.gigabits > 0) return options;
  return Error{WEFT_ERROR_INVALID_ARGUMENT,
               fmt::format("{}: the bandwidth of its hosts is not published, give --host-gbps", generation)};
}

SimulatedHosts::SimulatedHosts(const HostOptions& options, uint32_t chips_of_a_slice)
    : options_(options),
      chips_(chips_of_a_slice),
      hosts_((chips_of_a_slice + options.chips_per_host - 1) / options.chips_per_host),
      network_(std::make_unique<ici::Dcn>(
          ici::DcnOptions{.hosts = hosts_ * options.slices,
                          .bytes_per_second = static_cast<uint64_t>(std::llround(options.gigabits * 1e9 / 8)),
                          .latency = static_cast<ici::Femtoseconds>(
                              std::llround(options.latency_us * static_cast<double>(ici::kMicrosecond)))})) {}

SimulatedHosts::~SimulatedHosts() = default;

std::vector<uint64_t> SimulatedHosts::arrivals(const std::vector<runtime::HostMessage>& messages) {
  std::vector<uint64_t> arrived(messages.size());
  network_->on_delivery([&](const ici::DcnMessage& message, ici::Femtoseconds at) { arrived[message.tag] = at; });
  for (size_t i = 0; i < messages.size(); i++) {
    const auto& [from, to, chip, bytes, at] = messages[i];
    const uint32_t host = chip / options_.chips_per_host;
    network_->send({from * hosts_ + host, to * hosts_ + host, bytes, i}, at);
  }
  network_->run_until(ici::kNever);
  network_->on_delivery({});
  return arrived;
}

uint64_t SimulatedHosts::most_bytes_sent() const {
  uint64_t most = 0;
  for (uint32_t host = 0; host < hosts_ * options_.slices; host++) most = std::max(most, network_->bytes_sent(host));
  return most;
}

double SimulatedHosts::crossing_us(uint64_t share_bytes) const {
  const double shares =
      static_cast<double>(std::min(chips_, options_.chips_per_host)) * static_cast<double>(share_bytes);
  const double others = 1 - 1.0 / options_.slices;
  return others * shares * 8e-3 / options_.gigabits + options_.latency_us;
}

}  // namespace weft::tools
