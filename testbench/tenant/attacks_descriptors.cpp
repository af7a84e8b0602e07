// What a message can carry: descriptors of every kind, and what they become afterwards.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include <array>
#include <csignal>

#include "testbench/tenant/tenant.hpp"

namespace weft::tenant {
namespace {

constexpr uint64_t kSomewhere = uint64_t{1} << 40;  // addresses that no other attack takes

/// One descriptor of a kind; the other end of pairs is closed or kept, as it comes.
Descriptor foreign(Tenant& tenant, unsigned kind) {
  int pair[2] = {-1, -1};
  switch (kind) {
    case 0:
      (void)!::pipe2(pair, O_CLOEXEC);
      break;
    case 1:
      (void)!::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
      break;
    case 2:
      return Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    case 3:
      return Descriptor(::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    case 4:
      return Descriptor(::open("/tmp", O_PATH | O_CLOEXEC));
    case 5:
      return Descriptor(::open("/dev/zero", O_RDWR | O_CLOEXEC));
    case 6:
      return Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
    case 7:
      return Descriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
    case 8:
      return Descriptor(::inotify_init1(IN_CLOEXEC));
    case 9:
      return Descriptor(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
    case 10:
      return Descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    case 11: {
      sigset_t none;
      sigemptyset(&none);
      return Descriptor(::signalfd(-1, &none, SFD_CLOEXEC));
    }
    case 12: {
      const std::string path = tenant.stage().folder + "/fifo";
      (void)::mkfifo(path.c_str(), 0600);
      Descriptor fifo(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
      (void)::unlink(path.c_str());
      return fifo;
    }
    case 13: {
      const std::string path = tenant.stage().folder + "/file";
      Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
      (void)!::ftruncate(file.get(), 1 << 20);
      (void)::unlink(path.c_str());
      return file;
    }
    default:
      return Descriptor(::eventfd(0, EFD_CLOEXEC | (kind % 2 == 0 ? EFD_SEMAPHORE : 0)));
  }
  Descriptor first(pair[0]), second(pair[1]);
  if (tenant.random.one_in(2)) tenant.keep(std::move(second));
  return first;
}

bool foreign_descriptors(Tenant& tenant) {
  RawDevice* const device = tenant.device();
  if (device == nullptr) return false;
  unsigned answered = 0;
  for (unsigned kind = 0; kind < 16; kind++) {
    const Descriptor fd = foreign(tenant, kind);
    if (!fd.valid()) continue;
    const bool maps = tenant.random.one_in(2);
    const auto answer =
        maps ? device->client().request(
                   kDmaMap, bytes_of(DmaMap{.address = kSomewhere + kind * 4096ull, .bytes = 4096}), {fd.get()})
             : device->client().request(kSetIrqs, bytes_of(IrqSet{.flags = kTriggerEventfd, .start = kind, .count = 1}),
                                        {fd.get()});
    answered += answer.has_value() ? 1 : 0;
  }
  (void)device->client().request(kSetIrqs, bytes_of(IrqSet{.flags = kTriggerNone, .count = 17}));
  return answered != 0;
}

bool many_descriptors(Tenant& tenant) {
  RawDevice* const device = tenant.device();
  if (device == nullptr) return false;
  const Descriptor file = make_memory(4096, F_SEAL_SHRINK);
  const std::vector<int> fds(tenant.random.between(2, 253), file.get());
  const uint16_t command =
      tenant.random.pick({uint16_t{kDmaMap}, uint16_t{kSetIrqs}, uint16_t{kRegionRead}, uint16_t{kReset}});
  const Bytes bytes = message(command, bytes_of(DmaMap{.address = kSomewhere, .bytes = 4096}), 0, 77);
  unsigned sent = 0;
  for (uint64_t i = tenant.random.between(1, 40); i != 0; i--)
    sent += device->client().send(bytes, fds) == bytes.size() ? 1 : 0;
  // And a descriptor with every single byte.
  for (const std::byte& b : bytes) (void)device->client().send(std::span(&b, 1), std::array{file.get()});
  tenant.drop(device);
  return sent != 0;
}

/// An eventfd with room for one event, which its owner takes between the server's look and its write. Its description
/// blocks.
bool full_eventfd(Tenant& tenant) {
  RawDevice* const device = tenant.device();
  if (device == nullptr) return false;
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  tenant.keep(Descriptor(fd));
  const uint64_t full = UINT64_MAX - 1, one = 1;
  if (!device->client().request(kSetIrqs, bytes_of(IrqSet{.flags = kTriggerEventfd, .start = 3, .count = 1}), {fd}) ||
      ::write(fd, &full, sizeof full) != sizeof full)
    return false;
  Bytes triggers;
  for (unsigned i = 0; i < 512; i++)
    triggers = joined(std::move(triggers),
                      message(kSetIrqs, bytes_of(IrqSet{.flags = kTriggerNone, .start = 3, .count = 1}), kNoReply));
  // The owner's own write waits if the server was quicker; then somebody has to make room.
  std::atomic<int64_t> writes_since{0};
  std::jthread reliever([fd, &writes_since](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const int64_t since = writes_since.load();
      uint64_t count = 0;
      if (since != 0 && now_ms() - since > 10) (void)!::read(fd, &count, sizeof count);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  bool acted = false;
  uint64_t longest_spin = 1000;
  for (unsigned i = 0; i < 40; i++) {
    acted |= device->client().send(triggers, {}, 500) == triggers.size();
    for (uint64_t spin = tenant.random.below(longest_spin); spin != 0; spin--)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    uint64_t count = 0;
    (void)!::read(fd, &count, sizeof count);
    writes_since = now_ms();
    (void)!::write(fd, &one, sizeof one);
    writes_since = 0;
    // No answer for so long: the server sits in its write. The eventfd stays full then, and the neighbours will tell.
    if (!device->client().request(kGetInfo, Bytes(16, std::byte{16}), {}, 500)) break;
    longest_spin = longest_spin < 1'000'000 ? longest_spin * 2 : 1000;
  }
  tenant.at_end([fd] {
    uint64_t count = 0;
    (void)::fcntl(fd, F_SETFL, O_NONBLOCK);
    for (unsigned i = 0; i < 1000; i++) (void)!::read(fd, &count, sizeof count);
  });
  return acted;
}

/// Maps a file and takes its pages away while the device copies from and to it.
bool truncate_after_map(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  constexpr uint64_t kBytes = 1 << 20;
  const bool sealed = tenant.random.one_in(4);
  const Descriptor file = make_memory(kBytes, sealed ? F_SEAL_GROW : 0);
  const int error = device->client().map(file.get(), 0, kSomewhere, kBytes);
  auto ring = device->create_queue(static_cast<unsigned>(tenant.random.between(1, 16)), 16);
  const auto reserved = device->hbm_reserved();
  if (!ring || !reserved) return error >= 0;
  const uint64_t hbm = WEFT_LIMIT_ADDRESS_FLAG_HBM | *reserved;
  for (unsigned i = 0; i < 6; i++) {
    const bool in = tenant.random.one_in(2);
    device->put(*ring, entry_of(WEFT_QUEUE_OPCODE_COPY, in ? kSomewhere : hbm, in ? hbm : kSomewhere, kBytes));
  }
  device->doorbell(*ring);
  if (tenant.random.one_in(2)) std::this_thread::sleep_for(std::chrono::microseconds(tenant.random.below(2000)));
  (void)!::ftruncate(file.get(), static_cast<off_t>(tenant.random.below(3) * 4096));
  for (unsigned i = 0; i < 6; i++) (void)device->complete(*ring, 500);
  (void)device->client().unmap(kSomewhere, kBytes);
  return error >= 0;
}

/// Rings and parameter page in a file that shrinks under them.
bool truncate_rings(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  const Descriptor file = make_memory(1 << 16, 0);
  const int error = device->client().map(file.get(), 0, kSomewhere + (1 << 24), 1 << 16);
  const uint64_t at = kSomewhere + (1 << 24);
  Ring& admin = device->admin();
  device->put(admin, entry_of(WEFT_ADMIN_OPCODE_CREATE_QUEUE, at, at + 4096, 16 | 16u << 16 | uint64_t{2} << 32));
  device->doorbell(admin);
  const auto code = device->complete(admin, 500);
  (void)!::ftruncate(file.get(), 0);
  for (unsigned i = 1; i < 6; i++) (void)device->client().post(kBar2, 8 * 2, i);
  (void)device->client().read(kBar0, WEFT_REG_CYCLES, 8);
  (void)!::ftruncate(file.get(), 1 << 16);
  (void)device->client().post(kBar2, 8 * 2, 9);
  device->forget();
  return error >= 0 && code.has_value();
}

/// Holes and late seals in a mapped file.
bool changing_file(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  constexpr uint64_t kBytes = 1 << 20;
  Descriptor file(::memfd_create("tenant", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  (void)!::ftruncate(file.get(), kBytes);
  (void)::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK);
  const uint64_t at = kSomewhere + (1 << 28);
  const int error = device->client().map(file.get(), 0, at, kBytes);
  auto ring = device->create_queue(7, 16);
  const auto reserved = device->hbm_reserved();
  if (!ring || !reserved) return error >= 0;
  for (unsigned i = 0; i < 8; i++) {
    device->put(*ring, entry_of(WEFT_QUEUE_OPCODE_FILL, tenant.random.word() & UINT32_MAX, at, kBytes));
    device->doorbell(*ring);
    (void)::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kBytes);
    if (i == 4) (void)::fcntl(file.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
  }
  for (unsigned i = 0; i < 8; i++) (void)device->complete(*ring, 500);
  (void)device->client().unmap(at, kBytes);
  return error >= 0;
}

constexpr Attack kAttacks[] = {
    {"foreign_descriptors", 4, foreign_descriptors,
     "pipes, sockets, directories, devices, O_PATH as memory and as eventfd"},
    {"many_descriptors", 4, many_descriptors, "up to 253 descriptors with one message, and one with every byte"},
    {"full_eventfd", 2, full_eventfd, "an eventfd that is filled between a look at it and the write"},
    {"truncate_after_map", 6, truncate_after_map, "a mapped file that loses its pages under DMA"},
    {"truncate_rings", 4, truncate_rings, "rings in a file that shrinks"},
    {"changing_file", 2, changing_file, "holes and late seals in a mapped file"},
};

}  // namespace

std::span<const Attack> descriptor_attacks() { return kAttacks; }

}  // namespace weft::tenant
