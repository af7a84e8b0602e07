/// The rings in the memory of the server's client (fill_host_memory()), as a driver goes on with them: entries that are
/// sealed for the lap in which they lie, round after round.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "testbench/fuzz/vfio_user_session.hpp"
#include "weft/spec/spec.h"

namespace weft::fuzz {

/// Where they lie, and how many entries each has.
inline constexpr uint64_t kAdminSubmission = 0x1000, kAdminCompletion = 0x2000, kSubmission = 0xa000,
                          kCompletion = 0xb000;
inline constexpr uint32_t kRingEntries = 16;

/// Puts an entry at a free-running index of a ring, its id and its check made for that place.
void put_sealed(std::span<std::byte> memory, uint64_t ring, uint32_t index, weft_submission_entry entry);

/// Bytes of a step of Action::kSubmit: the queue (0: admin, 1), then entries.
[[nodiscard]] std::vector<uint8_t> submission_of(uint8_t queue, std::span<const weft_submission_entry> entries);

class HostRings {
 public:
  /// `memory` as fill_host_memory() left it: three admin entries and four of queue 1 lie there.
  explicit HostRings(std::span<std::byte> memory) : memory_(memory) {}

  /// Puts the entries of such a step behind those that are there, at most a ring of them; any bytes are entries.
  /// Returns the doorbells as messages: the head of the completions that have come, and the tail.
  std::vector<Step> submit(std::span<const uint8_t> submission);

 private:
  struct Ring {
    uint64_t submission, completion;
    uint32_t tail, completion_head;
  };
  void take_completions(Ring& ring) const;

  static constexpr unsigned kQueues = 2;
  std::span<std::byte> memory_;
  std::array<Ring, kQueues> rings_{Ring{kAdminSubmission, kAdminCompletion, 3, 0},
                                   Ring{kSubmission, kCompletion, 4, 0}};
  uint16_t message_id_ = 0x8000;
};

}  // namespace weft::fuzz
