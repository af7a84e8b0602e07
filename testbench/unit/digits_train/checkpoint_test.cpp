// Checkpoints: what goes in comes out, and nothing else is taken for one.
#include "host/examples/digits_train/checkpoint.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "base/crc32c.hpp"

using namespace weft;

namespace {

examples::Checkpoint sample() {
  examples::Checkpoint c{{{{3, 2}}, 11, 4, 40, {0.5F, 0.25F}}, 17, {}, {}};
  for (int i = 0; i < 8; i++) {
    c.parameters.push_back(static_cast<float>(i) - 0.5F);
    c.momentum.push_back(static_cast<float>(i) * 1e-20F);
  }
  return c;
}

std::string error_of(const std::vector<std::byte>& bytes) {
  const auto result = examples::decode_checkpoint(bytes);
  return result.ok() ? "" : result.error().message;
}

/// The sample with `value` at byte `at`, and the CRC made to fit.
template <typename T>
std::vector<std::byte> changed(size_t at, T value) {
  auto bytes = examples::encode_checkpoint(sample());
  std::memcpy(&bytes[at], &value, sizeof value);
  const uint32_t crc = weft::crc32c(&bytes[16], bytes.size() - 16);
  std::memcpy(&bytes[12], &crc, sizeof crc);
  return bytes;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a checkpoint that was written is read as it was, to the byte") {
  const auto bytes = examples::encode_checkpoint(sample());
  const auto read = examples::decode_checkpoint(bytes);
  REQUIRE(read.ok());
  CHECK(read.value().settings == sample().settings);
  CHECK(read.value().step == 17);
  CHECK(read.value().parameters == sample().parameters);
  CHECK(read.value().momentum == sample().momentum);
  CHECK(examples::encode_checkpoint(read.value()) == bytes);
}

TEST_CASE("every bit of a checkpoint counts: one that flipped is an error") {
  const auto good = examples::encode_checkpoint(sample());
  uint64_t taken = 0;
  for (size_t bit = 0; bit < 8 * good.size(); bit++) {
    auto bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    taken += examples::decode_checkpoint(bytes).ok();
  }
  CHECK(taken == 0);
}

TEST_CASE("a checkpoint that ends early or goes on too long is an error, and so are random bytes") {
  const auto good = examples::encode_checkpoint(sample());
  uint64_t taken = 0;
  for (size_t length = 0; length < good.size(); length++)
    taken += examples::decode_checkpoint(std::span(good).first(length)).ok();
  auto longer = good;
  longer.resize(good.size() + 4);
  taken += examples::decode_checkpoint(longer).ok();
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; i++) {
    std::vector<std::byte> bytes(random() % 300);
    for (auto& b : bytes) b = static_cast<std::byte>(random());
    taken += examples::decode_checkpoint(bytes).ok();
  }
  CHECK(taken == 0);
}

TEST_CASE("a field that cannot be is refused by name, though the CRC fits, and sizes are not believed") {
  CHECK(contains(error_of({}), "0 bytes"));
  auto magic = examples::encode_checkpoint(sample());
  magic[0] = std::byte{'X'};
  CHECK(contains(error_of(magic), "magic"));
  CHECK(contains(error_of(changed(8, uint32_t{9})), "version 9"));
  auto damaged = examples::encode_checkpoint(sample());
  damaged.back() ^= std::byte{1};
  CHECK(contains(error_of(damaged), "CRC"));
  CHECK(contains(error_of(changed(24, uint64_t{0})), "batch of 0"));
  CHECK(contains(error_of(changed(32, uint64_t{3})), "batch of 4 rows of 3"));
  CHECK(contains(error_of(changed(48, uint64_t{1})), "1 widths"));
  CHECK(contains(error_of(changed(48, UINT64_MAX)), "widths"));
  CHECK(contains(error_of(changed(48, uint64_t{64})), "too few for 64 widths"));
  CHECK(contains(error_of(changed(56, NAN)), "rate nan"));
  CHECK(contains(error_of(changed(60, -1.0F)), "momentum -1"));
  CHECK(contains(error_of(changed(64, uint64_t{0})), "width 0"));
  CHECK(contains(error_of(changed(64, uint64_t{65535})), "parameters make"));
  CHECK(error_of(changed(40, uint64_t{18})).empty());  // another step
}
