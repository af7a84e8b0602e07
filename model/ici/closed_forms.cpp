#include "model/ici/closed_forms.hpp"

#include <algorithm>

namespace weft::ici {

namespace {

double transfer_us(double bytes, const LinkRate& rate) { return 1e6 * bytes / rate.bytes_per_second; }

}  // namespace

double all_gather_us(const Topology& topology, uint64_t bytes, unsigned axes, const LinkRate& rate) {
  double chips = 1, hops = 0, count = 0;
  bool wraps = true;
  for (unsigned axis = 0; axis < kAxes; axis++) {
    if ((axes >> axis & 1) == 0 || topology.size(axis) == 1) continue;
    chips *= topology.size(axis);
    hops += topology.wraps(axis) ? topology.size(axis) / 2 : topology.size(axis) - 1;
    wraps = wraps && topology.wraps(axis);
    count++;
  }
  if (count == 0) return 0;
  return transfer_us(static_cast<double>(bytes) * (1 - 1 / chips) / (count * (wraps ? 2 : 1)), rate) +
         hops * rate.hop_us;
}

double all_reduce_us(const Topology& topology, uint64_t bytes, unsigned axes, const LinkRate& rate) {
  return 2 * all_gather_us(topology, bytes, axes, rate);
}

double all_to_all_us(const Topology& topology, uint64_t bytes, unsigned axis, const LinkRate& rate) {
  const double size = topology.size(axis);
  // parts of V / K^2 over the busiest link: K^2 / 8 of them on an even ring
  const double parts = topology.size(axis) % 2 == 0 ? size * size / 8 : (size * size - 1) / 8;
  return transfer_us(static_cast<double>(bytes) / (size * size) * parts, rate) + rate.hop_us;
}

double broadcast_us(const Topology& topology, uint64_t bytes, unsigned axis, unsigned root, const LinkRate& rate) {
  const auto size = topology.size(axis);
  const auto hops = topology.wraps(axis) ? size / 2 : std::max(root, size - 1 - root);
  return transfer_us(static_cast<double>(bytes), rate) + hops * rate.hop_us;
}

double permute_us(uint64_t bytes, unsigned shift, const LinkRate& rate) {
  return transfer_us(static_cast<double>(bytes) * shift, rate) + shift * rate.hop_us;
}

}  // namespace weft::ici
