// Known vectors, and the instruction against the table.
#include "base/crc32c.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

using namespace weft;

TEST_CASE("CRC-32C of the published vectors") {
  CHECK(crc32c("123456789", 9) == 0xe3069283u);
  const std::vector<unsigned char> zeros(32, 0), ones(32, 0xff);
  CHECK(crc32c(zeros.data(), 32) == 0x8a9136aau);
  CHECK(crc32c(ones.data(), 32) == 0x62a8ab43u);
  CHECK(crc32c(nullptr, 0) == 0);
}

TEST_CASE("instruction and table agree at every length and offset, whole and in parts") {
  std::mt19937 random(5);
  std::vector<unsigned char> bytes(300);
  for (auto& b : bytes) b = static_cast<unsigned char>(random());
  for (size_t first = 0; first < 9; first++) {
    for (size_t count = 0; count + first <= bytes.size(); count++) {
      const uint32_t whole = crc32c(&bytes[first], count);
      REQUIRE(whole == crc32c_portable(&bytes[first], count));
      REQUIRE(whole == crc32c(&bytes[first] + count / 3, count - count / 3, crc32c(&bytes[first], count / 3)));
    }
  }
}
