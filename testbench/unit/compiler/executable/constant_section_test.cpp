#include "host/compiler/executable/constant_section.hpp"

#include <catch2/catch.hpp>
#include <string_view>

using namespace weft::compiler;

namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST_CASE("constants lie one behind the other, filled up with zeros") {
  ConstantSection section;
  const std::string long_text(65, 'x');
  CHECK(section.add(bytes("a")) == 0);
  CHECK(section.add(bytes(long_text)) == 64);
  CHECK(section.add(bytes("b")) == 64 + 128);
  const auto all = section.take();
  REQUIRE(all.size() == 256);
  CHECK(all[0] == std::byte{'a'});
  CHECK(all[1] == std::byte{0});
  CHECK(all[64 + 64] == std::byte{'x'});
  CHECK(all[64 + 65] == std::byte{0});
}

TEST_CASE("equal constants are one, those that only begin alike or end in zeros are not mixed up") {
  using namespace std::string_view_literals;
  ConstantSection section;
  const uint64_t first = section.add(bytes("abc"));
  CHECK(section.add(bytes("abc")) == first);
  const uint64_t longer = section.add(bytes("abcd"));
  CHECK(longer != first);
  CHECK(section.add(bytes("abcd")) == longer);
  CHECK(section.add(bytes("abx")) != first);
  const uint64_t zeros = section.add(bytes("z\0\0"sv));
  CHECK(section.add(bytes("z\0\0"sv)) == zeros);
  const auto all = section.take();
  CHECK(all.size() == 4 * 64);
}

TEST_CASE("a constant of no bytes has a place, and takes none") {
  ConstantSection section;
  CHECK(section.add({}) == 0);
  CHECK(section.add({}) == 0);
  CHECK(section.add(bytes("a")) == 0);
  CHECK(section.add({}) == 0);
  CHECK(section.take().size() == 64);
}
