// One tenant does what it can to take the chip from the others; the others go on, and what the server does about the
// first one is told by name.
#include <grp.h>
#include <linux/vfio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>

#include "testbench/unit/server/client.hpp"

using namespace weft;
using namespace weft::server;
namespace hal = fw::hal;
namespace limits = chip::tenant_limits;

namespace {

constexpr uint64_t kIova = 0x10000;
constexpr unsigned kFunctions = 4;
constexpr uint32_t kEndless = UINT32_MAX;

/// At a doorbell of queue 1 of function f: reads a word of host memory, adds one, writes it back, raises vector 1.
/// After a tail of kEndless there is always something to do. A function that was reset or left is as new at once.
void answer_doorbells() {
  bool endless = false;
  for (;;) {
    hal::wait_for_event(endless ? hal::now() + 1000 : UINT64_MAX);
    uint32_t departed = 0;
    const uint32_t requests = hal::function_requests(&departed);
    for (uint32_t f = 0; f < kFunctions; f++) {
      if ((requests >> f & 1) != 0) hal::function_write(f, WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_PRESENT);
      if (hal::doorbell_pending(f) == 0) continue;
      endless |= hal::doorbell_submission(f, 1) == kEndless;
      uint64_t word = 0;
      if (!hal::dma_read(fw::host_at(f, kIova), &word, sizeof word)) continue;
      word++;
      if (hal::dma_write(fw::host_at(f, kIova), &word, sizeof word)) hal::raise_interrupt(f, 1);
    }
  }
}

/// What an honest tenant does: doorbells, answers in its memory, interrupts.
struct Tenant {
  explicit Tenant(const std::string& path) : client(test::connect_to(path)) {
    client.negotiate();
    REQUIRE(client.map(memory.fd(), kIova, 4096) == 0);
    REQUIRE(client.listen_to(0, std::array{event0.get(), event1.get()}) == 0);
  }
  void works(int times = 20) {
    for (int i = 0; i < times; i++) {
      client.post(test::kDoorbellBar, 8, ++tail);
      REQUIRE(test::wait_for(event1) >= 1);
      REQUIRE(*memory.at<uint64_t>(0) == tail);
    }
    REQUIRE(client.read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
  }
  test::Client client;
  test::SharedMemory memory{4096};
  FileDescriptor event0 = test::event_fd();
  FileDescriptor event1 = test::event_fd();
  uint32_t tail = 0;
};

struct Fixture {
  explicit Fixture(const Permissions& permissions = {}) {
    test::firmware = answer_doorbells;
    test::ServedOptions options;
    options.permissions = permissions;
    std::string error;
    for (unsigned f = 0; f < kFunctions; f++) options.listeners.push_back(Listener::make(path(f), error));
    options.management = Listener::make(management_path(), error);
    REQUIRE(options.management != nullptr);
    served.emplace(std::move(options));
  }
  static std::string path(unsigned function) { return test::socket_path() + "_" + std::to_string(function); }
  static std::string management_path() { return test::socket_path() + "_management"; }
  /// A client of the function; waits until the server has let go of the one before.
  static test::Client connect(unsigned function = 0) {
    for (;;) {
      test::Client client(test::connect_to(path(function)));
      if (!client.send(1, test::bytes_of(vfio_user::Version{0, 1}))) continue;
      const auto answer = client.receive();
      if (answer && answer->error() == 0) return client;
    }
  }
  std::optional<test::Served> served;
};

struct Permissive : Fixture {
  Permissive() : Fixture({.hold = true, .inject = true, .reset = false, .group = {}}) {}
};

/// A memfd of `bytes`, of which none are there.
FileDescriptor sparse_file(uint64_t bytes) {
  FileDescriptor file(::memfd_create("sparse", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0);
  REQUIRE(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  return file;
}

vfio_user::IrqSet trigger(unsigned vector) {
  return {sizeof(vfio_user::IrqSet), VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_PCI_MSIX_IRQ_INDEX,
          vector, 1};
}

/// A header that announces `payload` bytes.
std::vector<std::byte> header_of(vfio_user::Command command, size_t payload, uint32_t flags = 0) {
  return test::bytes_of(vfio_user::Header{1, static_cast<uint16_t>(command),
                                          static_cast<uint32_t>(sizeof(vfio_user::Header) + payload), flags, 0});
}

/// Sends reads of a whole BAR, whose replies nobody takes, until no more go.
void fill_replies(test::Client& client) {
  auto read = header_of(vfio_user::Command::kRegionRead, sizeof(vfio_user::RegionAccess));
  const auto body = test::bytes_of(vfio_user::RegionAccess{0, 0, 65536});
  read.insert(read.end(), body.begin(), body.end());
  pollfd writable{client.fd(), POLLOUT, 0};
  while (::poll(&writable, 1, 200) == 1)
    if (::send(client.fd(), read.data(), read.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) ::usleep(1000);
}

}  // namespace

TEST_CASE_METHOD(Fixture, "maps of sparse files larger than the address space do not end the server") {
  Tenant honest(path(1));
  test::Client hostile = connect();
  constexpr uint64_t kBytes = uint64_t{1} << 41;
  int refused = 0;
  for (uint64_t i = 0; i < 200; i++) {
    const FileDescriptor file = sparse_file(kBytes);
    const int error = hostile.map(file.get(), kIova + i * kBytes, kBytes);
    CHECK((error == 0 || error == EFBIG));
    if (error != 0) refused++;
    if (i % 50 == 0) honest.works(1);
  }
  CHECK(refused != 0);
  honest.works();
  hostile = connect(2);
  CHECK(hostile.read_register(WEFT_REG_MAGIC) == WEFT_MAGIC);
}

TEST_CASE_METHOD(Fixture, "a mapped file that is truncated fails its tenant's accesses, and ends nothing") {
  Tenant honest(path(1));
  test::Client hostile = connect();
  test::SharedMemory memory(4096, 0);
  REQUIRE(hostile.map(memory.fd(), kIova, 4096) == 0);
  REQUIRE(::ftruncate(memory.fd(), 0) == 0);
  for (uint32_t i = 1; i <= 20; i++) {
    hostile.post(test::kDoorbellBar, 8, i);
    honest.works(1);
  }
  REQUIRE(::ftruncate(memory.fd(), 4096) == 0);
  const FileDescriptor event = test::event_fd();
  REQUIRE(hostile.listen_to(1, std::array{event.get()}) == 0);
  hostile.post(test::kDoorbellBar, 8, 21);
  CHECK(test::wait_for(event) >= 1);
  CHECK(*memory.at<uint64_t>(0) == 1);
}

TEST_CASE_METHOD(Fixture, "an eventfd that is filled at any moment never blocks the server") {
  Tenant honest(path(1));
  test::Client hostile = connect();
  const FileDescriptor event = test::event_fd();
  REQUIRE(hostile.listen_to(0, std::array{event.get()}) == 0);
  // After each trigger the counter, which was 0, is filled a little later: so that it is full when the server writes,
  // but was not when the server looked. This write itself may have to wait for the server's count to be taken.
  std::atomic<int> wanted = 0, filled = 0;
  std::thread filler([&] {
    const uint64_t almost = UINT64_MAX - 1;
    for (int i = 1;; i++) {
      while (wanted == i - 1) {
      }
      if (wanted < 0) return;
      for (int wait = i % 512; wait != 0; wait--) std::atomic_signal_fence(std::memory_order_seq_cst);
      (void)!::write(event.get(), &almost, sizeof almost);
      filled = i;
    }
  });
  bool lives = true;
  const auto drain = [&] {
    uint64_t count = 0;
    pollfd readable{event.get(), POLLIN, 0};
    if (::poll(&readable, 1, 0) == 1) (void)!::read(event.get(), &count, sizeof count);
  };
  int i = 0;
  while (i < 8'000 && lives) {
    i++;
    REQUIRE(hostile.send(static_cast<uint16_t>(vfio_user::Command::kDeviceSetIrqs), test::bytes_of(trigger(0))));
    wanted = i;
    pollfd replied{hostile.fd(), POLLIN, 0};
    lives = ::poll(&replied, 1, test::kReplyTimeoutMs) == 1;
    while (filled != i || !lives) {  // nobody waits any more
      drain();
      if (::poll(&replied, 1, 0) == 1 && filled == i) break;
    }
    CHECK(hostile.receive()->error() == 0);
    drain();
  }
  CAPTURE(i);
  CHECK(lives);
  wanted = -1;
  filler.join();
  honest.works();
}

TEST_CASE_METHOD(Fixture, "descriptors of any other kind are closed when they come, and refused by name") {
  Tenant honest(path(1));
  test::Client hostile = connect();
  int pipe_ends[2];
  REQUIRE(::pipe2(pipe_ends, O_CLOEXEC) == 0);
  auto sockets = test::socket_pair();
  const std::string fifo = test::socket_path() + "_fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const int fds[] = {pipe_ends[0],
                     pipe_ends[1],
                     sockets[0].get(),
                     hostile.fd(),
                     ::open(fifo.c_str(), O_RDWR | O_CLOEXEC),
                     ::open("/dev/zero", O_RDWR | O_CLOEXEC),
                     ::open("/proc/self/mem", O_RDWR | O_CLOEXEC),
                     ::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                     ::open("/tmp", O_PATH | O_CLOEXEC),
                     ::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
  struct stat at_tmp {};
  REQUIRE(::stat("/tmp", &at_tmp) == 0);
  for (const int fd : fds) {
    CAPTURE(fd);
    REQUIRE(fd >= 0);
    const bool memory = ::fcntl(fd, F_GET_SEALS) >= 0;  // where /tmp is a tmpfs
    CHECK(hostile.map(fd, kIova, 4096) == (memory ? EINVAL : EPERM));
    CHECK(hostile.listen_to(0, std::array{fd}) == EINVAL);
    CHECK(hostile.request(vfio_user::Command::kDeviceReset, std::vector<std::byte>(), std::array{fd}).error() ==
          EINVAL);
  }
  // The other end of the pipe is only here: the server has let go.
  ::close(pipe_ends[1]);
  char byte = 0;
  CHECK(::read(pipe_ends[0], &byte, 1) == 0);
  ::close(pipe_ends[0]);
  for (const int fd : std::span(fds).subspan(4)) ::close(fd);
  ::unlink(fifo.c_str());
  honest.works();
}

TEST_CASE_METHOD(Fixture, "a message takes eight descriptors, and one more is refused") {
  test::Client client = connect();
  std::vector<FileDescriptor> events;
  std::vector<int> fds;
  for (size_t i = 0; i < limits::kMessageDescriptors + 1; i++)
    fds.push_back(events.emplace_back(test::event_fd()).get());
  CHECK(client.listen_to(0, std::span(fds).first(limits::kMessageDescriptors)) == 0);
  CHECK(client.listen_to(8, std::span(fds).first(limits::kMessageDescriptors)) == 0);
  CHECK(client.listen_to(16, std::span(fds).first(1)) == 0);
  CHECK(client.listen_to(0, fds) == EMFILE);
  const std::vector<int> many(200, fds.front());
  CHECK(client.listen_to(0, many) == EMFILE);
  REQUIRE(client.request(vfio_user::Command::kDeviceSetIrqs, trigger(16)).error() == 0);
  CHECK(test::wait_for(events[0]) == 1);
}

TEST_CASE_METHOD(Fixture, "a socket that travels over itself leaves no owner behind") {
  Tenant honest(path(1));
  // Whole, in a message of which half comes, in one whose payload nobody waits for, and between two sockets.
  for (const char* how : {"whole", "half a message", "only a header", "a too long one", "in a cycle"}) {
    CAPTURE(how);
    test::Client hostile = connect();
    const std::array own{hostile.fd()};
    const auto body = test::bytes_of(vfio_user::RegionAccess{0, 0, 4});
    if (how == std::string("whole")) {
      REQUIRE(hostile.send(9, body, 0, own));
    } else if (how == std::string("half a message")) {
      auto bytes = header_of(vfio_user::Command::kRegionRead, 100);
      bytes.insert(bytes.end(), body.begin(), body.end());
      REQUIRE(hostile.send_raw(bytes, own));
    } else if (how == std::string("only a header")) {
      REQUIRE(hostile.send_raw(header_of(vfio_user::Command::kRegionRead, 16), own));
    } else if (how == std::string("a too long one")) {
      REQUIRE(hostile.send_raw(header_of(vfio_user::Command::kRegionRead, 1 << 30), own));
    } else {
      auto pair = test::socket_pair();
      test::Client first(std::move(pair[0])), second(std::move(pair[1]));
      REQUIRE(first.send_raw(std::as_bytes(std::span("x")), own));
      REQUIRE(hostile.send_raw(header_of(vfio_user::Command::kRegionRead, 16), std::array{second.fd()}));
    }
    hostile.close();
    bool taken = false;
    for (int i = 0; i < 200 && !taken; i++) {
      test::Client next(test::connect_to(path(0)));
      const auto answer = next.send(1, test::bytes_of(vfio_user::Version{0, 1})) ? next.receive() : std::nullopt;
      taken = answer && answer->error() == 0;
      if (!taken) ::usleep(10'000);
    }
    REQUIRE(taken);
    honest.works(1);
  }
}

TEST_CASE_METHOD(Fixture, "a half-closed client whose replies nobody reads does not make the server spin") {
  test::Client hostile = connect();
  fill_replies(hostile);
  REQUIRE(::shutdown(hostile.fd(), SHUT_WR) == 0);
  const test::Client waits(test::connect_to(path(0)));
  ::usleep(100'000);
  const double before = served->worked();
  ::usleep(500'000);
  CHECK(served->worked() - before < 0.1);
  Tenant honest(path(1));
  honest.works();
}

TEST_CASE_METHOD(Fixture, "a client that is not done reading its replies does not fill the server's memory") {
  test::Client hostile = connect();
  // It always leaves a little: what was read must not stay in the server.
  const auto memory = [] {
    std::ifstream status("/proc/self/statm");
    uint64_t total = 0;
    status >> total;
    return total * 4096;
  };
  fill_replies(hostile);
  std::vector<std::byte> sink(1 << 20);
  const auto turn = [&] {
    size_t left = 64 << 20;
    while (left != 0) {
      const ssize_t got = ::recv(hostile.fd(), sink.data(), std::min(left, sink.size() / 4), MSG_DONTWAIT);
      if (got > 0) left -= std::min(left, static_cast<size_t>(got));
      if (got > 0) continue;
      auto read = header_of(vfio_user::Command::kRegionRead, sizeof(vfio_user::RegionAccess));
      const auto body = test::bytes_of(vfio_user::RegionAccess{0, 0, 65536});
      read.insert(read.end(), body.begin(), body.end());
      for (int i = 0; i < 40; i++) (void)!::send(hostile.fd(), read.data(), read.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      ::usleep(100);
    }
  };
  turn();
  const uint64_t before = memory();
  for (int i = 0; i < 4; i++) turn();
  CHECK(memory() < before + (16 << 20));
}

TEST_CASE_METHOD(Fixture, "a tenant beside others neither holds time nor injects faults, and is told so") {
  Tenant honest(path(1));
  test::Client hostile = connect();
  CHECK(hostile.write(0, WEFT_REG_SIM_HOLD, 1) == EPERM);
  hostile.post(0, WEFT_REG_SIM_HOLD, 1);
  CHECK(hostile.write(0, WEFT_REG_SIM_HOLD - 4, uint64_t{1} << 32, 8) == EPERM);
  CHECK(hostile.read_register(WEFT_REG_SIM_HOLD) == 0);
  honest.works(1);
  for (const uint32_t kind : {WEFT_INJECTED_FAULT_SIMULATOR_EXIT, WEFT_INJECTED_FAULT_FIRMWARE_DEAD}) {
    REQUIRE(hostile.write(0, WEFT_REG_INJECT_KIND, kind) == 0);
    REQUIRE(hostile.write(0, WEFT_REG_INJECT_TARGET, 0) == 0);
    REQUIRE(hostile.write(0, WEFT_REG_INJECT_NTH, 1) == 0);
    REQUIRE(hostile.write(0, WEFT_REG_INJECT_COUNT, 1) == 0);
    CHECK(hostile.write(0, WEFT_REG_INJECT_CONTROL, WEFT_INJECT_CONTROL_ARM) == EPERM);
    hostile.post(0, WEFT_REG_INJECT_CONTROL, WEFT_INJECT_CONTROL_ARM);
    hostile.post(test::kDoorbellBar, 0, 1);
    honest.works(1);
  }
  CHECK(hostile.read_register(WEFT_REG_INJECT_STATUS, 8) == 0);
  honest.works();
}

TEST_CASE_METHOD(Fixture, "a tenant alone holds time and injects faults, until another one comes") {
  test::Client first = connect();
  REQUIRE(first.write(0, WEFT_REG_SIM_HOLD, 1) == 0);
  REQUIRE(first.write(0, WEFT_REG_INJECT_KIND, WEFT_INJECTED_FAULT_SIMULATOR_EXIT) == 0);
  REQUIRE(first.write(0, WEFT_REG_INJECT_NTH, 1) == 0);
  REQUIRE(first.write(0, WEFT_REG_INJECT_COUNT, 1) == 0);
  REQUIRE(first.write(0, WEFT_REG_INJECT_CONTROL, WEFT_INJECT_CONTROL_ARM) == 0);
  CHECK(first.read_register(WEFT_REG_SIM_HOLD) == 1);
  CHECK((first.read_register(WEFT_REG_INJECT_STATUS) & 0xff) == 1);
  {
    Tenant honest(path(1));
    honest.works(1);
    CHECK(first.read_register(WEFT_REG_SIM_HOLD) == 0);
    CHECK((first.read_register(WEFT_REG_INJECT_STATUS) & 0xff) == 0);
    first.post(test::kDoorbellBar, 0, 1);  // the occasion
    honest.works();
    CHECK(first.write(0, WEFT_REG_SIM_HOLD, 1) == EPERM);
  }
  int error = EPERM;
  for (int i = 0; i < 1000 && error != 0; i++) {  // the server has to see that it has left
    error = first.write(0, WEFT_REG_SIM_HOLD, 1);
    if (error != 0) ::usleep(1000);
  }
  CHECK(error == 0);
  // What the other one left is cleared away nevertheless, and the next one is served.
  Tenant third(path(1));
  third.works();
}

TEST_CASE_METHOD(Permissive, "with the options to it, a tenant holds time and injects beside others") {
  Tenant other(path(1));
  test::Client client = connect();
  CHECK(client.write(0, WEFT_REG_SIM_HOLD, 1) == 0);
  other.client.post(test::kDoorbellBar, 8, 1);
  CHECK(test::wait_for(other.event1, 100) == 0);
  CHECK(client.write(0, WEFT_REG_SIM_HOLD, 0) == 0);
  CHECK(test::wait_for(other.event1) == 1);
  REQUIRE(client.write(0, WEFT_REG_INJECT_KIND, WEFT_INJECTED_FAULT_RESET_STUCK) == 0);
  REQUIRE(client.write(0, WEFT_REG_INJECT_NTH, 1) == 0);
  REQUIRE(client.write(0, WEFT_REG_INJECT_COUNT, 1) == 0);
  CHECK(client.write(0, WEFT_REG_INJECT_CONTROL, WEFT_INJECT_CONTROL_ARM) == 0);
}

TEST_CASE_METHOD(Fixture, "a flood of messages leaves the others their time on the device") {
  Tenant honest(path(1));
  test::Client hostile = connect();
  std::atomic<bool> stop = false;
  std::thread flood([&] {
    auto message =
        header_of(vfio_user::Command::kRegionWrite, sizeof(vfio_user::RegionAccess) + 8, vfio_user::kFlagNoReply);
    const auto body = hostile.write_body(0, WEFT_REG_WAIT_ALARM, 1, 8);  // an alarm that ends each slice at once
    message.insert(message.end(), body.begin(), body.end());
    std::vector<std::byte> many;
    for (int i = 0; i < 100; i++) many.insert(many.end(), message.begin(), message.end());
    while (!stop && hostile.send_raw(many)) {
    }
  });
  // Device work of another tenant, whose end is a deadline in device cycles.
  honest.client.post(test::kDoorbellBar, 8, kEndless);
  const uint64_t alarm = honest.client.read_register(WEFT_REG_CYCLES, 8) + 20'000'000;
  REQUIRE(honest.client.write(0, WEFT_REG_WAIT_ALARM, alarm, 8) == 0);
  CHECK(test::wait_for(honest.event0) == 1);
  CHECK(honest.client.read_register(WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_DEADLINE);
  stop = true;
  hostile.close();
  flood.join();
}

TEST_CASE_METHOD(Fixture, "a flood of messages does not keep the others from the verdict that nothing can end a wait") {
  Tenant honest(path(1));
  std::atomic<bool> stop = false;
  std::atomic<int> sent = 0;
  std::vector<std::thread> floods;
  for (const unsigned f : {0, 2, 3}) {
    floods.emplace_back([&, hostile = connect(f)]() mutable {
      auto message =
          header_of(vfio_user::Command::kRegionWrite, sizeof(vfio_user::RegionAccess) + 4, vfio_user::kFlagNoReply);
      const auto body = hostile.write_body(0, WEFT_REG_INTERRUPT_MASK, 0, 4);
      message.insert(message.end(), body.begin(), body.end());
      std::vector<std::byte> many;
      for (int i = 0; i < 500; i++) many.insert(many.end(), message.begin(), message.end());
      while (!stop && hostile.send_raw(many)) sent++;
    });
  }
  while (sent < 100) ::usleep(1000);
  REQUIRE(honest.client.write(0, WEFT_REG_WAIT_ALARM, UINT64_MAX, 8) == 0);
  CHECK(test::wait_for(honest.event0) == 1);
  CHECK(honest.client.read_register(WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_IDLE_WITH_OUTSTANDING);
  stop = true;
  for (std::thread& flood : floods) flood.join();
}

TEST_CASE_METHOD(Fixture, "clients that wait for their refusal and say nothing make room for those that speak") {
  Tenant owner(path(0));
  std::vector<FileDescriptor> silent;
  for (size_t i = 0; i < 3 * limits::kRefused; i++) silent.push_back(test::connect_to(path(0)));
  test::Client speaks(test::connect_to(path(0)));
  CHECK(speaks.request(vfio_user::Command::kVersion, vfio_user::Version{0, 1}).error() == EBUSY);
  owner.works();
}

TEST_CASE_METHOD(Fixture, "a process of another user is refused, also with a socket that it was given") {
  if (::geteuid() != 0) return;  // only root can become another user
  for (unsigned f = 0; f < kFunctions; f++) REQUIRE(::chmod(path(f).c_str(), 0666) == 0);
  Tenant honest(path(1));
  const std::string free = path(0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setgroups(0, nullptr) != 0 || ::setuid(kNobody) != 0) ::_exit(1);
    test::Client client(test::connect_to(free));
    if (!client.send(1, test::bytes_of(vfio_user::Version{0, 1}))) ::_exit(2);
    const auto answer = client.receive();
    ::_exit(answer && answer->error() == EACCES ? 0 : 3);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  honest.works();
}
