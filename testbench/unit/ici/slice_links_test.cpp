#include "model/ici/slice_links.hpp"

#include <catch2/catch.hpp>

using namespace weft::ici;

TEST_CASE("a message takes as long on the links of either grain, and occupies those of its way") {
  const Topology line({3, 1, 1}, {}, false);
  for (const auto grain : {Grain::kPackets, Grain::kFlows})
    for (const bool framing : {false, true}) {
      Femtoseconds arrived = 0;
      const auto links =
          make_slice_links(line, {.link_bytes_per_second = 1'000'000'000, .framing = framing, .grain = grain},
                           [&](const Message& message, Femtoseconds at) {
                             CHECK(message.tag == 7);
                             arrived = at;
                           });
      links->send({.from = 0, .to = 2, .bytes = 409'600, .tag = 7}, 5 * kMicrosecond);
      CHECK(links->next_event() == 5 * kMicrosecond);
      links->run_until(kNever);
      CHECK(links->next_event() == kNever);
      const double us = framing ? 409.6 * (4128 + 17 * 10) / 4096 : 409.6;
      CHECK(microseconds(arrived) == Approx(5 + us + 2).epsilon(0.02));
      CHECK(microseconds(links->busy(0, port_of(0, true))) == Approx(us));
      CHECK(microseconds(links->busy(1, port_of(0, true))) == Approx(us));
      CHECK(links->busy(1, port_of(0, false)) == 0);
    }
}
