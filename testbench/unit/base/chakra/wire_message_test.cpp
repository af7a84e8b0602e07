#include "base/chakra/wire_message.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace weft::chakra;

namespace {

std::vector<WireField> fields_of(std::string_view bytes, bool broken = false) {
  WireMessage message(bytes);
  std::vector<WireField> fields;
  for (WireField field; message.next(field);) fields.push_back(field);
  CHECK(message.broken() == broken);
  return fields;
}

}  // namespace

TEST_CASE("fields of every wire type come with their numbers") {
  using namespace std::string_view_literals;
  const auto fields = fields_of("\x08\x96\x01\x11\1\2\3\4\5\6\7\x08\x1a\3abc\x25\1\0\0\0\xf8\xff\xff\xff\x0f\x01"sv);
  REQUIRE(fields.size() == 5);
  CHECK((fields[0].number == 1 && fields[0].type == WireType::kVarint && fields[0].value == 150));
  CHECK((fields[1].number == 2 && fields[1].type == WireType::kFixed64 && fields[1].value == 0x0807060504030201));
  CHECK((fields[2].number == 3 && fields[2].type == WireType::kBytes && fields[2].bytes == "abc"));
  CHECK((fields[3].number == 4 && fields[3].type == WireType::kFixed32 && fields[3].value == 1));
  CHECK((fields[4].number == (1u << 29) - 1 && fields[4].value == 1));
}

TEST_CASE("bytes that are no message are told, wherever they end") {
  using namespace std::string_view_literals;
  CHECK(fields_of("").empty());
  for (const auto& bytes : {"\x08"sv, "\x08\x80"sv, "\x09\1\2\3"sv, "\x0d\1"sv, "\x0a\5ab"sv,
                            "\x0a\xff\xff\xff\xff\x0f"sv, "\x0b"sv, "\x0c"sv, "\x0e\1"sv, "\x0f\1"sv, "\x00\x01"sv,
                            "\xff\xff\xff\xff\xff\xff"sv, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv}) {
    INFO(bytes.size());
    CHECK(fields_of(bytes, true).empty());
  }
}

TEST_CASE("packed numbers end with their bytes") {
  using namespace std::string_view_literals;
  WireMessage packed("\x01\x96\x01\x7f"sv);
  std::vector<uint64_t> values;
  for (uint64_t value = 0; packed.next_packed(value);) values.push_back(value);
  CHECK(values == std::vector<uint64_t>{1, 150, 127});
  CHECK_FALSE(packed.broken());
  WireMessage cut("\x01\x96"sv);
  uint64_t value = 0;
  CHECK(cut.next_packed(value));
  CHECK_FALSE(cut.next_packed(value));
  CHECK(cut.broken());
}
