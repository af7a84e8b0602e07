// The IOVA map.
#include "model/chip/host_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "model/chip/tenant_limits.hpp"
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
  CHECK(map(sealed.fd(), 0, 0, 0) == EINVAL);
  CHECK(map(sealed.fd(), 0, 0, 5 * kPage) == EINVAL);
  CHECK(map(sealed.fd(), 4 * kPage, 0, kPage) == EINVAL);
  CHECK(map(sealed.fd(), 3 * kPage + 1, 0, kPage) == EINVAL);
  CHECK(map(sealed.fd(), 0, UINT64_MAX - kPage + 1, kPage) == EINVAL);
  CHECK(map(sealed.fd(), 0, WEFT_LIMIT_ADDRESS_FLAG_HBM - kPage, 2 * kPage) == EINVAL);
  CHECK(map(sealed.fd(), ~(kPage - 1), 0, kPage) == EINVAL);
  CHECK(map(-1, 0, 0, kPage) == EPERM);
  int pipe_ends[2], sockets[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int folder = ::open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int proc = ::open("/proc/self/mem", O_RDWR | O_CLOEXEC);  // a file of no disk and no memory
  for (const int fd : {pipe_ends[0], sockets[0], null, folder, proc}) CHECK(map(fd, 0, 0, kPage) == EPERM);
  CHECK(memory.size() == 0);
  for (const int fd : {pipe_ends[0], pipe_ends[1], sockets[0], sockets[1], null, folder, proc}) ::close(fd);
  CHECK(map(unsealed.fd(), 0, 0, kPage) == 0);
}

TEST_CASE("a file is mapped with the rights that its descriptor and its seals give") {
  HostMemory memory;
  SharedMemory sealed(kPage, F_SEAL_SHRINK), written(kPage, F_SEAL_FUTURE_WRITE);
  CHECK(memory.map(written.fd(), 0, 0, kPage, Access::kReadWrite) == EACCES);
  CHECK(memory.map(written.fd(), 0, 0, kPage, Access::kRead) == 0);
  const std::string path = "/proc/self/fd/" + std::to_string(sealed.fd());
  const int read_only = ::open(path.c_str(), O_RDONLY | O_CLOEXEC),
            write_only = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  CHECK(memory.map(read_only, 0, kPage, kPage, Access::kWrite) == EACCES);
  CHECK(memory.map(write_only, 0, kPage, kPage, Access::kWrite) == EACCES);
  CHECK(memory.map(read_only, 0, kPage, kPage, Access::kRead) == 0);
  CHECK(memory.map(sealed.fd(), 0, 2 * kPage, kPage, Access::kReadWrite) == 0);  // the same file, with other rights
  const std::array<std::byte, 4> data{};
  CHECK(memory.write(2 * kPage, data));
  CHECK_FALSE(memory.write(kPage, data));
  ::close(read_only);
  ::close(write_only);
}

TEST_CASE("a file that is truncated under its map fails the accesses beyond its end, and no other") {
  SharedMemory shared(4 * kPage, 0), other(kPage);
  HostMemory memory;
  REQUIRE(memory.map(shared.fd(), 0, 0, 4 * kPage, Access::kReadWrite) == 0);
  REQUIRE(memory.map(other.fd(), 0, 4 * kPage, kPage, Access::kReadWrite) == 0);
  std::array<std::byte, 64> data;
  data.fill(std::byte{7});
  for (int round = 0; round < 3; round++) {
    REQUIRE(::ftruncate(shared.fd(), kPage) == 0);
    CHECK_FALSE(memory.read(2 * kPage, data));
    CHECK_FALSE(memory.write(kPage, data));
    CHECK_FALSE(memory.write(kPage - 32, data));  // its first half is there
    CHECK_FALSE(memory.write_last_word_after(3 * kPage, data));
    CHECK_FALSE(memory.write_last_word_after(kPage - 56, data));
    CHECK(memory.write(0, data));
    CHECK(memory.write(4 * kPage, data));
    REQUIRE(::ftruncate(shared.fd(), 4 * kPage) == 0);  // and it is memory again
    CHECK(memory.write(2 * kPage, data));
    CHECK(*shared.at<uint8_t>(2 * kPage) == 7);
  }
  CHECK(memory.unmap(0, 5 * kPage) == 0);
}

