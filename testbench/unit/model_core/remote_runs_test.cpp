#include "model/core/remote/remote_runs.hpp"

#include <catch2/catch.hpp>
#include <iostream>
#include <random>
#include <vector>

using weft::core::RemoteRuns;

namespace {

std::vector<RemoteRuns::Run> all(const RemoteRuns& runs) {
  std::vector<RemoteRuns::Run> out;
  for (const RemoteRuns::Run run : runs) out.push_back(run);
  return out;
}

}  // namespace

TEST_CASE("runs come back as they were added, those that touch as one") {
  for (unsigned seed = 1; seed <= 300; seed++) {
    std::mt19937 random(seed);
    RemoteRuns runs;
    std::vector<RemoteRuns::Run> expected;
    uint64_t at = random() % 4096;
    const uint64_t distance = 64 + random() % 512;
    for (unsigned i = random() % 200; i > 0; i--) {
      const uint32_t bytes = random() % 4 == 0 ? 1 + random() % 64 : 64;
      switch (random() % 8) {
        case 0:
          at = random();
          break;
        case 1:
        case 2:
          break;  // it goes on
        case 3:
          at -= 2 * distance;
          break;
        default:
          at += distance - bytes;
          break;
      }
      runs.add(at, bytes);
      if (!expected.empty() && expected.back().offset + expected.back().bytes == at) {
        expected.back().bytes += bytes;
      } else {
        expected.push_back({at, bytes});
      }
      at += bytes;
    }
    if (all(runs) != expected) FAIL("seed " << seed << ": " << expected.size() << " runs");
  }
}

TEST_CASE("runs of one length at one distance take the room of one, also if each comes in parts") {
  RemoteRuns runs;
  for (uint64_t i = 0; i < 100; i++) {
    runs.add(1000 * i, 60);
    runs.add(1000 * i + 60, 4);
  }
  CHECK(runs.series().size() <= 3);
  REQUIRE(all(runs).size() == 100);
  CHECK(all(runs).back() == RemoteRuns::Run{99'000, 64});
  CHECK(all(RemoteRuns(runs.series())) == all(runs));
}
