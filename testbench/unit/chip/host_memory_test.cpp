// The IOVA map.
#include "model/chip/host_memory.hpp"

#include <fcntl.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>

#include "testbench/unit/chip/stand_in_firmware.hpp"

using namespace weft;
using chip::Access;
using chip::HostMemory;
using test::SharedMemory;

namespace {

constexpr uint64_t kPage = HostMemory::kPageBytes;

}  // namespace

TEST_CASE("mapped memory is the client's memory, both ways") {
  SharedMemory shared(4 * kPage);
  HostMemory memory;
  REQUIRE(memory.map(shared.fd(), kPage, 0x10000, 2 * kPage, Access::kReadWrite) == 0);
  *shared.at<uint32_t>(kPage + 8) = 0x12345678;
  std::array<std::byte, 4> data;
  REQUIRE(memory.read(0x10008, data));
  CHECK(data[0] == std::byte{0x78});
  REQUIRE(memory.write(0x10000 + 2 * kPage - 4, data));
  CHECK(*shared.at<uint32_t>(3 * kPage - 4) == 0x12345678);
}

TEST_CASE("a byte outside of a map, or without the right, is refused and nothing is copied") {
  SharedMemory shared(2 * kPage);
  HostMemory memory;
  REQUIRE(memory.map(shared.fd(), 0, kPage, kPage, Access::kRead) == 0);
  REQUIRE(memory.map(shared.fd(), kPage, 4 * kPage, kPage, Access::kWrite) == 0);
  std::array<std::byte, 16> data;
  data.fill(std::byte{9});
  CHECK(memory.read(kPage, data));
  CHECK_FALSE(memory.read(kPage - 1, data));
  CHECK_FALSE(memory.read(2 * kPage - 15, data));
  CHECK_FALSE(memory.write(kPage, data));
  CHECK_FALSE(memory.read(4 * kPage, data));
  CHECK_FALSE(memory.write(5 * kPage - 8, data));
  CHECK(*shared.at<uint64_t>(2 * kPage - 8) == 0);
  CHECK(memory.write(4 * kPage, data));
  CHECK_FALSE(memory.read(UINT64_MAX - 4, data));
}

TEST_CASE("an access may cross from one map into its neighbour") {
  SharedMemory low(kPage), high(kPage);
  HostMemory memory;
  REQUIRE(memory.map(low.fd(), 0, 0, kPage, Access::kReadWrite) == 0);
  REQUIRE(memory.map(high.fd(), 0, kPage, kPage, Access::kReadWrite) == 0);
  std::array<std::byte, 8> data;
  data.fill(std::byte{5});
  REQUIRE(memory.write(kPage - 4, data));
  CHECK(*low.at<uint32_t>(kPage - 4) == 0x05050505);
  CHECK(*high.at<uint32_t>(0) == 0x05050505);
  std::array<std::byte, 8> back{};
  REQUIRE(memory.read(kPage - 4, back));
  CHECK(back == data);
}

TEST_CASE("maps that could hurt the server are refused") {
  SharedMemory sealed(4 * kPage), unsealed(4 * kPage, 0);
  HostMemory memory;
  const auto map = [&](int fd, uint64_t offset, uint64_t iova, uint64_t bytes) {
    return memory.map(fd, offset, iova, bytes, Access::kReadWrite);
  };
  CHECK(map(unsealed.fd(), 0, 0, kPage) == EPERM);
  CHECK(map(sealed.fd(), 0, 0, 0) == EINVAL);
  CHECK(map(sealed.fd(), 0, 0, 5 * kPage) == EINVAL);
  CHECK(map(sealed.fd(), 4 * kPage, 0, kPage) == EINVAL);
  CHECK(map(sealed.fd(), 100, 0, kPage) == EINVAL);
  CHECK(map(sealed.fd(), 0, 100, kPage) == EINVAL);
  CHECK(map(sealed.fd(), 0, 0, 100) == EINVAL);
  CHECK(map(sealed.fd(), 0, UINT64_MAX - kPage + 1, kPage) == EINVAL);
  CHECK(map(sealed.fd(), 0, WEFT_LIMIT_ADDRESS_FLAG_HBM - kPage, 2 * kPage) == EINVAL);
  CHECK(map(sealed.fd(), ~(kPage - 1), 0, kPage) == EINVAL);
  CHECK(map(-1, 0, 0, kPage) == EPERM);
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  CHECK(map(pipe_ends[0], 0, 0, kPage) == EPERM);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  CHECK(map(null, 0, 0, kPage) == EPERM);
  CHECK(memory.size() == 0);
  for (const int fd : {pipe_ends[0], pipe_ends[1], null}) ::close(fd);
}

TEST_CASE("a map that overlaps another one on any side is refused") {
  SharedMemory shared(8 * kPage);
  HostMemory memory;
  REQUIRE(memory.map(shared.fd(), 0, 4 * kPage, 2 * kPage, Access::kReadWrite) == 0);
  const auto map = [&](uint64_t page, uint64_t pages) {
    return memory.map(shared.fd(), 0, page * kPage, pages * kPage, Access::kReadWrite);
  };
  CHECK(map(4, 2) == EEXIST);
  CHECK(map(3, 2) == EEXIST);
  CHECK(map(5, 2) == EEXIST);
  CHECK(map(5, 1) == EEXIST);
  CHECK(map(2, 6) == EEXIST);
  CHECK(map(3, 1) == 0);
  CHECK(map(6, 1) == 0);
}

TEST_CASE("only a whole map can be unmapped, and then it is gone") {
  SharedMemory shared(4 * kPage);
  HostMemory memory;
  REQUIRE(memory.map(shared.fd(), 0, 0, 2 * kPage, Access::kReadWrite) == 0);
  CHECK(memory.unmap(0, kPage) == ENOENT);
  CHECK(memory.unmap(kPage, kPage) == ENOENT);
  CHECK(memory.unmap(0, 2 * kPage) == 0);
  CHECK(memory.unmap(0, 2 * kPage) == ENOENT);
  std::array<std::byte, 1> data;
  CHECK_FALSE(memory.read(0, data));
}

TEST_CASE("the last word of an ordered write lands, whatever its size and alignment") {
  SharedMemory shared(kPage);
  HostMemory memory;
  REQUIRE(memory.map(shared.fd(), 0, 0, kPage, Access::kReadWrite) == 0);
  for (const size_t bytes : {1, 4, 7, 8, 12, 16, 31, 32}) {
    for (const uint64_t at : {0, 1, 4, 8}) {
      std::array<std::byte, 32> data;
      for (size_t i = 0; i < data.size(); i++) data[i] = static_cast<std::byte>(i + bytes);
      REQUIRE(memory.write_last_word_after(at, std::span(data).first(bytes)));
      REQUIRE(std::memcmp(shared.data() + at, data.data(), bytes) == 0);
    }
  }
  CHECK_FALSE(memory.write_last_word_after(kPage - 8, std::array<std::byte, 16>{}));
}
