/// What a BARRIER says that its chips are about to do together.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/sharded/sharding.hpp"

namespace weft::compiler {

/// The same for all chips that do the same together (FNV-1a).
[[nodiscard]] inline uint32_t barrier_signature(std::span<const uint64_t> values) {
  uint32_t hash = 2166136261u;
  for (const uint64_t value : values)
    for (unsigned byte = 0; byte < sizeof value; byte++) hash = (hash ^ (value >> (8 * byte) & 0xff)) * 16777619u;
  return hash;
}

}  // namespace weft::compiler
