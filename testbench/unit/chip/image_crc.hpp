/// The checksum of an image that a test has made or changed.
#pragma once
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::test {

inline uint32_t image_crc(std::span<const std::byte> rom) {
  return static_cast<uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(rom.data()), static_cast<uInt>(rom.size())));
}

}  // namespace weft::test
