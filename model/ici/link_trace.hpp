/// The links of a slice in its Chrome trace: a span a packet on the track of each link that it takes, arrows from one
/// to the next.
#pragma once
#include <cstdint>
#include <memory>

#include "model/ici/network.hpp"
#include "model/trace/trace_file.hpp"

namespace weft::ici {

/// Listens to a network's hops. A link has a track at the chip that it leaves, and one at the chip that it enters with
/// the packets that end there. One thread.
class LinkTrace {
 public:
  LinkTrace(std::shared_ptr<TraceFile> file, const Topology& topology);

  void hop(const Hop& hop);

 private:
  std::shared_ptr<TraceFile> file_;
  const Topology& topology_;
};

}  // namespace weft::ici
