// A table of few and of many, against a plain map.
#include "model/chip/by_peer.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>

using weft::chip::ByPeer;

TEST_CASE("What is kept of a peer is found again, of few and of many, until it is erased") {
  const uint32_t seed = Catch::rngSeed() != 0 ? static_cast<uint32_t>(Catch::rngSeed()) : 1;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const uint32_t peers : {3u, 16u, 17u, 18u, 400u}) {
    ByPeer<uint64_t> table;
    std::map<uint32_t, uint64_t> plain;
    for (int step = 0; step < 5000; step++) {
      const uint32_t peer = random() % peers;
      switch (random() % (step % 1000 < 600 ? 8 : 3)) {
        case 0:
          table.erase(peer);
          plain.erase(peer);
          break;
        case 1:
          if (step % 1000 == 999) table.clear(), plain.clear();
          break;
        default: {
          const uint64_t more = random() % 100;
          table[peer] += more;
          plain[peer] += more;
        }
      }
      const uint32_t asked = random() % (peers + 2);
      const uint64_t* found = table.find(asked);
      REQUIRE((found != nullptr) == plain.contains(asked));
      if (found != nullptr) REQUIRE(*found == plain[asked]);
    }
    for (const auto& [peer, thing] : plain) REQUIRE(*table.find(peer) == thing);
  }
}
