// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78): submission entries, executables, link frames, the CRC unit of the manager.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

/// CRC of `bytes` at `data`; `crc` is the CRC of what came before (0: nothing). Uses the processor's instruction where
/// there is one.
uint32_t crc32c(const void* data, size_t bytes, uint32_t crc = 0);

inline uint32_t crc32c(std::span<const std::byte> bytes) { return crc32c(bytes.data(), bytes.size()); }

/// The same by a table; for processors without the instruction, and to test the other.
uint32_t crc32c_portable(const void* data, size_t bytes, uint32_t crc = 0);

}  // namespace weft
