// Memory that the caller has, as a buffer: what is taken, what is refused, and how long it stays.
#include "driver/memory/host_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

constexpr uint64_t kBytes = 4 * kPageBytes;

/// A memfd with a mapping, as a program has it.
struct OwnMemory {
  explicit OwnMemory(int seals = F_SEAL_SHRINK) : fd(::memfd_create("own", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    REQUIRE(fd >= 0);
    REQUIRE(::ftruncate(fd, kBytes) == 0);
    bytes = static_cast<unsigned char*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    REQUIRE(bytes != MAP_FAILED);
    if ((seals & F_SEAL_WRITE) != 0) unmap();
    REQUIRE(::fcntl(fd, F_ADD_SEALS, seals) == 0);
  }
  ~OwnMemory() {
    close();
    unmap();
  }
  void close() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  void unmap() {
    if (bytes != nullptr) ::munmap(bytes, kBytes);
    bytes = nullptr;
  }
  int fd;
  unsigned char* bytes = nullptr;
};

std::string refusal(weft_device* device, int fd, uint64_t offset, uint64_t bytes) {
  weft_buffer* buffer = nullptr;
  CHECK(weft_buffer_import(device, fd, offset, bytes, &buffer) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(buffer == nullptr);
  return last_message();
}

void fill(weft_queue* queue, weft_buffer* buffer, uint64_t offset, uint32_t pattern) {
  weft_event* event = nullptr;
  REQUIRE_OK(weft_fill(queue, buffer, offset, 4, pattern, nullptr, &event));
  REQUIRE_OK(weft_event_wait(event, nullptr));
  weft_event_release(event);
}

uint32_t word(const unsigned char* at) {
  uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("a device and the caller see the same bytes of imported memory, without a copy") {
  MockDevice device;
  weft_queue* queue = device.queue();
  OwnMemory own;
  std::memset(own.bytes, 0x5a, kBytes);
  weft_buffer* buffer = nullptr;
  REQUIRE_OK(weft_buffer_import(device.handle(), own.fd, kPageBytes, 2 * kPageBytes, &buffer));
  weft_buffer_info info = WEFT_INIT(weft_buffer_info);
  REQUIRE_OK(weft_buffer_get_info(buffer, &info));
  CHECK((info.memory == WEFT_MEMORY_HOST && info.bytes == 2 * kPageBytes));
  void* mapped = nullptr;
  REQUIRE_OK(weft_buffer_map(buffer, &mapped));
  CHECK(static_cast<unsigned char*>(mapped)[0] == 0x5a);  // what was there stays
  fill(queue, buffer, 0, 0x01020304);
  CHECK(word(own.bytes + kPageBytes) == 0x01020304);  // the range begins at its offset
  CHECK(word(own.bytes) == 0x5a5a5a5a);
  CHECK(weft_fill(queue, buffer, 2 * kPageBytes, 4, 0, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  weft_buffer_release(buffer);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("imported memory outlives the caller's descriptor and mapping, and is the file's again after the release") {
  MockDevice device;
  weft_queue* queue = device.queue();
  OwnMemory own;
  const int kept = ::dup(own.fd);
  weft_buffer *buffer = nullptr, *again = nullptr;
  REQUIRE_OK(weft_buffer_import(device.handle(), own.fd, 0, kBytes, &buffer));
  REQUIRE_OK(weft_buffer_import(device.handle(), own.fd, 0, kPageBytes, &again));
  own.close();
  own.unmap();
  fill(queue, buffer, 0, 77);
  void* mapped = nullptr;
  REQUIRE_OK(weft_buffer_map(again, &mapped));
  CHECK(word(static_cast<unsigned char*>(mapped)) == 77);
  weft_buffer_release(buffer);
  fill(queue, again, 4, 78);
  weft_buffer_release(again);
  std::array<uint32_t, 2> left{};
  REQUIRE(::pread(kept, left.data(), sizeof left, 0) == sizeof left);
  CHECK((left[0] == 77 && left[1] == 78));
  ::close(kept);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("imported memory is there after a reset of the device") {
  MockDevice device;
  OwnMemory own;
  weft_buffer* buffer = nullptr;
  REQUIRE_OK(weft_buffer_import(device.handle(), own.fd, 2 * kPageBytes, kPageBytes, &buffer));
  REQUIRE_OK(weft_device_reset(device.handle()));
  weft_queue* queue = device.queue();
  fill(queue, buffer, 8, 5);
  CHECK(word(own.bytes + 2 * kPageBytes + 8) == 5);
  weft_buffer_release(buffer);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("memory that a device must not have is refused with the rule that it breaks") {
  MockDevice device;
  weft_device* d = device.handle();
  const OwnMemory good, unsealed(0), read_only(F_SEAL_SHRINK | F_SEAL_WRITE);
  CHECK_THAT(refusal(d, -1, 0, kPageBytes), Contains("descriptor -1 is no file in memory"));
  char path[] = "/var/tmp/weft-import-XXXXXX";
  const int pipe_or_file = ::mkstemp(path);
  REQUIRE(pipe_or_file >= 0);
  ::unlink(path);
  CHECK(refusal(d, pipe_or_file, 0, kPageBytes).find("memory") != std::string::npos);
  ::close(pipe_or_file);
  CHECK_THAT(refusal(d, unsealed.fd, 0, kPageBytes), Contains("not sealed against shrinking: memfd_create"));
  CHECK_THAT(refusal(d, read_only.fd, 0, kPageBytes), Contains("sealed against writing"));
  const int looking = ::open(("/proc/self/fd/" + std::to_string(good.fd)).c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(looking >= 0);
  CHECK_THAT(refusal(d, looking, 0, kPageBytes), Contains("not open for reading and writing"));
  ::close(looking);
  CHECK_THAT(refusal(d, good.fd, 1, kPageBytes), Contains("multiples of 4096"));
  CHECK_THAT(refusal(d, good.fd, 0, kPageBytes - 1), Contains("multiples of 4096"));
  CHECK_THAT(refusal(d, good.fd, 0, 0), Contains("multiples of 4096"));
  CHECK_THAT(refusal(d, good.fd, kPageBytes, kBytes), Contains("exceed the memory of 16384 bytes"));
  CHECK_THAT(refusal(d, good.fd, UINT64_MAX - kPageBytes + 1, kPageBytes), Contains("exceed the memory"));
  CHECK_THAT(refusal(d, good.fd, 0, uint64_t{1} << 47), Contains("at most 2^46"));
  weft_buffer* none = nullptr;
  CHECK(weft_buffer_import(d, good.fd, 0, kPageBytes, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_buffer_import(nullptr, good.fd, 0, kPageBytes, &none) == WEFT_ERROR_INVALID_ARGUMENT);
}
