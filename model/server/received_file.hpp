/// What descriptors of clients are. No call waits, whatever they are.
#pragma once

namespace weft::server {

/// False also where the system cannot tell (/proc is not there).
[[nodiscard]] bool is_eventfd(int fd);

/// A file of tmpfs or hugetlbfs, as memfd_create() makes them.
[[nodiscard]] bool is_memory(int fd);

}  // namespace weft::server
