/// Exchanges in which every array goes straight to its receivers: messages that all set out at once.
#pragma once
#include <cstdint>
#include <vector>

#include "model/ici/network.hpp"
#include "model/ici/topology.hpp"

namespace weft::ici {

enum class ExchangeKind : uint8_t { kAllToAll, kBroadcast, kPermute };

/// Along one axis; chips that differ in another axis form groups of their own, which run side by side.
struct ExchangeOptions {
  ExchangeKind kind = ExchangeKind::kAllToAll;
  /// kAllToAll: of the whole array of a group of K, of which each chip holds a K-th and sends a K-th of that to each
  /// other. kBroadcast: of the root's array. kPermute: of each chip's array.
  uint64_t bytes = 0;
  unsigned axis = 0;
  unsigned root = 0;   ///< coordinate on the axis, of kBroadcast
  unsigned shift = 1;  ///< of kPermute: chip r sends to chip (r + shift) modulo K
};

/// all-to-all: the farthest first, so that what is sent last has the shortest way; of two ways round a ring that are as
/// long, each takes half. broadcast: to the farthest chip either way; those between take what passes.
/// permute: the shortest way.
std::vector<Message> exchange(const Topology& topology, const ExchangeOptions& options);

}  // namespace weft::ici
