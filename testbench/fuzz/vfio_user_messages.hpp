/// The messages that a well-behaved peer sends, both ways: what sessions begin with and are changed with.
#pragma once
#include "testbench/fuzz/vfio_user_session.hpp"

namespace weft::fuzz {

/// Host memory of the server's client: a parameter page, an admin ring whose entries create queue 1, and the rings of
/// queue 1. Mapped at IOVA 0 by client_messages().
inline constexpr size_t kHostMemoryBytes = 1u << 16;
void fill_host_memory(std::span<std::byte> memory);

/// A client's messages in the order of a session: version, device, regions, interrupts, memory, configuration space,
/// boot, doorbells, waits, reset.
[[nodiscard]] Session client_messages();

/// A server's replies to the driver's client in the order in which that asks
/// (testbench/fuzz/fuzz_vfio_user_client.cpp), ids from 0.
[[nodiscard]] Session server_replies();

}  // namespace weft::fuzz