TEST_CASE("ranges of a file that go on from each other are one, however they come") {
  SharedMemory shared(16 * kPage), other(16 * kPage);
  HostMemory memory;
  const auto map = [&](int fd, uint64_t page, uint64_t at, Access access = Access::kReadWrite) {
    return memory.map(fd, page * kPage, at * kPage, kPage, access);
  };
  REQUIRE(map(shared.fd(), 4, 104) == 0);
  REQUIRE(map(shared.fd(), 5, 105) == 0);  // behind
  REQUIRE(map(shared.fd(), 3, 103) == 0);  // in front
  CHECK(memory.size() == 1);
  REQUIRE(map(shared.fd(), 7, 107) == 0);
  CHECK(memory.size() == 2);
  REQUIRE(map(shared.fd(), 6, 106) == 0);  // between
  CHECK(memory.size() == 1);
  REQUIRE(map(shared.fd(), 9, 108) == 0);                  // another place of the file
  REQUIRE(map(other.fd(), 8, 109) == 0);                   // another file
  REQUIRE(map(shared.fd(), 10, 110, Access::kRead) == 0);  // other rights
  REQUIRE(map(shared.fd(), 11, 111) == 0);
  CHECK(memory.size() == 5);
  CHECK(map(shared.fd(), 0, 105) == EEXIST);
  for (uint64_t page = 3; page < 8; page++) {
    std::array<std::byte, 1> data;
    *shared.at<uint8_t>(page * kPage) = static_cast<uint8_t>(page);
    REQUIRE(memory.read((100 + page) * kPage, data));
    CHECK(data[0] == static_cast<std::byte>(page));
  }
}

TEST_CASE("a tenant has 65,536 ranges, whatever they are, and one more is refused") {
  constexpr uint64_t kRanges = chip::tenant_limits::kRanges;
  STATIC_REQUIRE(kRanges == 65536);
  SharedMemory shared(2 * kPage);
  HostMemory memory;
  for (uint64_t i = 0; i < kRanges; i++)
    REQUIRE(memory.map(shared.fd(), i % 2 * kPage, 2 * i * kPage, kPage, Access::kReadWrite) == 0);
  CHECK(memory.size() == kRanges);
  CHECK(memory.map(shared.fd(), 0, 2 * kRanges * kPage, kPage, Access::kReadWrite) == ENOSPC);
  CHECK(memory.map_messages(2 * kRanges * kPage, kPage, Access::kReadWrite) == ENOSPC);
  // One that joins its neighbour is none more; one that would become two is.
  CHECK(memory.map(shared.fd(), kPage, kPage, kPage, Access::kReadWrite) == 0);
  CHECK(memory.unmap(4 * kPage, kPage) == 0);
  CHECK(memory.map(shared.fd(), 0, 2 * kRanges * kPage, 2 * kPage, Access::kReadWrite) == 0);
  CHECK(memory.unmap(2 * kRanges * kPage, kPage) == 0);
  CHECK(memory.size() == kRanges);
  memory.clear();
  REQUIRE(memory.map_messages(0, 3 * kPage, Access::kReadWrite) == 0);
  for (uint64_t i = 1; i < kRanges; i++) REQUIRE(memory.map_messages(4 * i * kPage, kPage, Access::kReadWrite) == 0);
  CHECK(memory.unmap(kPage, kPage) == ENOSPC);
  CHECK(memory.unmap(0, kPage) == 0);
}

TEST_CASE("a guest's memory mapped page by page takes one range, one file, and no descriptor") {
  constexpr uint64_t kPages = 200'000;
  const int fd = ::memfd_create("guest", MFD_CLOEXEC);
  REQUIRE(::ftruncate(fd, kPages * kPage) == 0);
  HostMemory memory;
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = open_descriptors();
  for (uint64_t i = 0; i < kPages; i++)
    REQUIRE(memory.map(fd, i * kPage, (1 << 20) + i * kPage, kPage, Access::kReadWrite) == 0);
  CHECK(memory.size() == 1);
  CHECK(open_descriptors() == before);
  ::close(fd);
  std::array<std::byte, 1> data;
  CHECK(memory.read((1 << 20) + (kPages - 1) * kPage, data));
}

