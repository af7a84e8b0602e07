#include "model/ici/closed_forms.hpp"

#include <algorithm>
#include <vector>

namespace weft::ici {

namespace {

double transfer_us(double bytes, const LinkRate& rate) { return 1e6 * bytes / rate.bytes_per_second; }

}  // namespace

std::array<double, kAxes> axis_shares(const Topology& topology, unsigned axes) {
  std::array<double, kAxes> shares{};
  double all = 0;
  for (unsigned axis = 0; axis < kAxes; axis++) {
    const double size = topology.size(axis);
    if ((axes >> axis & 1) == 0 || size == 1) continue;
    all += shares[axis] = size / (size - 1) * (topology.wraps(axis) ? 2 : 1);
  }
  for (double& share : shares) share /= all == 0 ? 1 : all;
  return shares;
}

double all_gather_us(const Topology& topology, uint64_t bytes, unsigned axes, const LinkRate& rate, bool in_step) {
  const auto shares = axis_shares(topology, axes);
  const auto hops_us = [&](unsigned axis) {
    return rate.hops_us(topology.wraps(axis) ? topology.size(axis) / 2 : topology.size(axis) - 1);
  };
  std::vector<unsigned> order;
  std::vector<double> block;
  double us = 0;
  for (unsigned axis = 0; axis < kAxes; axis++) {
    if (shares[axis] == 0) continue;
    order.push_back(axis);
    block.push_back(shares[axis] * static_cast<double>(bytes));
    if (!in_step) us += hops_us(axis);
  }
  for (size_t phase = 0; phase < order.size(); phase++) {
    double longest = 0;
    for (size_t part = 0; part < order.size(); part++) {
      const unsigned axis = order[(part + phase) % order.size()];
      const double size = topology.size(axis);
      const double on_link = block[part] * (1 - 1 / size) / (topology.wraps(axis) ? 2 : 1);
      longest = std::max(longest, transfer_us(on_link, rate) + (in_step ? hops_us(axis) : 0));
      block[part] /= size;
    }
    us += longest;
  }
  return us;
}

double all_reduce_us(const Topology& topology, uint64_t bytes, unsigned axes, const LinkRate& rate) {
  return 2 * all_gather_us(topology, bytes, axes, rate);
}

double all_to_all_us(const Topology& topology, uint64_t bytes, unsigned axis, const LinkRate& rate) {
  const double size = topology.size(axis);
  // parts of V / K^2 over the busiest link: K^2 / 8 of them on an even ring
  const double parts = topology.size(axis) % 2 == 0 ? size * size / 8 : (size * size - 1) / 8;
  return transfer_us(static_cast<double>(bytes) / (size * size) * parts, rate) + rate.hops_us(1);
}

double broadcast_us(const Topology& topology, uint64_t bytes, unsigned axis, unsigned root, const LinkRate& rate) {
  const auto size = topology.size(axis);
  const auto hops = topology.wraps(axis) ? size / 2 : std::max(root, size - 1 - root);
  return transfer_us(static_cast<double>(bytes), rate) + rate.hops_us(hops);
}

double permute_us(uint64_t bytes, unsigned shift, const LinkRate& rate) {
  return transfer_us(static_cast<double>(bytes) * shift, rate) + rate.hops_us(shift);
}

}  // namespace weft::ici
