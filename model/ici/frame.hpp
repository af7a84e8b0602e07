/// A link frame as it lies on the wire: 6 bytes of header, up to 256 of payload, CRC-32C.
///
///   bits 0..11 sequence · 12..23 acknowledged · 24..28 virtual channel · 29..31 type · 32..47 credits (little-endian)
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/spec/ici.hpp"

namespace weft::ici {

inline constexpr unsigned kSequences = 1u << spec::kIciSequenceBits;

enum class FrameType : uint8_t {
  kData = 1,     ///< carries payload, has a sequence number
  kIdle = 2,     ///< carries acknowledgement and credits only
  kNegative = 3  ///< the receiver wants `acknowledged` again and all after it
};

struct Frame {
  FrameType type = FrameType::kIdle;
  uint16_t sequence = 0;      ///< of data, modulo kSequences; else 0
  uint16_t acknowledged = 0;  ///< the next sequence number that the sender of this frame expects
  uint8_t channel = 0;        ///< of the payload, and the one that `credits` speaks of
  uint16_t credits = 0;  ///< frames of the channel taken out of the receiver's buffer so far, modulo 2^16: absolute, so
                         ///< a lost one heals with the next
  std::vector<std::byte> payload;

  bool operator==(const Frame&) const = default;
};

/// At most kIciFramePayloadBytes of payload.
std::vector<std::byte> encode(const Frame& frame);

/// Nothing if the length, the CRC or the type is wrong: such a frame was damaged and nothing of it is believed.
std::optional<Frame> decode(std::span<const std::byte> bytes);

}  // namespace weft::ici
