// What a client can say: wrong, cut off, too much, too long.
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>

#include "testbench/tenant/tenant.hpp"

namespace weft::tenant {
namespace {

constexpr uint16_t kCommands[] = {kVersion, kDmaMap,     kDmaUnmap, kGetInfo,    kGetRegionInfo,
                                  6,        kGetIrqInfo, kSetIrqs,  kRegionRead, kRegionWrite,
                                  kDmaRead, kDmaWrite,   kReset,    14,          15,
                                  16,       99};

/// A well-formed message of a client.
Bytes good_message(Random& random) {
  const auto id = static_cast<uint16_t>(random.word());
  switch (random.below(7)) {
    case 0:
      return message(kGetInfo, Bytes(16, std::byte{16}), 0, id);
    case 1:
      return message(kRegionRead, bytes_of(RegionAccess{random.below(4096) * 4, kBar0, 4}), 0, id);
    case 2:
      return region_write(kBar2, random.below(512) * 8, random.word(), 4, kNoReply);
    case 3:
      return message(kSetIrqs, bytes_of(IrqSet{.flags = kTriggerNone, .start = 0, .count = 17}), 0, id);
    case 4:
      return message(kDmaMap, bytes_of(DmaMap{.address = random.below(1 << 20) << 12, .bytes = 4096}), 0, id);
    case 5:
      return message(kDmaUnmap, bytes_of(DmaUnmap{.address = random.below(1 << 20) << 12, .bytes = 4096}), 0, id);
    default:
      return message(kRegionRead, bytes_of(RegionAccess{0, kConfig, 256}), 0, id);
  }
}

bool malformed(Tenant& tenant) {
  RawClient client = tenant.spare();
  if (!client.valid()) return false;
  Random& random = tenant.random;
  unsigned sent = 0;
  for (uint64_t i = random.between(20, 120); i != 0 && client.valid(); i--) {
    Bytes bytes = good_message(random);
    for (uint64_t flips = random.between(1, 6); flips != 0; flips--)
      bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1u << random.below(8));
    if (random.one_in(3)) bytes.resize(random.between(1, bytes.size()));
    if (random.one_in(4)) bytes = joined(std::move(bytes), random.bytes(random.below(64)));
    sent += client.send_all(bytes) ? 1 : 0;
  }
  tenant.keep(std::move(client));
  return sent != 0;
}

bool wrong_bodies(Tenant& tenant) {
  RawDevice* const device = tenant.device();
  if (device == nullptr) return false;
  Random& random = tenant.random;
  unsigned answered = 0;
  for (uint64_t i = random.between(20, 150); i != 0 && device->client().valid(); i--) {
    Bytes payload;
    for (uint64_t words = random.below(6); words != 0; words--)
      payload = joined(std::move(payload), bytes_of(random.odd_value()));
    payload.resize(payload.size() - std::min<size_t>(payload.size(), random.below(5)));
    const auto command = random.pick(kCommands);
    if (command == kReset && !random.one_in(8)) continue;
    answered += device->client().request(command, payload).has_value() ? 1 : 0;
  }
  tenant.drop(device);
  return answered != 0;
}

bool truncated(Tenant& tenant) {
  RawClient client = tenant.spare();
  if (!client.valid()) return false;
  const Bytes bytes = good_message(tenant.random);
  const size_t part = tenant.random.between(1, bytes.size() - 1);
  const bool sent = client.send(std::span(bytes).first(part)) == part;
  switch (tenant.random.below(3)) {
    case 0:
      client.half_close(SHUT_WR);
      break;
    case 1:
      client.close();
      return sent;
    default:
      break;  // it hangs in the middle until the end
  }
  tenant.keep(std::move(client));
  return sent;
}

bool huge(Tenant& tenant) {
  RawClient client = tenant.spare();
  if (!client.valid()) return false;
  const uint32_t sizes[] = {65536 + 33, 1u << 20, 16u << 20, 1u << 30, UINT32_MAX, 0, 3, 15};
  const Header header{1, tenant.random.pick(kCommands), tenant.random.pick(sizes), 0, 0};
  bool sent = client.send_all(bytes_of(header));
  const Bytes junk = tenant.random.bytes(65536);
  for (uint64_t i = tenant.random.below(64); i != 0; i--) sent |= client.send(junk) != 0;
  tenant.keep(std::move(client));
  return sent;
}

bool flood(Tenant& tenant) {
  RawDevice* const device = tenant.device();
  if (device == nullptr) return false;
  Bytes many;
  for (unsigned i = 0; i < 512; i++) many = joined(std::move(many), good_message(tenant.random));
  size_t sent = 0;
  for (uint64_t i = tenant.random.between(1, 20); i != 0; i--) {
    sent += device->client().send(many, {}, 20);
    if (tenant.random.one_in(2)) (void)device->client().receive(0);
  }
  tenant.drop(device);
  return sent != 0;
}

/// Replies that nobody reads, until the server takes no more questions.
bool make_backlog(RawClient& client) {
  Bytes reads;
  for (unsigned i = 0; i < 64; i++)
    reads = joined(std::move(reads), message(kRegionRead, bytes_of(RegionAccess{WEFT_REG_COUNTERS, kBar0, 4096})));
  size_t sent = 0;
  for (unsigned i = 0; i < 200; i++) {
    const size_t now = client.send(reads, {}, 30);
    sent += now;
    if (now < reads.size()) break;
  }
  return sent != 0;
}

bool unread_replies(Tenant& tenant) {
  RawClient client = tenant.spare();
  if (!client.valid()) return false;
  const bool acted = make_backlog(client);
  tenant.keep(std::move(client));
  return acted;
}

bool half_closed_backlog(Tenant& tenant) {
  RawClient client = tenant.spare();
  if (!client.valid()) return false;
  const bool acted = make_backlog(client);
  client.half_close(SHUT_WR);
  for (unsigned i = 0; i < 3; i++) tenant.keep(RawClient(client.path()));  // others wait at the door meanwhile
  tenant.keep(std::move(client));
  return acted;
}

bool version_junk(Tenant& tenant) {
  RawClient client(tenant.spare_socket());
  if (!client.valid()) return false;
  const std::string texts[] = {std::string(60000, '['),
                               "{\"capabilities\":" + std::string(3000, '{'),
                               "{\"capabilities\":{\"max_msg_fds\":1e400}}",
                               "{\"\\ud800\":0}",
                               std::string(3, '\xff'),
                               "{\"capabilities\":{\"max_data_xfer_size\":-9223372036854775809}}",
                               "null",
                               ""};
  const std::string& text = texts[tenant.random.below(std::size(texts))];
  Bytes payload = bytes_of(static_cast<uint32_t>(tenant.random.one_in(2) ? 0 : tenant.random.word()));
  const auto bytes = std::as_bytes(std::span(text.c_str(), text.size() + tenant.random.below(2)));
  payload.insert(payload.end(), bytes.begin(), bytes.end());
  const bool sent = client.send_all(message(kVersion, payload));
  (void)client.receive(20);
  tenant.keep(std::move(client));
  return sent;
}

bool slow_drip(Tenant& tenant) {
  RawClient client = tenant.spare();
  if (!client.valid()) return false;
  auto shared = std::make_shared<RawClient>(std::move(client));
  auto bytes = std::make_shared<Bytes>();
  for (unsigned i = 0; i < 16; i++) *bytes = joined(std::move(*bytes), good_message(tenant.random));
  tenant.meanwhile(
      [shared, bytes, at = size_t{0}]() mutable {
        (void)shared->send(std::span(*bytes).subspan(at++ % bytes->size(), 1), {}, 0);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      },
      bytes->size());
  return true;
}

/// Bytes beside the stream, which a reader of the stream may trip over.
bool out_of_band(Tenant& tenant) {
  RawClient client = tenant.spare();
  if (!client.valid()) return false;
  unsigned sent = 0;
  for (uint64_t i = tenant.random.between(5, 40); i != 0; i--) {
    const auto byte = static_cast<char>(tenant.random.word());
    sent += ::send(client.fd(), &byte, 1, MSG_OOB | MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 1 : 0;
    (void)client.send_all(good_message(tenant.random));
  }
  tenant.keep(std::move(client));
  return sent != 0;
}

/// Messages that cost the server the most, hundreds in a row, from every function at once.
bool expensive_messages(Tenant& tenant) {
  const Bytes kinds[] = {message(kRegionRead, bytes_of(RegionAccess{0, kBar0, 65536}), kNoReply),
                         region_write(kBar0, WEFT_REG_COUNTER_SNAPSHOT, 1, 4, kNoReply),
                         message(kReset, Bytes(), kNoReply),
                         message(kDmaUnmap, bytes_of(DmaUnmap{.address = 1ull << 45, .bytes = 1ull << 45}), kNoReply),
                         region_write(kConfig, 0x10, UINT32_MAX, 4, kNoReply)};
  const Bytes& kind = tenant.random.pick(kinds);
  Bytes burst;
  for (unsigned i = 0; i < 300; i++) burst = joined(std::move(burst), kind);
  unsigned sent = 0;
  for (uint64_t i = tenant.random.between(1, 6); i != 0; i--) {
    RawDevice* const device = tenant.device();
    if (device == nullptr) continue;
    device->forget();
    for (unsigned again = 0; again < 4; again++) sent += device->client().send(burst, {}, 20) != 0 ? 1 : 0;
  }
  return sent != 0;
}

constexpr Attack kAttacks[] = {
    {"malformed", 6, malformed, "messages with flipped bits, cut off or with bytes behind them"},
    {"wrong_bodies", 6, wrong_bodies, "every command with bodies of odd values and sizes"},
    {"truncated", 4, truncated, "a part of a message, then an end, half an end, or nothing"},
    {"huge", 4, huge, "headers that announce up to 4 GiB, and megabytes after them"},
    {"flood", 4, flood, "thousands of messages at once"},
    {"unread_replies", 4, unread_replies, "megabytes of replies that are not read"},
    {"half_closed_backlog", 4, half_closed_backlog, "a half-closed client with unread replies, and others at the door"},
    {"version_junk", 2, version_junk, "VERSION with deep, huge or invalid JSON"},
    {"out_of_band", 2, out_of_band, "urgent bytes beside the stream"},
    {"expensive_messages", 2, expensive_messages, "hundreds of the most expensive messages, from several functions"},
    {"slow_drip", 2, slow_drip, "one byte at a time"},
};

}  // namespace

std::span<const Attack> message_attacks() { return kAttacks; }

}  // namespace weft::tenant
