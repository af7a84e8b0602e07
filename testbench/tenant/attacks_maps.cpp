// What a client can map: as much as it likes, wherever it likes, and take it away when it likes.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "testbench/tenant/tenant.hpp"

namespace weft::tenant {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kField = uint64_t{1} << 41;  // addresses of these attacks

Bytes map_message(uint64_t address, uint64_t bytes, uint64_t offset, uint32_t flags = 3, uint32_t message_flags = 0) {
  return message(kDmaMap, bytes_of(DmaMap{.flags = flags, .offset = offset, .address = address, .bytes = bytes}),
                 message_flags);
}

/// Sends maps with a reply only to the last, so that the server's pace is the only limit.
bool many_maps(Tenant& tenant) {
  RawDevice* const device = tenant.device();
  if (device == nullptr) return false;
  const uint64_t count = tenant.random.one_in(12) ? 70'000 : tenant.random.between(500, 6000);
  const bool one_file = tenant.random.one_in(2), adjacent = tenant.random.one_in(3),
             described = !tenant.random.one_in(4);
  const Descriptor file = make_memory((one_file ? 2 * count : 1) * kPage, F_SEAL_SHRINK);
  const uint64_t step = adjacent ? kPage : 2 * kPage;
  const int64_t deadline = now_ms() + 8000;
  uint64_t sent = 0;
  for (; sent < count && device->client().valid() && now_ms() < deadline; sent++) {
    const Bytes bytes = map_message(kField + sent * step, kPage, one_file ? sent * kPage : 0, 3, kNoReply);
    const int fd = file.get();
    if (device->client().send(bytes, described ? std::span(&fd, 1) : std::span<const int>(), 2000) != bytes.size())
      break;
  }
  const auto answer = device->client().request(kGetInfo, Bytes(16, std::byte{16}), {}, 8000);
  if (tenant.random.one_in(2)) (void)device->client().unmap(0, 0, kUnmapAll);
  tenant.drop(device);
  return sent != 0 && answer.has_value();
}

/// Each map a file, so that a server that keeps descriptors keeps many.
bool many_files(Tenant& tenant) {
  RawDevice* const device = tenant.device();
  if (device == nullptr) return false;
  uint64_t sent = 0;
  for (uint64_t i = 0, count = tenant.random.between(100, 2000); i < count && device->client().valid(); i++) {
    const Descriptor file = make_memory(kPage, tenant.random.one_in(2) ? F_SEAL_SHRINK : 0);
    const int fd = file.get();
    const Bytes bytes = map_message(kField + i * 2 * kPage, kPage, 0, 3, kNoReply);
    if (device->client().send(bytes, std::span(&fd, 1), 2000) != bytes.size()) break;
    sent++;
  }
  return sent != 0 && device->client().request(kGetInfo, Bytes(16, std::byte{16})).has_value();
}

/// Files without pages, as long as files can be: the address space of the server is what they take, to its last page.
bool sparse_files(Tenant& tenant) {
  RawDevice* const device = tenant.device();
  if (device == nullptr) return false;
  constexpr unsigned kPageBits = 12;
  auto bits = static_cast<unsigned>(tenant.random.between(36, 46));
  const Descriptor file = make_memory(uint64_t{1} << bits, F_SEAL_SHRINK);
  if (!file.valid()) return false;
  unsigned answered = 0;
  for (uint64_t i = 1; i < 900 && bits >= kPageBits && device->client().valid(); i++) {
    const int error = device->client().map(file.get(), 0, i << 47, uint64_t{1} << bits);
    if (error < 0) break;
    answered++;
    if (error == EFBIG || error == ENOSPC || error == EMFILE) break;  // its share, and no more
    if (error != 0) bits--;
  }
  // Now the server needs memory for others.
  Bytes reads;
  for (unsigned i = 0; i < 400; i++)
    reads = joined(std::move(reads), message(kRegionRead, bytes_of(RegionAccess{WEFT_REG_COUNTERS, kBar0, 4096})));
  (void)device->client().send(reads, {}, 200);
  for (unsigned i = 0; i < 3; i++) tenant.keep(RawClient(device->client().path()));
  tenant.drop(device);
  return answered != 0;
}

bool overlaps(Tenant& tenant) {
  RawDevice* const device = tenant.device();
  if (device == nullptr) return false;
  const Descriptor file = make_memory(64 * kPage, tenant.random.one_in(2) ? F_SEAL_SHRINK : 0);
  unsigned answered = 0;
  for (uint64_t i = tenant.random.between(50, 400); i != 0 && device->client().valid(); i--) {
    const uint64_t first = tenant.random.below(64), pages = tenant.random.between(1, 64 - first);
    const uint64_t address = kField + first * kPage;
    int error = 0;
    switch (tenant.random.below(5)) {
      case 0:
        error = device->client().unmap(address, pages * kPage);
        break;
      case 1:
        error = device->client().map(tenant.random.one_in(2) ? file.get() : -1, first * kPage, address, pages * kPage);
        break;
      case 2:
        error = device->client().map(file.get(), tenant.random.odd_value(), tenant.random.odd_value(),
                                     tenant.random.odd_value());
        break;
      case 3:
        error = device->client().unmap(tenant.random.odd_value(), tenant.random.odd_value(),
                                       static_cast<uint32_t>(tenant.random.below(4)));
        break;
      default:
        error = device->client().map(file.get(), first * kPage, address, kPage,
                                     static_cast<uint32_t>(tenant.random.below(5)));
        break;
    }
    answered += error >= 0 ? 1 : 0;
  }
  device->forget();  // its own memory may be unmapped now
  tenant.drop(device);
  return answered != 0;
}

/// Takes memory away from copies that are under way, again and again.
bool unmap_under_dma(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  constexpr uint64_t kBytes = 2u << 20;
  const SharedMemory memory(kBytes, tenant.random.one_in(2) ? F_SEAL_SHRINK : 0);
  auto ring = device->create_queue(static_cast<unsigned>(tenant.random.between(1, 16)), 64);
  const auto reserved = device->hbm_reserved();
  if (!ring || !reserved) return false;
  const uint64_t hbm = WEFT_LIMIT_ADDRESS_FLAG_HBM | *reserved;
  for (unsigned round = 0; round < 8; round++) {
    if (device->client().map(memory.fd(), 0, kField, kBytes) < 0) return false;
    const bool in = tenant.random.one_in(2);
    device->put(*ring, entry_of(WEFT_QUEUE_OPCODE_COPY, in ? kField : hbm, in ? hbm : kField, kBytes));
    device->doorbell(*ring);
    if (tenant.random.one_in(2)) (void)device->client().read(kBar0, WEFT_REG_CYCLES, 8);
    const uint64_t hole = tenant.random.below(kBytes / kPage) * kPage;
    if (tenant.random.one_in(3)) (void)device->client().unmap(kField + hole, kPage);
    (void)device->client().unmap(kField, kBytes);
    const bool still = std::ranges::any_of(memory.bytes().first(64), [](std::byte b) { return b != std::byte{0}; });
    (void)still;
  }
  for (unsigned round = 0; round < 8; round++) (void)device->complete(*ring, 1000);
  return true;
}

/// Memory that the server must ask for by messages, and a client that answers late, wrongly or never.
bool memory_by_messages(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  constexpr uint64_t kBytes = 1u << 20;
  const int error = device->client().map(-1, 0, kField, kBytes);
  auto ring = device->create_queue(3, 16);
  const auto reserved = device->hbm_reserved();
  if (!ring || !reserved) return error >= 0;
  const uint64_t hbm = WEFT_LIMIT_ADDRESS_FLAG_HBM | *reserved;
  for (unsigned i = 0; i < 4; i++) {
    const bool in = tenant.random.one_in(2);
    device->put(*ring, entry_of(WEFT_QUEUE_OPCODE_COPY, in ? kField : hbm, in ? hbm : kField, 65536));
  }
  device->doorbell(*ring);
  const uint64_t kind = tenant.random.below(5);
  for (unsigned i = 0; i < 20; i++) {
    Bytes body = joined(bytes_of(kField), bytes_of(tenant.random.odd_value()));
    const Bytes data = tenant.random.bytes(tenant.random.pick({0, 8, 4096, 65536}));
    if (kind == 0)
      (void)device->client().send_all(
          message(kDmaRead, joined(std::move(body), data), kReplyFlag, static_cast<uint16_t>(i)));
    if (kind == 1)
      (void)device->client().send_all(message(kDmaWrite, Bytes(), kReplyFlag | kErrorFlag, static_cast<uint16_t>(i)));
    if (kind == 2)
      (void)device->client().send_all(message(kDmaRead, tenant.random.bytes(tenant.random.below(24)), kReplyFlag));
    if (kind == 3) (void)device->client().send(tenant.random.bytes(40));
    if (!device->client().valid()) break;
  }
  // What is left unanswered stays so until the end.
  (void)device->client().receive(5);
  return error >= 0;
}

/// The same from many functions at once, and none of them ever answers.
bool stall_by_messages(Tenant& tenant) {
  std::map<RawDevice*, Ring> ready;
  for (unsigned tries = 0; tries < 3 * WEFT_LIMIT_FUNCTIONS; tries++) {
    RawDevice* const device = tenant.booted();
    if (device == nullptr || ready.contains(device) || device->client().map(-1, 0, kField, 1u << 20) < 0) continue;
    auto ring = device->create_queue(3, 16);
    const auto reserved = device->hbm_reserved();
    if (!ring || !reserved) continue;
    for (unsigned i = 0; i < 8; i++)
      device->put(*ring, entry_of(WEFT_QUEUE_OPCODE_COPY, kField, WEFT_LIMIT_ADDRESS_FLAG_HBM | *reserved, 65536));
    device->forget();
    ready.emplace(device, *ring);
  }
  for (const auto& [device, ring] : ready) device->doorbell(ring);
  return !ready.empty();
}

constexpr Attack kAttacks[] = {
    {"many_maps", 2, many_maps,
     "up to 70,000 maps, of one file or of many, adjacent or not, with descriptor or without"},
    {"many_files", 2, many_files, "maps of up to 2,000 different files"},
    {"sparse_files", 4, sparse_files, "files without pages that take the server's address space"},
    {"overlaps", 4, overlaps, "overlapping maps, partial unmaps, odd addresses and sizes"},
    {"unmap_under_dma", 6, unmap_under_dma, "memory unmapped under copies in flight"},
    {"memory_by_messages", 1, memory_by_messages, "DMA_READ and DMA_WRITE answered wrongly or never"},
    {"stall_by_messages", 1, stall_by_messages, "DMA_READ of many functions at once, never answered"},
};

}  // namespace

std::span<const Attack> map_attacks() { return kAttacks; }

}  // namespace weft::tenant
