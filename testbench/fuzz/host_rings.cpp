// Entries into rings, completions out of them, doorbells.
#include "testbench/fuzz/host_rings.hpp"

#include <linux/vfio.h>

#include <algorithm>
#include <cstring>

#include "driver/queue/ring.hpp"
#include "testbench/fuzz/fuzz_target.hpp"

namespace weft::fuzz {
namespace {

constexpr uint64_t kDoorbellStride = 8, kCompletionDoorbell = 4;

Step doorbell(uint16_t id, uint64_t offset, uint32_t value) {
  const spec::vfio_user::RegionAccess access{offset, VFIO_PCI_BAR2_REGION_INDEX, sizeof value};
  return message(id, spec::vfio_user::Command::kRegionWrite,
                 payload_of(access, {reinterpret_cast<const uint8_t*>(&value), sizeof value}),
                 spec::vfio_user::kFlagNoReply);
}

}  // namespace

void put_sealed(std::span<std::byte> memory, uint64_t ring, uint32_t index, weft_submission_entry entry) {
  entry.command_id = static_cast<uint16_t>(index);
  entry.crc32c = driver::submission_seal(entry, driver::ring_lap(index, kRingEntries));
  std::memcpy(&memory[ring + index % kRingEntries * sizeof entry], &entry, sizeof entry);
}

std::vector<uint8_t> submission_of(uint8_t queue, std::span<const weft_submission_entry> entries) {
  return payload_of(queue, {reinterpret_cast<const uint8_t*>(entries.data()), entries.size_bytes()});
}

std::vector<Step> HostRings::submit(std::span<const uint8_t> submission) {
  Input input(submission.data(), submission.size());
  const unsigned queue = input.take<uint8_t>() % kQueues;
  Ring& ring = rings_[queue];
  for (uint32_t i = 0; i < kRingEntries && !input.empty(); i++)
    put_sealed(memory_, ring.submission, ring.tail++, input.take<weft_submission_entry>());
  take_completions(ring);
  const uint64_t at = queue * kDoorbellStride;
  return {doorbell(message_id_++, at + kCompletionDoorbell, ring.completion_head),
          doorbell(message_id_++, at, ring.tail)};
}

/// Never more than a ring of them: what lies there is the device's.
void HostRings::take_completions(Ring& ring) const {
  for (uint32_t i = 0; i < kRingEntries; i++) {
    weft_completion_entry entry;
    std::memcpy(&entry, &memory_[ring.completion + ring.completion_head % kRingEntries * sizeof entry], sizeof entry);
    if (WEFT_STATUS_PHASE(entry.status) != driver::ring_phase(ring.completion_head, kRingEntries)) return;
    ring.completion_head++;
  }
}

}  // namespace weft::fuzz
