// Hop by hop.
#include "model/ici/optical_links.hpp"

#include "model/ici/routing.hpp"

namespace weft::ici {

Femtoseconds OpticalLinks::way_time(const Topology& topology, uint32_t from, uint32_t to,
                                    Femtoseconds hop_latency) const {
  if (!any()) return topology.distance(from, to) * hop_latency;
  Femtoseconds time = 0;
  auto route = dimension_order(topology, from, to, 0);
  for (auto port = route.port(); port != kPorts; port = route.port()) {
    time += is_optical(topology, from, port) ? latency : hop_latency;
    from = topology.neighbor(from, port);
    route.take(port);
  }
  return time;
}

}  // namespace weft::ici
