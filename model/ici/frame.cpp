#include "model/ici/frame.hpp"

#include <cassert>

#include "base/crc32c.hpp"

namespace weft::ici {

namespace {

constexpr size_t kHeader = spec::kIciFrameHeaderBytes, kCrc = spec::kIciFrameCrcBytes;

void put(std::byte* to, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) to[i] = static_cast<std::byte>(value >> (8 * i));
}

uint64_t get(const std::byte* from, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; i++) value |= std::to_integer<uint64_t>(from[i]) << (8 * i);
  return value;
}

}  // namespace

std::vector<std::byte> encode(const Frame& frame) {
  assert(frame.payload.size() <= spec::kIciFramePayloadBytes && frame.sequence < kSequences &&
         frame.acknowledged < kSequences && frame.channel < 32);
  std::vector<std::byte> bytes(kHeader + frame.payload.size() + kCrc);
  put(bytes.data(),
      uint64_t{frame.sequence} | uint64_t{frame.acknowledged} << 12 | uint64_t{frame.channel} << 24 |
          static_cast<uint64_t>(frame.type) << 29 | uint64_t{frame.credits} << 32,
      kHeader);
  std::copy(frame.payload.begin(), frame.payload.end(), bytes.begin() + kHeader);
  put(bytes.data() + bytes.size() - kCrc, crc32c(std::span(bytes).first(bytes.size() - kCrc)), kCrc);
  return bytes;
}

std::optional<Frame> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeader + kCrc || bytes.size() > kHeader + spec::kIciFramePayloadBytes + kCrc) return std::nullopt;
  const auto body = bytes.first(bytes.size() - kCrc);
  if (get(bytes.data() + body.size(), kCrc) != crc32c(body)) return std::nullopt;
  const auto header = get(bytes.data(), kHeader);
  const auto type = header >> 29 & 7;
  if (type < static_cast<uint64_t>(FrameType::kData) || type > static_cast<uint64_t>(FrameType::kNegative))
    return std::nullopt;
  Frame frame;
  frame.type = static_cast<FrameType>(type);
  frame.sequence = header & (kSequences - 1);
  frame.acknowledged = header >> 12 & (kSequences - 1);
  frame.channel = header >> 24 & 31;
  frame.credits = static_cast<uint16_t>(header >> 32);
  frame.payload.assign(body.begin() + kHeader, body.end());
  if (frame.type != FrameType::kData && !frame.payload.empty()) return std::nullopt;
  return frame;
}

}  // namespace weft::ici
