// No memory at any moment of a message: an error reply or the end of its connection, and nothing else.
#include <linux/vfio.h>

#include <cstdlib>
#include <new>

#include "model/server/function_port.hpp"
#include "model/server/management_reply.hpp"
#include "model/server/memory_spare.hpp"
#include "testbench/unit/server/client.hpp"

namespace {

/// Allocations of this thread until one fails, and all after it; -1: none does.
thread_local int64_t until_failure = -1;
thread_local bool failed = false;

void* allocate(size_t bytes) {
  while (until_failure == 0) {
    failed = true;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
    until_failure = INT64_MAX;  // it has given something back
  }
  if (until_failure > 0) until_failure--;
  void* const memory = std::malloc(bytes != 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* allocate_or_null(size_t bytes) noexcept {
  try {
    return allocate(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

void* operator new(size_t bytes) { return allocate(bytes); }
void* operator new[](size_t bytes) { return allocate(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

using namespace weft;
using namespace weft::server;

namespace {

/// Runs `action` with the n-th allocation failing, for n from 0 until none fails any more.
template <typename Action>
int with_failures(const Action& action) {
  for (int n = 0;; n++) {
    failed = false;
    until_failure = n;
    action();
    until_failure = -1;
    if (!failed) return n;
  }
}

struct Chip {
  Chip() {
    std::string error;
    simulation = chip::Simulation::make(test::chip_options(), error);
    REQUIRE(simulation != nullptr);
  }
  std::unique_ptr<chip::Simulation> simulation;
};

/// A message with `body` and copies of `fds`.
template <typename Body>
Message message_of(vfio_user::Command command, const Body& body, std::span<const int> fds = {}) {
  Message message;
  message.header.command = static_cast<uint16_t>(command);
  message.payload = test::bytes_of(body);
  for (const int fd : fds) message.fds.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  return message;
}

}  // namespace

TEST_CASE_METHOD(Chip, "a command without memory is answered ENOMEM, changes nothing, and works when there is some") {
  std::string error;
  const std::shared_ptr<EventSignal> signal = EventSignal::make(error);
  Dispatcher client(*simulation, 0, {.signal = signal});
  test::SharedMemory memory(16 * 4096);
  const FileDescriptor event = test::event_fd();
  int failures = 0;
  const auto command = [&](const auto& make) {
    int last = 0;
    failures += with_failures([&] {
      const int64_t armed = std::exchange(until_failure, -1);
      Message message = make();
      until_failure = armed;
      last = client.handle(message).error;
      until_failure = -1;
      if (failed) CHECK(last == ENOMEM);
    });
    CHECK(last == 0);
  };
  command([] { return message_of(vfio_user::Command::kVersion, vfio_user::Version{0, 1}); });
  command([&] {
    return message_of(vfio_user::Command::kDmaMap, vfio_user::DmaMap{32, 3, 0, 0, 16 * 4096}, std::array{memory.fd()});
  });
  command([] { return message_of(vfio_user::Command::kDmaMap, vfio_user::DmaMap{32, 3, 0, 0x100000, 4096}); });
  command([] {
    return message_of(vfio_user::Command::kDmaUnmap, vfio_user::DmaUnmap{24, 0, 0x4000, 4096});
  });  // one range becomes two
  CHECK(simulation->function().host_memory().size() == 3);
  command([] { return message_of(vfio_user::Command::kDeviceGetInfo, vfio_user::DeviceInfo{16, 0, 0, 0}); });
  command([] {
    return message_of(vfio_user::Command::kDeviceGetRegionInfo, vfio_user::RegionInfo{32, 0, 0, 0, 0, 0});
  });
  command([] { return message_of(vfio_user::Command::kDeviceGetIrqInfo, vfio_user::IrqInfo{16, 0, 2, 0}); });
  command([&] {
    return message_of(vfio_user::Command::kDeviceSetIrqs, vfio_user::IrqSet{20, 1 << 2 | 1 << 5, 2, 0, 1},
                      std::array{event.get()});
  });
  command([] { return message_of(vfio_user::Command::kRegionRead, vfio_user::RegionAccess{0, 0, 65536}); });
  command([] {
    Message message =
        message_of(vfio_user::Command::kRegionWrite, vfio_user::RegionAccess{WEFT_REG_INTERRUPT_MASK, 0, 4});
    message.payload.resize(message.payload.size() + 4, std::byte{1});
    return message;
  });
  command([] {
    return message_of(vfio_user::Command::kDmaUnmap, vfio_user::DmaUnmap{24, vfio_user::kUnmapAll, 0, 0});
  });
  CHECK(failures > 10);  // messages need memory, and all of it was tried
}

TEST_CASE_METHOD(Chip, "a port that has no memory but the spare serves its client and lets it go") {
  MemorySpare spare;
  std::string error;
  FunctionPort port(*simulation, 0);
  port.set_signal(EventSignal::make(error));
  const std::string path = test::socket_path();
  port.listen(Listener::make(path, error));
  const auto turn = [&] {
    CHECK(port.serve());
    while (simulation->pending()) simulation->run_slice();
  };
  test::SharedMemory memory(4096);
  const int failures = with_failures([&] {
    const int64_t armed = std::exchange(until_failure, -1);
    test::Client client(test::connect_to(path));
    REQUIRE(client.send(1, test::bytes_of(vfio_user::Version{0, 1})));
    REQUIRE(client.send(2, test::bytes_of(vfio_user::DmaMap{32, 3, 0, 0, 4096}), 0, std::array{memory.fd()}));
    REQUIRE(client.send(9, test::bytes_of(vfio_user::RegionAccess{0, 0, 4096})));
    until_failure = armed;
    for (int i = 0; i < 3; i++) CHECK(port.serve());
    until_failure = -1;
    int replies = 0;
    pollfd p{client.fd(), POLLIN, 0};
    while (::poll(&p, 1, 0) == 1 && client.receive()) replies++;
    CHECK(replies == 3);
    client.close();
    CHECK(spare.refill());
    for (int i = 0; i < 4; i++) turn();
  });
  CHECK(failures > 5);
}

TEST_CASE_METHOD(Chip, "a reply to an observer takes the spare memory when there is no other") {
  MemorySpare spare;
  const FunctionOwner owner;
  const int failures = with_failures([&] {
    (void)function_reply(*simulation, {}, owner);
    std::string error;
    (void)parse_management_request(R"({"weft_management":1,"request":"function","function":0})", 1, 1, error);
    CHECK(spare.refill());
  });
  CHECK(failures > 100);
}
