// Files byte by byte; testbench/replay reads those of Python's protobuf.
#include <catch2/catch.hpp>
#include <iostream>
#include <random>
#include <string>

#include "base/chakra/trace.hpp"

using namespace weft::chakra;

namespace {

std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

std::string number(unsigned field, uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(unsigned field, const std::string& value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}
std::string attribute(const std::string& name, const std::string& value) { return bytes(10, bytes(1, name) + value); }
std::string framed(const std::string& message) { return varint(message.size()) + message; }

const std::string kMetadata = framed(bytes(1, "0.0.4"));

/// Of a file with one node of id 7 and more fields.
std::string error_of(const std::string& fields) {
  const auto read = read_trace(kMetadata + framed(number(1, 7) + fields), "a.et");
  const auto* error = std::get_if<std::string>(&read);
  return error == nullptr ? "" : *error;
}

Node node_of(const std::string& fields) {
  const auto read = read_trace(kMetadata + framed(number(1, 7) + fields), "a.et");
  if (const auto* error = std::get_if<std::string>(&read)) FAIL(*error);
  return std::get<Trace>(read).nodes.front();
}

}  // namespace

TEST_CASE("a node has the fields of its message and of its attributes") {
  const auto node = node_of(bytes(2, "layer 3") + number(3, 5) + number(6, 12) + number(7, 3) +
                            attribute("comm_dst", number(7, 9)) + attribute("comm_size", number(13, 1 << 20)) +
                            attribute("comm_tag", number(11, 4)) + attribute("is_cpu_op", number(27, 1)) +
                            attribute("else", bytes(32, "x")) + attribute("pg_name", bytes(29, "5")));
  CHECK(node.id == 7);
  CHECK(node.name == "layer 3");
  CHECK(node.type == NodeType::kSend);
  CHECK(node.start_fs == 12'000'000'000u);
  CHECK(node.duration_fs == 3'000'000'000u);
  CHECK(node.to == 9u);
  CHECK(node.bytes == 1u << 20);
  CHECK(node.tag == 4);
  CHECK(node.on_host);
  CHECK(node.group == "5");
  CHECK_FALSE(node.from);
}

TEST_CASE("times in full go before those in microseconds, wherever they stand") {
  const auto node = node_of(attribute("duration_fs", number(13, 1'234'567)) + number(7, 3) + number(3, 4));
  CHECK(node.duration_fs == 1'234'567);
}

TEST_CASE("dependences are packed or one by one") {
  const auto read = read_trace(kMetadata + framed(number(1, 1)) + framed(number(1, 2)) +
                                   framed(number(1, 3) + bytes(5, "\1\2") + number(4, 1)) +
                                   framed(number(1, 4) + number(5, 3) + number(5, 1)),
                               "a.et");
  const auto& nodes = std::get<Trace>(read).nodes;
  CHECK(nodes[2].after == std::vector<uint64_t>{1, 2, 1});
  CHECK(nodes[3].after == std::vector<uint64_t>{3, 1});
}

TEST_CASE("what is wrong with a node is told with file, node and field") {
  const auto tells = [](const std::string& fields, const std::string& words) {
    INFO(words);
    CHECK_THAT(error_of(fields), Catch::StartsWith("a.et: node 7") && Catch::Contains(words));
  };
  tells(number(3, 11), "type: 11 is no type of a node");
  tells(bytes(3, "x"), "field 3 (type) has wire type 2");
  tells(bytes(2, "\xff"), "name is not UTF-8");
  tells(bytes(5, "\x96"), "data_deps: packed numbers end in the middle of one");
  tells(number(7, 3'600'000'001), "duration_micros: 3600000001 us are more than an hour");
  tells(number(7, ~uint64_t{0}), "are more than an hour");
  tells(number(3, 7) + attribute("comm_type", number(9, 10)), "comm_type: 10 is no collective");
  tells(attribute("comm_size", number(9, uint64_t(-1))), "comm_size: -1 is negative");
  tells(attribute("comm_size", number(17, 1)), "comm_size: -1 is negative");
  tells(attribute("comm_size", number(13, (uint64_t{1} << 43) + 1)), "comm_size: 8796093022209 is more than");
  tells(attribute("comm_dst", number(13, ~uint64_t{0})), "comm_dst: 18446744073709551615 is more than 1048576");
  tells(attribute("comm_size", bytes(29, "9")), "comm_size: not a number");
  tells(attribute("comm_size", ""), "comm_size: not a number");
  tells(attribute("comm_size", varint(3 << 3 | 1) + std::string("\0\0\0\0\0\0\xf8\x3f", 8)),
        "comm_size: 1.5 is not a whole number");
  tells(bytes(10, "\x0b"), "attr: its bytes are no message");
  tells(bytes(10, bytes(1, "\xc0\x80")), "attr.name is not UTF-8");
  tells(number(3, 5) + attribute("comm_dst", number(7, 1)), "a COMM_SEND_NODE without comm_size");
}

TEST_CASE("files that are none are refused") {
  const auto error = [](const std::string& file) {
    const auto read = read_trace(file, "a.et");
    return std::holds_alternative<std::string>(read) ? std::get<std::string>(read) : "";
  };
  CHECK(error("") == "a.et: empty");
  CHECK_THAT(error("\x1f\x8b\x08 and so on"), Catch::Contains("gzip"));
  CHECK_THAT(error("\x80"), Catch::Contains("its length is no number"));
  CHECK_THAT(error("\x05"
                   "abc"),
             Catch::Contains("5 bytes long, 3 are left"));
  CHECK_THAT(error("\xff\xff\xff\xff\x0f"), Catch::Contains("4294967295 bytes long, 67108864 may be"));
  CHECK_THAT(error(kMetadata + "\x03"
                               "ab"),
             Catch::Contains("message 1 at byte 8"));
  CHECK(error(kMetadata).empty());  // a rank that does nothing
}

TEST_CASE("a flipped bit or a cut gives a trace or a message with the file's name, never anything else") {
  std::string file = kMetadata;
  for (uint64_t id = 1; id <= 12; id++)
    file += framed(number(1, id) + bytes(2, "node") + number(3, id % 11) + (id > 1 ? number(5, id - 1) : "") +
                   number(7, 40) + attribute("comm_size", number(9, 4096)) + attribute("comm_dst", number(7, 1)) +
                   attribute("comm_src", number(7, 1)) + attribute("comm_type", number(9, id % 10)) +
                   attribute("pg_name", bytes(29, "3")));
  REQUIRE(std::holds_alternative<Trace>(read_trace(file, "a.et")));
  size_t refused = 0;
  const auto check = [&](const std::string& changed) {
    const auto read = read_trace(changed, "a.et");
    if (const auto* error = std::get_if<std::string>(&read)) {
      refused++;
      REQUIRE(error->starts_with("a.et: "));
      REQUIRE(error->find('\n') == std::string::npos);
    } else {
      REQUIRE(check_nodes(std::get<Trace>(read)).empty());
    }
  };
  for (size_t bit = 0; bit < 8 * file.size(); bit++) {
    std::string changed = file;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    check(changed);
  }
  CHECK(refused > file.size());
  for (size_t length = 0; length < file.size(); length++) check(file.substr(0, length));
  const unsigned seed = 16;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  for (int round = 0; round < 20'000; round++) {
    std::string changed = file;
    for (auto times = 1 + random() % 6; times > 0; times--)
      changed[random() % changed.size()] = static_cast<char>(random());
    check(changed);
  }
  for (int round = 0; round < 20'000; round++) {
    std::string any(random() % 40, '\0');
    for (auto& byte : any) byte = static_cast<char>(random());
    check(any);
  }
}
