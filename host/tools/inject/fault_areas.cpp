// Guard bytes by offset, operands by a fixed seed, results by the golden model.
#include "host/tools/inject/fault_areas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "host/compiler/layout.hpp"
#include "model/golden/matmul.hpp"

namespace weft::tools {
namespace {

constexpr uint64_t kGuardBytes = 4096;
constexpr uint64_t kBystanderBytes = 65536;
constexpr uint64_t kFillBytes = 20'000;
constexpr uint64_t kSeed = 1;
constexpr std::byte kCleared{0xcc};
constexpr uint64_t kF32Bytes = 4, kBf16Bytes = 2;

/// `memory` tells host memory from HBM, so that a copy in the wrong direction shows.
std::byte guard_byte(uint64_t offset, uint8_t memory) {
  return static_cast<std::byte>((offset * 0x9e3779b97f4a7c15 >> 56) ^ memory);
}
constexpr uint8_t kHost = 0x00, kHbm = 0x5a;

std::vector<uint16_t> operand(uint64_t elements, std::mt19937_64& random) {
  std::vector<uint16_t> values(elements);
  for (auto& value : values)
    value = compiler::bf16_from_f32(static_cast<float>(static_cast<int64_t>(random() % 2001) - 1000) / 256);
  return values;
}

std::string wrong_byte(uint64_t offset, std::byte got, std::byte expected, std::string_view where) {
  return fmt::format("byte {:#x} ({}) is {:#04x}, not {:#04x}", offset, where, static_cast<unsigned>(got),
                     static_cast<unsigned>(expected));
}

std::string wrong_size(uint64_t got, uint64_t expected) {
  return fmt::format("{} bytes were read back, not {}: they cannot be compared", got, expected);
}

}  // namespace

FaultAreas::FaultAreas(const spec::Chip& chip, uint64_t rows, uint64_t inner, uint64_t columns, uint32_t pattern) {
  std::mt19937_64 random(kSeed);
  const auto a = operand(rows * inner, random), b = operand(inner * columns, random);
  std::vector<float> c(rows * columns);
  golden::gemm_bf16(rows, inner, columns, a.data(), inner, b.data(), columns, c.data(), columns);
  x_ = compiler::pack_rows(std::as_bytes(std::span(a)), rows, inner, kBf16Bytes);
  w_ = compiler::pack_weights_bf16(chip, b, inner, columns);
  y_ = compiler::pack_rows(std::as_bytes(std::span(c)), rows, columns, kF32Bytes);
  const uint64_t pitch = compiler::row_pitch_bytes(columns, kF32Bytes);  // what pads a row is not written
  for (uint64_t r = 0; r < rows; r++)
    std::fill(y_.begin() + static_cast<std::ptrdiff_t>(r * pitch + columns * kF32Bytes),
              y_.begin() + static_cast<std::ptrdiff_t>((r + 1) * pitch), kCleared);
  f_.resize(kFillBytes);
  for (size_t i = 0; i < f_.size(); i += sizeof pattern) std::memcpy(&f_[i], &pattern, sizeof pattern);
  uint64_t offset = kGuardBytes;
  for (const auto& [name, bytes] :
       {std::pair<std::string_view, uint64_t>{"x", x_.size()}, {"w", w_.size()}, {"y", y_.size()}, {"f", f_.size()}}) {
    areas_.push_back({name, offset, bytes});
    offset = (offset + bytes + kGuardBytes + 63) / 64 * 64;
  }
  total_bytes_ = offset + kBystanderBytes;
}

const FaultAreas::Area* FaultAreas::area_at(uint64_t offset) const {
  for (const Area& area : areas_)
    if (offset >= area.offset && offset - area.offset < area.bytes) return &area;
  return nullptr;
}

void FaultAreas::write_host_image(std::span<std::byte> out) const {
  for (uint64_t i = 0; i < out.size(); i++) out[i] = guard_byte(i, kHost);
  std::copy(x_.begin(), x_.end(), out.begin() + static_cast<std::ptrdiff_t>(x().offset));
  std::copy(w_.begin(), w_.end(), out.begin() + static_cast<std::ptrdiff_t>(w().offset));
  for (const Area* area : {&y(), &f()})
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(area->offset), area->bytes, kCleared);
}

void FaultAreas::write_hbm_image(std::span<std::byte> out) const {
  for (uint64_t i = 0; i < out.size(); i++) out[i] = guard_byte(i, kHbm);
  for (const Area& area : areas_)
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(area.offset), area.bytes, kCleared);
}

std::string FaultAreas::first_wrong_host_byte(std::span<const std::byte> bytes, bool y_done, bool f_done) const {
  if (bytes.size() != total_bytes_) return wrong_size(bytes.size(), total_bytes_);
  std::vector<std::byte> expected(bytes.size());
  write_host_image(expected);
  std::copy(y_.begin(), y_.end(), expected.begin() + static_cast<std::ptrdiff_t>(y().offset));
  std::copy(f_.begin(), f_.end(), expected.begin() + static_cast<std::ptrdiff_t>(f().offset));
  for (uint64_t i = 0; i < bytes.size(); i++) {
    if (bytes[i] == expected[i]) continue;
    const Area* area = area_at(i);
    if ((area == &y() && !y_done) || (area == &f() && !f_done)) continue;  // half done, or not begun
    return wrong_byte(i, bytes[i], expected[i], area == nullptr ? "outside of every destination" : area->name);
  }
  return {};
}

std::string FaultAreas::first_wrong_hbm_byte(std::span<const std::byte> bytes) const {
  if (bytes.size() != total_bytes_) return wrong_size(bytes.size(), total_bytes_);
  for (uint64_t i = 0; i < bytes.size(); i++)
    if (bytes[i] != guard_byte(i, kHbm) && area_at(i) == nullptr)
      return wrong_byte(i, bytes[i], guard_byte(i, kHbm), "outside of every destination");
  return {};
}

}  // namespace weft::tools