TEST_CASE("77 and more sparse files are mapped up to 1 TiB, and the rest is refused by name") {
  constexpr uint64_t kFile = uint64_t{1} << 34;  // 16 GiB
  constexpr uint64_t kFiles = chip::tenant_limits::kMappedBytes / kFile;
  HostMemory memory;
  uint64_t at = 0;
  for (uint64_t i = 0; i <= kFiles; i++) {
    const int fd = ::memfd_create("sparse", MFD_CLOEXEC);
    REQUIRE(::ftruncate(fd, kFile) == 0);
    CHECK(memory.map(fd, 0, at, kFile, Access::kReadWrite) == (i < kFiles ? 0 : EFBIG));
    ::close(fd);
    at += kFile;
  }
  const std::array<std::byte, 8> data{};
  CHECK(memory.write(kFile * (kFiles - 1) + 8, data));
  CHECK(memory.unmap(0, kFile) == 0);
  SharedMemory shared(kPage);
  CHECK(memory.map(shared.fd(), 0, at, kPage, Access::kReadWrite) == 0);
  // A small part of a file that is larger than all that a tenant has.
  const int huge = ::memfd_create("huge", MFD_CLOEXEC);
  REQUIRE(::ftruncate(huge, int64_t{1} << 50) == 0);
  CHECK(memory.map(huge, uint64_t{1} << 49, at + kPage, kPage, Access::kReadWrite) == 0);
  CHECK(memory.map(huge, 0, at + 2 * kPage, kPage, Access::kReadWrite) == EFBIG);  // too far from the other part
  CHECK(memory.map(huge, (uint64_t{1} << 49) - kPage, at + 2 * kPage, kPage, Access::kReadWrite) == 0);
  ::close(huge);
}

TEST_CASE("what one tenant has mapped leaves the others their share") {
  const auto shares = std::make_shared<chip::HostMemoryShares>(2);
  HostMemory first, second;
  first.share(shares, 0);
  second.share(shares, 1);
  // Files of one tenant: as many as it may have.
  std::vector<int> fds;
  uint64_t files = 0;
  int error = 0;
  while (error == 0) {
    const int fd = ::memfd_create("file", MFD_CLOEXEC);
    REQUIRE(::ftruncate(fd, kPage) == 0);
    error = first.map(fd, 0, files * kPage, kPage, Access::kReadWrite);
    ::close(fd);
    if (error == 0) files++;
  }
  CHECK(error == EMFILE);
  CHECK(files == chip::tenant_limits::kFiles);
  SharedMemory shared(kPage);
  CHECK(second.map(shared.fd(), 0, 0, kPage, Access::kReadWrite) == 0);
  CHECK(first.unmap(0, kPage) == 0);
  CHECK(first.map(shared.fd(), 0, 0, kPage, Access::kReadWrite) == 0);
}

TEST_CASE("half of a resource is kept for each tenant, whatever one takes") {
  chip::FairShares shares(1000, 4, 600);
  CHECK(shares.kept() == 125);
  CHECK(shares.take(0, 600));
  CHECK_FALSE(shares.take(0, 1));  // the most that one can have
  CHECK(shares.take(1, 125));
  CHECK(shares.take(1, 25));
  CHECK_FALSE(shares.take(1, 1));  // the free half is gone
  CHECK(shares.take(2, 125));
  CHECK(shares.take(3, 125));
  CHECK_FALSE(shares.take(3, 1));
  shares.give(0, 500);
  CHECK(shares.take(3, 475));
  CHECK_FALSE(shares.take(3, 1));
  CHECK(shares.take(0, 25));
  CHECK_FALSE(shares.take(0, 1));
}

namespace {

/// Host memory behind messages: bytes that a test sees.
struct Messages : chip::MessageMemory {
  bool read(uint64_t iova, std::span<std::byte> out) override {
    log.push_back({iova, out.size(), false});
    for (size_t i = 0; i < out.size(); i++) out[i] = bytes[iova + i];
    return answers;
  }
  bool write(uint64_t iova, std::span<const std::byte> data) override {
    log.push_back({iova, data.size(), true});
    std::ranges::copy(data, bytes.begin() + static_cast<ptrdiff_t>(iova));
    return answers;
  }
  struct Entry {
    uint64_t iova;
    size_t bytes;
    bool write;
    bool operator==(const Entry&) const = default;
  };
  std::vector<std::byte> bytes = std::vector<std::byte>(8 * kPage);
  std::vector<Entry> log;
  bool answers = true;
};

}  // namespace

