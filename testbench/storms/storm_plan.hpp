/// What a storm does to a slice and what its chips send meanwhile, drawn from a seed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/ici/network.hpp"

namespace weft::storms {

/// The slices that storms strike, by name; "line-8" is eight chips in a row.
[[nodiscard]] const std::vector<std::string>& slice_names();

/// Something that happens to a cable or a chip.
struct Stroke {
  enum class Kind : uint8_t {
    kCableCut,   ///< both ends of the cable lose it at `at`
    kCableBack,  ///< the cable works again
    kChipDies,   ///< all cables of the chip are cut, and stay so
    kArmed,      ///< `trouble` strikes with the next packet that leaves by the port
  };
  ici::Femtoseconds at;
  Kind kind;
  uint32_t chip;
  unsigned port;
  ici::LinkTrouble trouble;
};

struct Traffic {
  unsigned messages;     ///< of each chip
  unsigned outstanding;  ///< messages of a chip on their way
  unsigned partners;     ///< chips that a chip sends to
  unsigned orders;       ///< of the axes, from 0 on
  uint64_t largest;      ///< bytes of a message
};

struct Plan {
  std::string slice;
  ici::NetworkOptions network;
  Traffic traffic;
  std::vector<Stroke> strokes;  ///< by time
};

/// `name` is one of slice_names().
[[nodiscard]] ici::Topology topology_of(const std::string& name);

/// Draws a storm. An empty `slice`: one of slice_names(); `buffer_packets` 0: 2 to 8, rarely the default.
[[nodiscard]] Plan draw_plan(uint64_t seed, const std::string& slice, uint32_t buffer_packets);

/// "v5e-4x4, buffers of 2 packets, 12 strokes": for reports.
[[nodiscard]] std::string describe(const Plan& plan);

}  // namespace weft::storms
