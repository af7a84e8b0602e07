/// Accesses of mapped files that another process can truncate.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::chip {

/// The kernel answers an access of a mapped file beyond its end, or of a huge page that is not to be had, with SIGBUS.
/// These accesses return false instead, and have then done their work up to some byte. The first call installs a
/// handler of SIGBUS, which passes on every signal that comes at another moment. Any thread.
[[nodiscard]] bool guarded_copy(std::byte* to, const std::byte* from, size_t bytes);

/// Stores the 8 bytes at once, after all stores before it (release). `to` is a multiple of 8.
[[nodiscard]] bool guarded_store(std::byte* to, uint64_t value);

}  // namespace weft::chip