TEST_CASE("memory without a file is reached by messages, beside memory with one") {
  SharedMemory shared(kPage);
  Messages messages;
  HostMemory memory;
  REQUIRE(memory.map(shared.fd(), 0, 0, kPage, Access::kReadWrite) == 0);
  REQUIRE(memory.map_messages(kPage, 2 * kPage, Access::kReadWrite) == 0);
  REQUIRE(memory.map_messages(3 * kPage, kPage, Access::kRead) == 0);
  CHECK(memory.map_messages(kPage, kPage, Access::kRead) == EEXIST);
  CHECK(memory.map_messages(9 * kPage, 0, Access::kRead) == EINVAL);
  std::array<std::byte, 32> data;
  data.fill(std::byte{3});
  CHECK_FALSE(memory.write(kPage, data));  // nobody answers
  memory.set_messages(&messages);
  CHECK(memory.write(kPage - 16, data));
  CHECK(*shared.at<uint8_t>(kPage - 1) == 3);
  CHECK(messages.log == std::vector<Messages::Entry>{{kPage, 16, true}});
  std::array<std::byte, 32> back{};
  CHECK(memory.read(kPage - 16, back));
  CHECK(back == data);
  CHECK_FALSE(memory.write(3 * kPage, data));  // without the right
  CHECK_FALSE(memory.peek(kPage, back));       // an observer sends no message
  messages.log.clear();
  CHECK(memory.write_last_word_after(2 * kPage, data));
  CHECK(messages.log == std::vector<Messages::Entry>{{2 * kPage, 24, true}, {2 * kPage + 24, 8, true}});
  messages.answers = false;
  CHECK_FALSE(memory.read(kPage, back));
}

TEST_CASE("ranges smaller than a page, at any byte of address and file, each with its own rights") {
  SharedMemory shared(2 * kPage);
  Messages messages;
  HostMemory memory;
  memory.set_messages(&messages);
  REQUIRE(memory.map(shared.fd(), 100, 1000, 24, Access::kReadWrite) == 0);
  REQUIRE(memory.map(shared.fd(), kPage - 3, 1024, 6, Access::kRead) == 0);  // over the edge of a page of the file
  REQUIRE(memory.map_messages(1030, 10, Access::kReadWrite) == 0);
  CHECK(memory.map(shared.fd(), 0, 1023, 1, Access::kRead) == EEXIST);
  CHECK(memory.map(shared.fd(), 0, 1039, 1, Access::kRead) == EEXIST);
  for (int i = 0; i < 6; i++) *shared.at<uint8_t>(kPage - 3 + static_cast<size_t>(i)) = static_cast<uint8_t>(i);
  std::array<std::byte, 24> data;
  data.fill(std::byte{7});
  CHECK(memory.write(1000, data));
  CHECK(*shared.at<uint8_t>(99) == 0);
  CHECK((*shared.at<uint8_t>(100) == 7 && *shared.at<uint8_t>(123) == 7));
  CHECK(*shared.at<uint8_t>(124) == 0);
  CHECK_FALSE(memory.write(1001, data));  // its last byte may only be read
  CHECK_FALSE(memory.read(999, data));
  CHECK_FALSE(memory.read(1024, data));  // ends behind the last range
  std::array<std::byte, 8> across{};
  CHECK(memory.read(1022, across));
  CHECK(across == std::array<std::byte, 8>{std::byte{7}, std::byte{7}, std::byte{0}, std::byte{1}, std::byte{2},
                                           std::byte{3}, std::byte{4}, std::byte{5}});
  CHECK(memory.unmap(1010, 4) == 0);
  CHECK(memory.size() == 4);
  CHECK_FALSE(memory.read(1009, across));
  CHECK(memory.read(1002, across));
  CHECK(memory.read(1014, across));
}

TEST_CASE("the last word of an ordered write lands in ranges that have no whole word for it") {
  SharedMemory shared(2 * kPage);
  HostMemory memory;
  REQUIRE(memory.map(shared.fd(), 4, 0, 12, Access::kReadWrite) == 0);       // the file's place is no multiple of 8
  REQUIRE(memory.map(shared.fd(), kPage, 12, 20, Access::kReadWrite) == 0);  // and a word lies in both
  std::array<std::byte, 16> data;
  for (size_t i = 0; i < data.size(); i++) data[i] = static_cast<std::byte>(i + 1);
  CHECK(memory.write_last_word_after(0, data));
  std::array<std::byte, 16> back{};
  CHECK(memory.read(0, back));
  CHECK(back == data);
  CHECK(*shared.at<uint8_t>(4) == 1);
  CHECK(*shared.at<uint8_t>(kPage) == 13);
  CHECK(memory.write_last_word_after(16, data));
  CHECK(memory.read(16, back));
  CHECK(back == data);
}

