/// What a router may lack of an ideal one.
#pragma once
#include <cstdint>

#include "model/ici/routing.hpp"
#include "model/ici/time.hpp"

namespace weft::ici {

/// As it comes a router is ideal: all its queues pass their heads on at once, whatever their input, and a chip takes in
/// what all its links bring.
struct RouterLimits {
  bool crossbar = false;  ///< an input passes on one packet at a time
  bool ingress = false;   ///< a chip takes in one packet at a time, at a link's rate; the others wait in their buffers
  uint32_t injection_queues = 0;   ///< what a chip sends stands in so many queues a class, by its destination, at one
                                   ///< input; 0: a queue for each first link and channel. At most kMostInjectionQueues
  Femtoseconds head_delay = 0;     ///< from the moment when a packet is the head of its queue until it asks for a link
  Femtoseconds channel_delay = 0;  ///< a channel of a link takes the next packet so long after the last one's end
  bool first_come = false;         ///< a link takes the packet that waited longest; else sources take turns

  static constexpr uint32_t kMostInjectionQueues = kChannels / kClasses;

  /// More than a link and a buffer decides when a packet goes.
  [[nodiscard]] bool any() const { return crossbar || ingress || head_delay != 0 || channel_delay != 0 || first_come; }
};

}  // namespace weft::ici
