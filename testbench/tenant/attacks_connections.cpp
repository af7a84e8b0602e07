// Connections: many, short, silent, and those that keep themselves alive.
#include <sys/socket.h>

#include "testbench/tenant/tenant.hpp"

namespace weft::tenant {
namespace {

bool storm(Tenant& tenant) {
  unsigned connected = 0;
  for (uint64_t i = tenant.random.between(20, 150); i != 0; i--) {
    RawClient client(tenant.stage().socket(tenant.any_function()));
    if (!client.valid()) continue;
    connected++;
    if (tenant.random.one_in(3)) (void)client.send_all(tenant.random.bytes(tenant.random.between(1, 40)));
    if (tenant.random.one_in(8)) (void)client.negotiate(20);
  }
  return connected != 0;
}

bool newcomers(Tenant& tenant) {
  const std::string socket = tenant.spare_socket();
  if (socket.empty()) return false;
  unsigned connected = 0;
  for (uint64_t i = tenant.random.between(10, 120); i != 0; i--) {
    RawClient client(socket);
    connected += client.valid() ? 1 : 0;
    tenant.keep(std::move(client));
  }
  return connected != 0;
}

bool half_closed(Tenant& tenant) {
  RawClient client = tenant.spare();
  if (!client.valid()) return false;
  client.half_close(tenant.random.pick({SHUT_RD, SHUT_WR, SHUT_RDWR}));
  tenant.keep(std::move(client));
  return true;
}

/// A descriptor of the connection itself within the connection: closing it here does not end it.
bool socket_over_itself(Tenant& tenant) {
  RawClient client = tenant.spare();
  if (!client.valid()) return false;
  const int self = client.fd();
  bool sent = false;
  // The last kind takes the server's patience with clients that read nothing, so it is rare.
  switch (tenant.random.one_in(40) ? 4 : tenant.random.below(4)) {
    case 0:
      sent = client.send_all(message(kDmaMap, bytes_of(DmaMap{.address = 0, .bytes = 4096})), {self});
      break;
    case 1:
      sent = client.send_all(message(kSetIrqs, bytes_of(IrqSet{.flags = kTriggerEventfd, .count = 1})), {self});
      break;
    case 2:
      sent = client.send_all(message(kRegionRead, bytes_of(RegionAccess{0, kBar0, 4})), {self});
      break;
    case 3: {  // with the first bytes of a message that never comes
      const Bytes bytes = message(kDmaMap, bytes_of(DmaMap{.address = 0, .bytes = 4096}));
      const size_t part = tenant.random.between(1, bytes.size() - 1);
      sent = client.send(std::span(bytes).first(part), std::array{self}) == part;
      break;
    }
    default: {  // behind replies that nobody reads, so that the server does not come to it
      for (unsigned i = 0; i < 4096; i++)
        if (client.send(message(kRegionRead, bytes_of(RegionAccess{WEFT_REG_COUNTERS, kBar0, 4096})), {}, 5) < 32)
          break;
      sent = client.send(message(kGetInfo, Bytes(16)), std::array{self, self}, 1) != 0;
      break;
    }
  }
  return sent;  // the client's own descriptor goes now
}

/// Two connections, each of which is in flight in the other.
bool sockets_over_each_other(Tenant& tenant) {
  RawClient first = tenant.spare(), second = tenant.spare();
  if (!first.valid() || !second.valid()) return false;
  const Bytes bytes = message(kDmaMap, bytes_of(DmaMap{.address = 0, .bytes = 4096}));
  const size_t part = tenant.random.between(1, bytes.size());
  return first.send(std::span(bytes).first(part), std::array{second.fd()}) == part &&
         second.send(std::span(bytes).first(part), std::array{first.fd()}) == part;
}

bool vanish(Tenant& tenant) {
  RawDevice* const device = tenant.booted();
  if (device == nullptr) return false;
  auto ring = device->create_queue(1, 64);
  const auto reserved = device->hbm_reserved();
  if (ring && reserved) {
    const uint64_t hbm = WEFT_LIMIT_ADDRESS_FLAG_HBM | *reserved;
    for (unsigned i = 0; i < 32; i++)
      device->put(*ring, entry_of(WEFT_QUEUE_OPCODE_COPY, RawDevice::kBase, hbm, tenant.random.between(1, 3u << 20)));
    device->doorbell(*ring);
  }
  tenant.drop(device);  // closes in the midst of it
  return ring.has_value();
}

constexpr Attack kAttacks[] = {
    {"storm", 4, storm, "connects and disconnects, half of a VERSION between"},
    {"newcomers", 2, newcomers, "connections that say nothing"},
    {"half_closed", 2, half_closed, "shutdown of one direction or both, the descriptor kept"},
    {"socket_over_itself", 6, socket_over_itself, "a connection whose own socket is in flight in it, then closed"},
    {"sockets_over_each_other", 2, sockets_over_each_other, "two connections in flight in each other, then closed"},
    {"vanish", 4, vanish, "a client that goes while its copies run"},
};

}  // namespace

std::span<const Attack> connection_attacks() { return kAttacks; }

}  // namespace weft::tenant
