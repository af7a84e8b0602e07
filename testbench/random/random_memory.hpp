/// HBM and host memory of a random program: contents from a seed, and timing that may vary.
#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "model/core/memory_bus.hpp"
#include "model/golden/core_state.hpp"
#include "testbench/random/random_program.hpp"

namespace weft::random {

/// The bytes of both spaces, and the commands of the queues in HBM.
class Contents final : public golden::MemoryAccess {
 public:
  /// Random numbers of every type, among them infinities, NaN, subnormals, zeros of both signs and extremes, or plain
  /// ones. A byte depends on the program's data_seed and on its address only.
  explicit Contents(const Program& program);
  [[nodiscard]] bool read(weft_address_space space, uint64_t address, std::span<std::byte> out) override;
  [[nodiscard]] bool write(weft_address_space space, uint64_t address, std::span<const std::byte> data) override;
  [[nodiscard]] const std::vector<std::byte>& bytes(weft_address_space space) const {
    return space == WEFT_ADDRESS_SPACE_HOST ? host_ : hbm_;
  }

 private:
  [[nodiscard]] std::byte* find(weft_address_space space, uint64_t address, uint64_t bytes);
  [[nodiscard]] const spec::Command* find_command(uint64_t address) const;
  std::vector<std::byte> hbm_, host_;
  std::array<std::vector<spec::Command>, WEFT_CORE_QUEUES> commands_;  // at command_address(); read only
};

/// What a core sees: the contents, with the chip's bandwidth and latency, or with jitter: three times the latency now
/// and then, and refusals in a quarter of the cycles.
class RandomBus final : public core::MemoryBus {
 public:
  RandomBus(const spec::Chip& chip, Contents& contents, bool jitter, uint64_t seed);
  bool read(weft_address_space space, uint64_t address, std::span<std::byte> out) override {
    return contents_.read(space, address, out);
  }
  bool write(weft_address_space space, uint64_t address, std::span<const std::byte> data) override {
    return contents_.write(space, address, data);
  }
  uint64_t schedule_read(weft_address_space space, uint64_t bytes, uint64_t cycle) override;
  uint64_t schedule_write(weft_address_space space, uint64_t bytes, uint64_t cycle) override;
  [[nodiscard]] bool congested(weft_address_space space, uint64_t cycle) const override;

 private:
  uint64_t book(uint64_t bytes, uint64_t cycle, uint64_t latency, uint64_t& last);
  Contents& contents_;
  const spec::Chip& chip_;
  const bool jitter_;
  const uint64_t seed_;
  const uint64_t bytes_per_cycle_;
  uint64_t free_ = 0;  // in bytes of bandwidth since cycle 0
  uint64_t bookings_ = 0;
  std::array<uint64_t, WEFT_ADDRESS_SPACE_HOST + 1> last_read_{}, last_write_{};
};

}  // namespace weft::random
