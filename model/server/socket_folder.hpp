/// The folder in which a server's sockets lie.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

namespace weft::server {

/// Makes the folder `path`, its parents too, or checks the one that is there, and gives it its mode: 0700, or 0750 with
/// `group`. One that is there must be a folder itself and no symbolic link, belong to this process's user, and have
/// been writable by that user alone, because what others have put there could stand in the place of a socket. False and
/// a sentence in `error`.
[[nodiscard]] bool prepare_socket_folder(const std::string& path, std::optional<gid_t> group, std::string& error);

}  // namespace weft::server
