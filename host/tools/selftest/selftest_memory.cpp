// HBM and the copies between it and the host.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "host/tools/live/smi_view.hpp"
#include "host/tools/selftest/driver_handles.hpp"
#include "host/tools/selftest/selftest.hpp"

namespace weft::tools {
namespace {

constexpr uint64_t kMarkerBytes = 64;
constexpr uint64_t kPieceBytes = 1u << 20;
constexpr std::byte kGuard{0xa5};

/// The word at an address: differs from that of every other address, and from its own inverse.
uint64_t word_of(uint64_t address, uint64_t seed) { return (address ^ seed) * 0x9e3779b97f4a7c15u; }

void fill_words(std::byte* out, uint64_t address, uint64_t bytes, uint64_t seed, uint64_t flip) {
  for (uint64_t i = 0; i < bytes; i += sizeof(uint64_t)) {
    const uint64_t word = word_of(address + i, seed) ^ flip;
    std::memcpy(out + i, &word, sizeof word);
  }
}

/// The first word that differs, in words; empty: none.
std::string first_wrong(const std::byte* in, uint64_t address, uint64_t bytes, uint64_t seed, uint64_t flip) {
  for (uint64_t i = 0; i < bytes; i += sizeof(uint64_t)) {
    uint64_t found = 0;
    std::memcpy(&found, in + i, sizeof found);
    const uint64_t wanted = word_of(address + i, seed) ^ flip;
    if (found != wanted)
      return fmt::format("byte {:#x} of the piece: wrote {:#018x}, read {:#018x}", address + i, wanted, found);
  }
  return {};
}

/// Places of `bytes` each, all written before the first is read back.
std::string write_and_read(weft_queue* queue, const BufferHandle& hbm, const BufferHandle& host,
                           const std::vector<uint64_t>& places, uint64_t bytes, uint64_t seed, uint64_t flip) {
  std::byte* memory = bytes_of(host);
  for (const uint64_t place : places) {
    fill_words(memory, place, bytes, seed, flip);
    if (auto status = copy(queue, hbm, place, host, 0, bytes); !status.ok()) return status.error().message;
  }
  for (const uint64_t place : places) {
    std::memset(memory, 0, bytes);
    if (auto status = copy(queue, host, 0, hbm, place, bytes); !status.ok()) return status.error().message;
    if (auto wrong = first_wrong(memory, place, bytes, seed, flip); !wrong.empty()) return wrong;
  }
  return {};
}

/// 0, every power of two from the marker's size on, and the end.
std::vector<uint64_t> marker_places(uint64_t bytes) {
  std::vector<uint64_t> places{0};
  for (uint64_t at = kMarkerBytes; at + kMarkerBytes < bytes; at *= 2) places.push_back(at);
  places.push_back((bytes - kMarkerBytes) / kMarkerBytes * kMarkerBytes);
  return places;
}

}  // namespace

CheckResult check_hbm(weft_device* device, weft_queue* queue, uint64_t pattern_bytes, uint64_t seed) {
  constexpr const char* kName = "HBM";
  weft_device_info info = WEFT_INIT(weft_device_info);
  if (const auto status = weft_device_get_info(device, &info); status != WEFT_ERROR_OK)
    return failed(kName, driver_words(status));
  const uint64_t bytes = info.hbm_largest_bytes / kPieceBytes * kPieceBytes;
  if (bytes == 0) return failed(kName, fmt::format("the largest free piece has {} bytes", info.hbm_largest_bytes));
  const auto hbm = make_buffer(device, WEFT_MEMORY_HBM, bytes);
  const auto host = make_buffer(device, WEFT_MEMORY_HOST, kPieceBytes);
  if (!hbm.ok()) return failed(kName, hbm.error().message);
  if (!host.ok()) return failed(kName, host.error().message);
  const auto markers = marker_places(bytes);
  if (auto wrong = write_and_read(queue, hbm.value(), host.value(), markers, kMarkerBytes, seed, 0); !wrong.empty())
    return failed(kName, "address lines: " + wrong);
  std::vector<uint64_t> pieces;
  for (uint64_t at = 0; at < std::clamp(pattern_bytes, kPieceBytes, bytes); at += kPieceBytes) pieces.push_back(at);
  for (const uint64_t flip : {uint64_t{0}, ~uint64_t{0}}) {
    if (auto wrong = write_and_read(queue, hbm.value(), host.value(), pieces, kPieceBytes, seed, flip); !wrong.empty())
      return failed(kName, "cells: " + wrong);
  }
  return passed(kName, fmt::format("{} markers over {}, 2 patterns in {}", markers.size(), bytes_text(bytes),
                                   bytes_text(pieces.size() * kPieceBytes)));
}

CheckResult check_loopback(runtime::Session& session, uint64_t seed) {
  constexpr const char* kName = "DMA loopback";
  constexpr std::array<uint64_t, 16> kSizes{1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 255, 1023, 4095, 4096, 4097, 100'003};
  constexpr std::array<uint64_t, 5> kAlignments{0, 1, 7, 32, 61};
  constexpr uint64_t kRoom = 131072;
  const auto source = make_buffer(session.device(), WEFT_MEMORY_HOST, kRoom);
  const auto hbm = make_buffer(session.device(), WEFT_MEMORY_HBM, kRoom);
  const auto back = make_buffer(session.device(), WEFT_MEMORY_HOST, kRoom);
  for (const auto* buffer : {&source, &hbm, &back}) {
    if (!buffer->ok()) return failed(kName, buffer->error().message);
  }
  std::byte* out = bytes_of(source.value());
  std::byte* in = bytes_of(back.value());
  std::mt19937_64 random(seed);
  uint64_t copies = 0, moved = 0;
  for (const uint64_t size : kSizes) {
    for (const uint64_t from : kAlignments) {
      const uint64_t to = kAlignments[random() % kAlignments.size()], middle = random() % 64;
      for (uint64_t i = 0; i < size; i++) out[from + i] = static_cast<std::byte>(random());
      std::fill_n(in, kRoom, kGuard);
      for (const Status& status : {copy(session.queue(), hbm.value(), middle, source.value(), from, size),
                                   copy(session.queue(), back.value(), to, hbm.value(), middle, size)}) {
        if (!status.ok()) return failed(kName, status.error().message);
      }
      for (uint64_t i = 0; i < kRoom; i++) {
        const bool inside = i >= to && i < to + size;
        const std::byte wanted = inside ? out[from + i - to] : kGuard;
        if (in[i] == wanted) continue;
        return failed(kName, fmt::format("{} bytes from host + {} by HBM + {} to host + {}: byte {} {} {:#04x}, not "
                                         "{:#04x}",
                                         size, from, middle, to, i, inside ? "is" : "beside the copy is",
                                         static_cast<unsigned>(in[i]), static_cast<unsigned>(wanted)));
      }
      copies += 2;
      moved += 2 * size;
    }
  }
  return passed(
      kName, fmt::format("{} copies of 1 to {} bytes at odd alignments, {} moved, 0 bytes beside them changed", copies,
                         kSizes.back(), bytes_text(moved)));
}

}  // namespace weft::tools
