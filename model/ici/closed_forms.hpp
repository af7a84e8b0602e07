/// What collectives take on links that do nothing else, without framing: what both models are compared with.
#pragma once
#include <cstdint>

#include "model/ici/topology.hpp"

namespace weft::ici {

/// One way, on the wire, and a hop's latency.
struct LinkRate {
  double bytes_per_second;
  double hop_us = 1;
};

/// `bytes` V of the whole array, over the axes of the mask `axes`, all of one kind: V (1 - 1 / prod K) / (n W) and a
/// latency of floor(K / 2) hops an axis on n rings, with W both ways of a link; half of the bandwidth and K - 1 hops on
/// lines. A reduce-scatter takes as long. With several axes these are as long as each other, or it is a lower bound.
double all_gather_us(const Topology& topology, uint64_t bytes, unsigned axes, const LinkRate& rate);

/// A reduce-scatter and an all-gather.
double all_reduce_us(const Topology& topology, uint64_t bytes, unsigned axes, const LinkRate& rate);

/// V / (4 W) on an even ring, and the hop of what is sent last.
double all_to_all_us(const Topology& topology, uint64_t bytes, unsigned axis, const LinkRate& rate);

/// The root's array on each of its links, to the farthest chip.
double broadcast_us(const Topology& topology, uint64_t bytes, unsigned axis, unsigned root, const LinkRate& rate);

/// A ring on which every chip sends `bytes` to the one `shift` places on: each link carries so many of them. shift
/// below half of the ring.
double permute_us(uint64_t bytes, unsigned shift, const LinkRate& rate);

}  // namespace weft::ici
