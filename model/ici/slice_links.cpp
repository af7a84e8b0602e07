#include "model/ici/slice_links.hpp"

#include <utility>

#include "model/ici/flow_network.hpp"
#include "model/ici/network.hpp"

namespace weft::ici {
namespace {

class PacketLinks : public SliceLinks {
 public:
  PacketLinks(const Topology& topology, const SliceLinksOptions& options, Handler delivered)
      : network_(topology, {.link_bytes_per_second = options.link_bytes_per_second,
                            .optical = options.optical,
                            .framing = options.framing}) {
    network_.on_delivery(
        [told = std::move(delivered)](const Message& message, Delivery, Femtoseconds at) { told(message, at); });
  }
  void send(const Message& message, Femtoseconds at) override { network_.send(message, at); }
  void run_until(Femtoseconds end) override { network_.run_until(end); }
  [[nodiscard]] Femtoseconds next_event() const override { return network_.next_event(); }
  [[nodiscard]] Femtoseconds busy(uint32_t chip, unsigned port) const override {
    return network_.link(chip, port).busy;
  }

 private:
  Network network_;
};

class FlowLinks : public SliceLinks {
 public:
  FlowLinks(const Topology& topology, const SliceLinksOptions& options, Handler delivered)
      : rate_(options.link_bytes_per_second),
        network_(topology, {.link_bytes_per_second = rate_, .optical = options.optical, .framing = options.framing}) {
    network_.on_delivery(std::move(delivered));
  }
  void send(const Message& message, Femtoseconds at) override { network_.send(message, at); }
  void run_until(Femtoseconds end) override { network_.run_until(end); }
  [[nodiscard]] Femtoseconds next_event() const override { return network_.next_event(); }
  [[nodiscard]] Femtoseconds busy(uint32_t chip, unsigned port) const override {
    return transfer_time(network_.link_bytes(chip, port), rate_);
  }

 private:
  uint64_t rate_;
  FlowNetwork network_;
};

}  // namespace

std::unique_ptr<SliceLinks> make_slice_links(const Topology& topology, const SliceLinksOptions& options,
                                             SliceLinks::Handler delivered) {
  if (options.grain == Grain::kPackets) return std::make_unique<PacketLinks>(topology, options, std::move(delivered));
  return std::make_unique<FlowLinks>(topology, options, std::move(delivered));
}

}  // namespace weft::ici
