// By user and process, as the system knows them from connect().
#include "model/server/rights.hpp"

#include <unistd.h>

namespace weft::server {
bool is_own_user(uid_t uid) { return uid == ::geteuid() || uid == 0; }

bool may_connect(const Permissions& permissions, uid_t uid) { return permissions.group || is_own_user(uid); }

bool is_one_tenant(std::span<const std::optional<Peer>> clients, size_t functions_of_a_chip) {
  const Peer* first = nullptr;
  for (size_t i = 0, of_chip = 0; i < clients.size(); i++) {
    if (i % functions_of_a_chip == 0) of_chip = 0;
    if (!clients[i]) continue;
    if (++of_chip > 1) return false;
    if (first == nullptr) {
      first = &*clients[i];
    } else if (first->pid == 0 || clients[i]->pid != first->pid || clients[i]->uid != first->uid) {
      return false;
    }
  }
  return true;
}

chip::HostRights rights_of(const Peer& client, bool alone, const Permissions& permissions) {
  const bool unhindered = alone && is_own_user(client.uid);
  return {unhindered || permissions.hold, unhindered || permissions.inject};
}

bool may_inject(const Permissions& permissions, uid_t observer) { return permissions.inject || is_own_user(observer); }

bool may_reset(const Permissions& permissions, uid_t observer, std::optional<uid_t> owner) {
  return !owner || permissions.reset || is_own_user(observer) || observer == *owner;
}

}  // namespace weft::server