TEST_CASE("a range of many GiB costs no memory until it is used, and its last byte is reached") {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  const int fd = ::memfd_create("guest", MFD_CLOEXEC);
  REQUIRE(::ftruncate(fd, 8 * kGiB) == 0);
  HostMemory memory;
  REQUIRE(memory.map(fd, 0, kGiB, kGiB, Access::kReadWrite) == 0);
  REQUIRE(memory.map(fd, 2 * kGiB, 4 * kGiB, 6 * kGiB, Access::kReadWrite) == 0);
  std::array<std::byte, 16> data;
  data.fill(std::byte{9});
  CHECK(memory.write(2 * kGiB - 16, data));
  CHECK(memory.write(10 * kGiB - 16, data));
  CHECK_FALSE(memory.write(2 * kGiB - 15, data));
  std::byte last{};
  REQUIRE(::pread(fd, &last, 1, 8 * kGiB - 1) == 1);
  CHECK(last == std::byte{9});
  struct stat file {};
  REQUIRE(::fstat(fd, &file) == 0);
  CHECK(file.st_blocks * 512 <= static_cast<blkcnt_t>(16 * kPage));
  ::close(fd);
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

TEST_CASE("any range is unmapped: nothing, parts, many") {
  SharedMemory shared(8 * kPage);
  for (uint64_t i = 0; i < 8; i++) *shared.at<uint64_t>(i * kPage) = 100 + i;
  // Against a model: one entry a page.
  const uint64_t seed = Catch::rngSeed() != 0 ? Catch::rngSeed() : 20'261'123;
  WARN("seed " << seed << " (rerun with --rng-seed)");
  std::mt19937_64 random(seed);
  constexpr uint64_t kPages = 40;
  HostMemory memory;
  std::array<int, kPages> model;
  model.fill(-1);
  for (int step = 0; step < 20'000; step++) {
    const uint64_t at = random() % kPages, pages = 1 + random() % std::min<uint64_t>(8, kPages - at);
    const bool free = std::ranges::all_of(std::span(model).subspan(at, pages), [](int page) { return page < 0; });
    if (random() % 2 == 0) {
      const uint64_t offset = random() % (9 - pages);
      REQUIRE(memory.map(shared.fd(), offset * kPage, at * kPage, pages * kPage, Access::kReadWrite) ==
              (free ? 0 : EEXIST));
      for (uint64_t i = 0; i < pages && free; i++) model[at + i] = static_cast<int>(offset + i);
    } else {
      REQUIRE(memory.unmap(at * kPage, pages * kPage) == 0);
      for (uint64_t i = 0; i < pages; i++) model[at + i] = -1;
    }
    uint64_t ranges = 0;
    for (uint64_t i = 0; i < kPages; i++) {
      uint64_t word = 0;
      REQUIRE(memory.read(i * kPage, std::as_writable_bytes(std::span(&word, 1))) == (model[i] >= 0));
      if (model[i] < 0) continue;
      REQUIRE(word == 100 + static_cast<uint64_t>(model[i]));
      if (i == 0 || model[i - 1] < 0 || model[i - 1] + 1 != model[i]) ranges++;
    }
    REQUIRE(memory.size() == ranges);
  }
  CHECK(memory.unmap(0, 0) == EINVAL);
  CHECK(memory.unmap(UINT64_MAX - kPage + 1, 2 * kPage) == EINVAL);
  CHECK(memory.unmap(UINT64_MAX - kPage + 1, kPage) == 0);  // up to 2^64
  CHECK(memory.unmap(0, UINT64_MAX - kPage + 1) == 0);
  CHECK(memory.size() == 0);
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

TEST_CASE("accesses, measured", "[.measure]") {
  constexpr uint64_t kBytes = 64 << 20;
  SharedMemory shared(kBytes);
  HostMemory memory;
  REQUIRE(memory.map(shared.fd(), 0, 0, kBytes, Access::kReadWrite) == 0);
  std::vector<std::byte> data(64 << 10);
  for (const size_t bytes : {size_t{8}, size_t{64}, size_t{4096}, size_t{65536}}) {
    constexpr int kCount = 20'000;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCount; i++)
      REQUIRE(memory.write(static_cast<uint64_t>(i) * bytes % (kBytes - bytes), std::span(data).first(bytes)));
    const auto middle = std::chrono::steady_clock::now();
    for (int i = 0; i < kCount; i++)
      REQUIRE(memory.read(static_cast<uint64_t>(i) * bytes % (kBytes - bytes), std::span(data).first(bytes)));
    const auto end = std::chrono::steady_clock::now();
    const auto each = [](auto time) { return std::chrono::duration<double, std::nano>(time).count() / kCount; };
    WARN(bytes << " bytes: write " << each(middle - begin) << " ns, read " << each(end - middle) << " ns");
  }
}
