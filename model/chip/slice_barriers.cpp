// Arrivals, signatures, and groups that wait for each other.
#include "model/chip/slice_barriers.hpp"

#include <algorithm>
#include <iterator>

#include "model/golden/remote.hpp"

namespace weft::chip {

SliceBarriers::Key SliceBarriers::key_of(const spec::BarrierCommand& c) {
  return {c.base, c.count0, c.count1, c.count2, c.stride0, c.stride1, c.stride2};
}

/// Each waits for a chip that waits at the other: neither can end.
bool SliceBarriers::crossed(const Barrier& a, const Barrier& b) {
  const auto holds_waiting = [](const Barrier& group, const Barrier& waiting) {
    return std::ranges::any_of(waiting.signatures,
                               [&](const auto& w) { return std::ranges::binary_search(group.group, w.first); });
  };
  return !a.failure && !b.failure && holds_waiting(a, b) && holds_waiting(b, a);
}

void SliceBarriers::fail(Barrier& barrier, const golden::Fault& fault, std::vector<Release>& released) {
  barrier.failure = fault;
  for (const auto& [chip, signature] : barrier.signatures) released.push_back({chip, fault});
}

std::vector<SliceBarriers::Release> SliceBarriers::arrive(uint32_t chip, const spec::BarrierCommand& command) {
  std::vector<Release> released;
  Barrier& barrier = barriers_[key_of(command)];
  if (barrier.failure && barrier.signatures.contains(chip)) barrier = {};  // another round
  if (barrier.group.empty()) {
    barrier.group = golden::barrier_group(command);
    std::ranges::sort(barrier.group);
  }
  const auto mismatch = golden::ici_fault(WEFT_ICI_CAUSE_BARRIER_MISMATCH, chip, command.signature);
  const bool differs = !barrier.signatures.empty() && barrier.signatures.begin()->second != command.signature;
  barrier.signatures[chip] = command.signature;
  if (barrier.failure) {
    released.push_back({chip, barrier.failure});
  } else if (differs) {
    fail(barrier, mismatch, released);
  } else {
    for (auto& [key, other] : barriers_) {
      if (&other == &barrier || !crossed(barrier, other)) continue;
      fail(other, mismatch, released);
      fail(barrier, mismatch, released);
      break;
    }
  }
  if (barrier.signatures.size() < barrier.group.size()) return released;
  if (!barrier.failure)
    for (const uint32_t member : barrier.group) released.push_back({member, std::nullopt});
  barriers_.erase(key_of(command));
  return released;
}

void SliceBarriers::forget(uint32_t chip) {
  for (auto entry = barriers_.begin(); entry != barriers_.end();) {
    Barrier& barrier = entry->second;
    // one that has failed has released who waited; who has not come is still to be told
    if (!barrier.failure) barrier.signatures.erase(chip);
    entry = barrier.signatures.empty() ? barriers_.erase(entry) : std::next(entry);
  }
}

}  // namespace weft::chip
