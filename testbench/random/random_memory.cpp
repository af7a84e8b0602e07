// Memory of a random program.
#include "testbench/random/random_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::random {
namespace {

/// A well mixed number of two others (splitmix64's last step).
uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a + b * 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

constexpr std::array<uint32_t, 12> kSpecialF32{0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
                                               0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f800000};
constexpr std::array<uint32_t, 6> kSpecialI32{0x7fffffff, 0x80000000, 0xffffffff, 1, 0x01000001, 0x80808080};

/// Four bytes; a block of 64 bytes is of one class, so that rows of one type hold values of that type.
uint32_t value(uint64_t seed, uint64_t address) {
  const uint64_t bits = mix(seed, address / 4);
  const auto low = static_cast<uint32_t>(bits), high = static_cast<uint32_t>(bits >> 32);
  const bool special = high % 11 == 0;
  switch (mix(seed ^ 0x5eed, address / 64) % 6) {
    case 0: {  // two bf16 near 1
      const uint32_t pair = (low & 0x807f807f) | 0x3c003c00 | (high & 0x03800380);
      return special ? (pair & 0xffff) | (kSpecialF32[high / 11 % kSpecialF32.size()] & 0xffff0000) : pair;
    }
    case 1:  // f32 near 1
      return special ? kSpecialF32[high / 11 % kSpecialF32.size()] : (low & 0x807fffff) | (120 + high % 14) << 23;
    case 2:  // f32 and bf16 at the ends of the range
      return (low & 0x807fffff) | (high % 2 == 0 ? high / 2 % 30 : 225 + high / 2 % 30) << 23;
    case 3:  // i32
      return special ? kSpecialI32[high / 11 % kSpecialI32.size()]
                     : static_cast<uint32_t>(static_cast<int32_t>(low) >> (high % 32));
    case 4:
      return low;  // any bits; int8
    default:
      return special ? kSpecialF32[high / 11 % kSpecialF32.size()]
                     : (low & 0x80008000) | 0x3f803f80;  // 1 and -1: sums that cancel
  }
}

/// Two bf16 from 1/8 to 16 and their negatives; as f32 it is one of them, nearly.
uint32_t plain_value(uint64_t seed, uint64_t address) {
  const auto bits = static_cast<uint32_t>(mix(seed, address / 4));
  return (bits & 0x807f807f) + 0x3e003e00 + (bits & 0x03000300);
}

std::vector<std::byte> filled(uint64_t bytes, uint64_t seed, bool plain) {
  std::vector<std::byte> memory(bytes);
  for (uint64_t i = 0; i < bytes; i += 4) {
    const uint32_t v = plain ? plain_value(seed, i) : value(seed, i);
    std::memcpy(&memory[i], &v, sizeof v);
  }
  return memory;
}

}  // namespace

Contents::Contents(const Program& program)
    : hbm_(filled(program.hbm_bytes != 0 ? program.hbm_bytes : memory_bytes(*program.chip), program.data_seed,
                  program.plain_data)),
      host_(filled(memory_bytes(*program.chip), program.data_seed + 1, program.plain_data)) {
  for (const auto& c : program.commands) commands_[c.queue].push_back(c.command);
  for (const HbmBytes& piece : program.contents)
    std::ranges::copy(piece.bytes, hbm_.begin() + static_cast<ptrdiff_t>(piece.address));
}

const spec::Command* Contents::find_command(uint64_t address) const {
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
    const uint64_t at = address - command_address(q, 0);
    if (at % WEFT_COMMAND_BYTES == 0 && at / WEFT_COMMAND_BYTES < commands_[q].size())
      return &commands_[q][at / WEFT_COMMAND_BYTES];
  }
  return nullptr;
}

std::byte* Contents::find(weft_address_space space, uint64_t address, uint64_t bytes) {
  if (space != WEFT_ADDRESS_SPACE_HBM && space != WEFT_ADDRESS_SPACE_HOST) return nullptr;
  auto& memory = space == WEFT_ADDRESS_SPACE_HOST ? host_ : hbm_;
  return address <= memory.size() && bytes <= memory.size() - address ? memory.data() + address : nullptr;
}

bool Contents::read(weft_address_space space, uint64_t address, std::span<std::byte> out) {
  if (space == WEFT_ADDRESS_SPACE_HBM && address >= command_address(0, 0)) {
    const spec::Command* command = find_command(address);
    if (command == nullptr || out.size() != command->bytes.size()) return false;
    std::memcpy(out.data(), command->bytes.data(), out.size());
    return true;
  }
  const std::byte* at = find(space, address, out.size());
  if (at != nullptr) std::memcpy(out.data(), at, out.size());
  return at != nullptr;
}

bool Contents::write(weft_address_space space, uint64_t address, std::span<const std::byte> data) {
  std::byte* at = find(space, address, data.size());
  if (at != nullptr) std::memcpy(at, data.data(), data.size());
  return at != nullptr;
}

RandomBus::RandomBus(const spec::Chip& chip, Contents& contents, bool jitter, uint64_t seed)
    : contents_(contents),
      chip_(chip),
      jitter_(jitter),
      seed_(seed),
      bytes_per_cycle_(std::max<uint64_t>(1, chip.hbm_bytes_per_second / chip.clock_hz)) {}

uint64_t RandomBus::book(uint64_t bytes, uint64_t cycle, uint64_t latency, uint64_t& last) {
  free_ = std::max(free_, cycle * bytes_per_cycle_) + bytes;
  if (jitter_) latency += mix(seed_, bookings_++) % 8 == 0 ? latency * 2 : 0;
  last = std::max(last, (free_ + bytes_per_cycle_ - 1) / bytes_per_cycle_ + latency);
  return last;
}
uint64_t RandomBus::schedule_read(weft_address_space space, uint64_t bytes, uint64_t cycle) {
  return book(bytes, cycle, chip_.hbm_read_latency_cycles, last_read_.at(space));
}
uint64_t RandomBus::schedule_write(weft_address_space space, uint64_t bytes, uint64_t cycle) {
  return book(bytes, cycle, chip_.hbm_write_latency_cycles, last_write_.at(space));
}
bool RandomBus::congested(weft_address_space space, uint64_t cycle) const {
  return free_ > (cycle + 64) * bytes_per_cycle_ || (jitter_ && mix(seed_ + space, cycle) % 4 == 0);
}

}  // namespace weft::random
