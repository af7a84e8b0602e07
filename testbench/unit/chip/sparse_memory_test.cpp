// HBM's contents.
#include "model/chip/sparse_memory.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

using weft::chip::SparseMemory;

namespace {

constexpr uint64_t kBytes = uint64_t{16} << 30;

}  // namespace

TEST_CASE("fresh memory reads zero, and reading it costs next to nothing") {
  std::string error;
  auto memory = SparseMemory::make(kBytes, error);
  REQUIRE(memory != nullptr);
  std::array<std::byte, 4096> page;
  for (uint64_t at = 0; at < kBytes; at += kBytes / 64) {
    page.fill(std::byte{0xff});
    REQUIRE(memory->read(at, page));
    for (const std::byte b : page) REQUIRE(b == std::byte{0});
  }
}

TEST_CASE("only touched pages become resident") {
  std::string error;
  auto memory = SparseMemory::make(uint64_t{1} << 30, error);
  const std::array<std::byte, 16> data{std::byte{1}};
  for (uint64_t i = 0; i < 8; i++) REQUIRE(memory->write(i << 26, data));
  CHECK(memory->resident_bytes() >= 8 * 4096);
  CHECK(memory->resident_bytes() <= uint64_t{8} << 21);  // huge pages, if the system gives them
}

TEST_CASE("what was written reads back until clear(), then it is zero") {
  std::string error;
  auto memory = SparseMemory::make(1 << 20, error);
  const std::array<std::byte, 4> data{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  std::array<std::byte, 4> back{};
  REQUIRE(memory->write(4094, data));
  REQUIRE(memory->read(4094, back));
  CHECK(back == data);
  memory->clear();
  REQUIRE(memory->read(4094, back));
  CHECK(back == std::array<std::byte, 4>{});
}

TEST_CASE("a cleared range reads zero, to the byte, and its neighbours stay") {
  std::string error;
  auto memory = SparseMemory::make(1 << 20, error);
  std::vector<std::byte> ones(1 << 16, std::byte{1}), back(1 << 16);
  for (const auto& [from, bytes] : {std::pair<uint64_t, uint64_t>{0, 4096},
                                    {1, 1},
                                    {4095, 2},
                                    {4096, 8192},
                                    {5000, 9000},
                                    {8191, 4097},
                                    {100, 0},
                                    {0, 1 << 16}}) {
    CAPTURE(from, bytes);
    REQUIRE(memory->write(0, ones));
    REQUIRE(memory->clear(from, bytes));
    REQUIRE(memory->read(0, back));
    for (uint64_t i = 0; i < back.size(); i++) REQUIRE((back[i] == std::byte{0}) == (i >= from && i < from + bytes));
  }
  CHECK_FALSE(memory->clear((1 << 20) - 1, 2));
  CHECK_FALSE(memory->clear(UINT64_MAX, 2));
}

TEST_CASE("an access with one byte outside does nothing and says so") {
  std::string error;
  auto memory = SparseMemory::make(4096, error);
  std::array<std::byte, 16> data;
  data.fill(std::byte{7});
  CHECK(memory->write(4080, data));
  CHECK_FALSE(memory->write(4081, data));
  CHECK_FALSE(memory->read(4081, data));
  CHECK_FALSE(memory->read(UINT64_MAX - 3, data));
  CHECK_FALSE(memory->write(UINT64_MAX - 15, data));
  CHECK(memory->view(4081, 16).empty());
  CHECK(memory->view(4080, 16).size() == 16);
}

TEST_CASE("HBM of no size or of an impossible size is refused with a message") {
  std::string error;
  CHECK(SparseMemory::make(0, error) == nullptr);
  CHECK_FALSE(error.empty());
  error.clear();
  CHECK(SparseMemory::make(uint64_t{1} << 62, error) == nullptr);
  CHECK_FALSE(error.empty());
}
