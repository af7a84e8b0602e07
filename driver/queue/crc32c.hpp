// CRC-32C (Castagnoli), as submission entries and executables carry it.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::driver {

/// CRC of `bytes` at `data`; `crc` is the CRC of what came before (0: nothing). Uses the processor's instruction where
/// there is one.
uint32_t crc32c(const void* data, size_t bytes, uint32_t crc = 0);

/// The same by a table; for processors without the instruction, and to test the other.
uint32_t crc32c_portable(const void* data, size_t bytes, uint32_t crc = 0);

}  // namespace weft::driver
