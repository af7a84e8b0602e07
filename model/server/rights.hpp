/// What the clients and observers of one process may do to each other.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>

#include "model/chip/function.hpp"
#include "model/server/connection.hpp"

namespace weft::server {

/// What the server was started with (weft-sim --help).
struct Permissions {
  bool hold = false;           ///< --allow-hold
  bool inject = false;         ///< --allow-inject
  bool reset = false;          ///< --allow-reset
  std::optional<gid_t> group;  ///< --group: its processes may connect as well
  bool map_doorbells = false;  ///< --map-doorbells
};

/// The server's own user, or root.
[[nodiscard]] bool is_own_user(uid_t uid);

/// A process of this user may connect: its own, or any that the modes of --group let in.
[[nodiscard]] bool may_connect(const Permissions& permissions, uid_t uid);

/// All clients are one tenant, or there is none. A process that has one function of each of several chips is one
/// tenant; two clients of one chip are two. `clients`: by function, as Simulation::function() counts them; nothing
/// where no client is.
[[nodiscard]] bool is_one_tenant(std::span<const std::optional<Peer>> clients, size_t functions_of_a_chip);

/// What a client may do by its registers. Holding time and injecting faults strike all tenants of the process, so they
/// are for a client of the server's own user that is the only tenant (`alone`).
[[nodiscard]] chip::HostRights rights_of(const Peer& client, bool alone, const Permissions& permissions);

/// What an observer of user `observer` may ask of the management socket.
[[nodiscard]] bool may_inject(const Permissions& permissions, uid_t observer);
/// `owner`: the user of the function's client; nothing: the function is free.
[[nodiscard]] bool may_reset(const Permissions& permissions, uid_t observer, std::optional<uid_t> owner);

}  // namespace weft::server
