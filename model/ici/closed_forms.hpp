/// What collectives take on links that do nothing else, without framing: what both models are compared with.
#pragma once
#include <array>
#include <cstdint>

#include "model/ici/optical_links.hpp"
#include "model/ici/time.hpp"
#include "model/ici/topology.hpp"

namespace weft::ici {

/// One way, on the wire, and a hop's latency; that of optical links where a slice is made of cubes.
struct LinkRate {
  double bytes_per_second;
  double hop_us = 1;
  OpticalLinks optical = {};

  /// Of so many hops of an axis one after the other, of which the most that can be are optical.
  [[nodiscard]] double hops_us(unsigned hops) const {
    return hops * hop_us + optical.most_among(hops) * (microseconds(optical.latency) - hop_us);
  }
};

/// What part of an array takes each of the axes of the mask `axes` first, so that all are busy for as long: in
/// proportion to K / (K - 1) on a line of K, to twice that on a ring. 0: not among the axes, or of one chip.
std::array<double, kAxes> axis_shares(const Topology& topology, unsigned axes);

/// `bytes` V of the whole array, over the axes of the mask `axes`. Each part takes the axes one after the other; the
/// slowest of what is on its way in the same phase counts. On n axes of one kind and length V (1 - 1 / prod K) / (n W)
/// and floor(K / 2) hops an axis on rings, with W both ways of a link; half of the bandwidth and K - 1 hops on lines. A
/// reduce-scatter takes as long. in_step: a chip goes on to the next axis with all parts at once, so the hops of the slowest
/// part in a phase count.
double all_gather_us(const Topology& topology, uint64_t bytes, unsigned axes, const LinkRate& rate,
                     bool in_step = false);

/// A reduce-scatter and an all-gather.
double all_reduce_us(const Topology& topology, uint64_t bytes, unsigned axes, const LinkRate& rate);

/// V / (4 W) on an even ring, and the hop of what is sent last.
double all_to_all_us(const Topology& topology, uint64_t bytes, unsigned axis, const LinkRate& rate);

/// The root's array on each of its links, to the farthest chip; of a slice of cubes the worst root's.
double broadcast_us(const Topology& topology, uint64_t bytes, unsigned axis, unsigned root, const LinkRate& rate);

/// A ring on which every chip sends `bytes` to the one `shift` places on: each link carries so many of them. shift
/// below half of the ring.
double permute_us(uint64_t bytes, unsigned shift, const LinkRate& rate);

}  // namespace weft::ici
