// Best fit, coalescing, and a random history against a byte map.
#include "driver/memory/address_allocator.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using weft::driver::AddressAllocator;

TEST_CASE("an empty space is one piece, aligned inwards") {
  AddressAllocator a(100, 1000);
  CHECK(a.total_bytes() == 1088 - 128);
  CHECK(a.free_bytes() == a.total_bytes());
  CHECK(a.largest_bytes() == a.total_bytes());
  CHECK_FALSE(a.allocate(a.total_bytes() + 1, 64));
  CHECK(a.allocate(a.total_bytes(), 64) == 128u);
  CHECK(a.largest_bytes() == 0);
}

TEST_CASE("the smallest piece that fits is taken") {
  AddressAllocator a(0, 10240);
  const auto p0 = a.allocate(1024, 64), p1 = a.allocate(64, 64), p2 = a.allocate(256, 64), p3 = a.allocate(64, 64);
  REQUIRE((p0 && p1 && p2 && p3));
  CHECK(a.release(*p0));
  CHECK(a.release(*p2));
  CHECK(a.allocate(200, 64) == *p2);
  CHECK(a.allocate(1000, 64) == *p0);
}

TEST_CASE("freed neighbours become one piece from either side") {
  AddressAllocator a(0, 64 * 4);
  std::vector<uint64_t> p;
  for (int i = 0; i < 4; i++) p.push_back(*a.allocate(64, 64));
  for (const int i : {0, 2, 1, 3}) CHECK(a.release(p[static_cast<size_t>(i)]));
  CHECK(a.largest_bytes() == 64 * 4);
  CHECK_FALSE(a.release(p[0]));
}

TEST_CASE("huge requests do not overflow") {
  AddressAllocator a(uint64_t{1} << 40, 1 << 20);
  CHECK_FALSE(a.allocate(~uint64_t{0}, 64));
  CHECK_FALSE(a.allocate(~uint64_t{0} - 62, 4096));
}

TEST_CASE("random allocations never overlap and all memory comes back") {
  const uint32_t seed = GENERATE(1u, 2u, 3u, 4u);
  CAPTURE(seed);
  std::mt19937 random(seed);
  constexpr uint64_t kFirst = 4096, kBytes = 1 << 20;
  AddressAllocator a(kFirst, kBytes);
  std::vector<char> owned(kBytes / 64, 0);
  struct Piece {
    uint64_t address, granules;
  };
  std::vector<Piece> pieces;
  uint64_t used = 0;
  for (int step = 0; step < 20000; step++) {
    if (random() % 5 < 3) {
      const uint64_t bytes = random() % 3 == 0 ? random() % 40000 : random() % 600;
      const uint64_t alignment = uint64_t{64} << random() % 7;
      const auto address = a.allocate(bytes, alignment);
      const uint64_t granules = (std::max<uint64_t>(bytes, 1) + 63) / 64;
      if (!address) {
        REQUIRE(a.largest_bytes() < granules * 64 + alignment);
        continue;
      }
      REQUIRE(*address % alignment == 0);
      REQUIRE(*address >= kFirst);
      REQUIRE(*address + granules * 64 <= kFirst + kBytes);
      for (uint64_t g = 0; g < granules; g++) {
        char& cell = owned[(*address - kFirst) / 64 + g];
        REQUIRE(cell == 0);
        cell = 1;
      }
      pieces.push_back({*address, granules});
      used += granules * 64;
    } else if (!pieces.empty()) {
      const size_t victim = random() % pieces.size();
      REQUIRE(a.release(pieces[victim].address));
      for (uint64_t g = 0; g < pieces[victim].granules; g++) owned[(pieces[victim].address - kFirst) / 64 + g] = 0;
      used -= pieces[victim].granules * 64;
      pieces[victim] = pieces.back();
      pieces.pop_back();
    }
    REQUIRE(a.free_bytes() == kBytes - used);
  }
  for (const Piece& piece : pieces) REQUIRE(a.release(piece.address));
  CHECK(a.largest_bytes() == kBytes);
  CHECK(a.allocations() == 0);
}
