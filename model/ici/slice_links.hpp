/// The links of a slice at either grain, behind one interface: for what sends messages and cares for nothing else.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "model/ici/dcn.hpp"
#include "model/ici/optical_links.hpp"
#include "model/ici/time.hpp"
#include "model/ici/topology.hpp"
#include "model/ici/transport.hpp"

namespace weft::ici {

struct SliceLinksOptions {
  uint64_t link_bytes_per_second = 0;  ///< on the wire, one way, > 0
  bool framing = true;  ///< false: messages take the time of their payload alone, to be compared with closed forms
  Grain grain = Grain::kPackets;
  OpticalLinks optical = {};
};

/// A `Network` or a `FlowNetwork` without faults. Nothing happens but in run_until. One thread.
class SliceLinks {
 public:
  /// A message whose last byte has arrived; may send.
  using Handler = std::function<void(const Message&, Femtoseconds)>;

  SliceLinks() = default;
  SliceLinks(const SliceLinks&) = delete;
  SliceLinks& operator=(const SliceLinks&) = delete;
  virtual ~SliceLinks() = default;

  /// Sends at `at`, not before what has happened.
  virtual void send(const Message& message, Femtoseconds at) = 0;
  /// Runs what happens up to `end`.
  virtual void run_until(Femtoseconds end) = 0;
  /// When the next thing happens; kNever: nothing is left.
  [[nodiscard]] virtual Femtoseconds next_event() const = 0;
  /// How long a link has carried bytes, framing included if there is any.
  [[nodiscard]] virtual Femtoseconds busy(uint32_t chip, unsigned port) const = 0;
};

std::unique_ptr<SliceLinks> make_slice_links(const Topology& topology, const SliceLinksOptions& options,
                                             SliceLinks::Handler delivered);

}  // namespace weft::ici
