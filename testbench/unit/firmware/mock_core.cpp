// The scripted core.
#include "mock_core.hpp"

#include <algorithm>
#include <cstring>

namespace mock {
namespace {
constexpr uint64_t kNever = UINT64_MAX;
}

bool Core::busy() const {
  return std::any_of(units_.begin(), units_.end(),
                     [](const Unit& u) { return u.active || !u.queue.empty() || u.fetches(); });
}

void Core::reset() {
  for (Unit& u : units_) u = Unit{};
  interrupt_ = first_accept_ = last_retire_ = fault_word_ = fault_address_ = fault_cycle_ = 0;
  stopped_ = false;
  resets++;
}

void Core::fault(uint32_t code, uint32_t queue, uint16_t tag, uint64_t address, uint64_t cycle) {
  stopped_ = true;
  interrupt_ |= 1;
  fault_word_ = code | (4u << 8) | (queue << 16) | (uint64_t{tag} << 32);
  fault_address_ = address;
  fault_cycle_ = cycle;
}

void Core::start(uint32_t queue, uint64_t cycle) {
  Unit& u = units_[queue];
  if (stopped_ || u.active || u.queue.empty()) return;
  const Command command = u.queue.front();
  u.tag = static_cast<uint16_t>(command[2] | command[3] << 8);
  if (fault_code != 0 && queue == fault_queue && u.started == fault_command)
    return fault(fault_code, queue, u.tag, fault_address, cycle);
  u.queue.pop_front();
  on_start(u.version.front() == 1 ? 1 : 0, u.tag);
  if (u.version.front() != kPushed) u.fetch[static_cast<size_t>(u.version.front())].inside--;
  u.version.pop_front();
  u.active = true;
  u.done_cycle =
      (static_cast<int>(queue) == hang_queue && u.started == hang_command) ? kNever : cycle + service_cycles[queue];
  u.started++;
}

void Core::accept(uint32_t queue, const uint8_t* command, int version, uint64_t cycle) {
  Command copy;
  std::memcpy(copy.data(), command, copy.size());
  accepted[queue].push_back(copy);
  accepted_cycle[queue].push_back(cycle);
  if (first_accept_ == 0) first_accept_ = progress_cycle_ = cycle;
  units_[queue].queue.push_back(copy);
  units_[queue].version.push_back(version);
  start(queue, cycle);
}

bool Core::push(uint32_t queue, const uint8_t* command, uint64_t now) {
  advance(now);
  if (!has_room(units_[queue]) || units_[queue].fetches()) return false;
  accept(queue, command, kPushed, now);
  return true;
}

void Core::feed(uint64_t cycle) {
  for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    Unit& u = units_[q];
    while (!stopped_ && u.fetches() && u.next_fetch().cycle <= cycle && has_room(u)) {
      if (u.fetch[u.serving].left == 0) u.serving ^= 1;
      Fetch& fetch = u.fetch[u.serving];
      const uint8_t* command = read_command(fetch.address);
      if (command == nullptr) return fault(WEFT_FAULT_COMMAND_FETCH, q, 0, fetch.address, cycle);
      fetch.address += WEFT_COMMAND_BYTES;
      fetch.left--;
      fetch.inside++;
      accept(q, command, static_cast<int>(u.serving), cycle);
    }
  }
}

uint64_t Core::next_event() const {
  if (stopped_) return kNever;
  uint64_t next = kNever;
  for (const Unit& u : units_) {
    if (u.active) next = std::min(next, u.done_cycle);
    if (u.fetches() && has_room(u)) next = std::min(next, u.next_fetch().cycle);
  }
  if (!watchdog_dead && watchdog_limit_ != 0 && busy()) next = std::min(next, progress_cycle_ + watchdog_limit_);
  return next;
}

void Core::advance(uint64_t now) {
  for (;;) {
    const uint64_t cycle = next_event();
    if (cycle > now) return;
    const bool fetched = std::any_of(units_.begin(), units_.end(), [cycle](const Unit& u) {
      return u.fetches() && has_room(u) && u.next_fetch().cycle == cycle;
    });
    bool retired = false;
    const uint32_t used = versions_used();
    for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
      Unit& u = units_[q];
      if (!u.active || u.done_cycle != cycle) continue;
      u.active = false;
      u.retired++;
      last_retire_ = progress_cycle_ = cycle;
      retired = true;
      start(q, cycle);
    }
    if (!retired && !fetched) return fault(WEFT_FAULT_WATCHDOG, 0, 0, 0, cycle);
    feed(cycle);
    tell_freed(used);
    if (!busy()) interrupt_ |= 2;
  }
}

uint64_t Core::read(uint32_t offset, uint64_t now) {
  advance(now);
  const uint32_t queue = (offset & 0x3f) / 8;
  if (offset >= WEFT_CSR_QUEUE_LEVEL && offset < WEFT_CSR_QUEUE_LEVEL + 40) return units_[queue].queue.size();
  if (offset >= WEFT_CSR_PREFETCH_COUNT && offset < WEFT_CSR_PREFETCH_COUNT + 40)
    return units_[queue].fetch[0].left + units_[queue].fetch[1].left;
  if (offset >= WEFT_CSR_QUEUE_RETIRED && offset < WEFT_CSR_QUEUE_RETIRED + 40) return units_[queue].retired;
  if (offset >= WEFT_CSR_QUEUE_HEAD_TAG && offset < WEFT_CSR_QUEUE_HEAD_TAG + 40) {
    return units_[queue].queue.empty()
               ? 0
               : (uint64_t{1} << 16 | units_[queue].queue.front()[2] | units_[queue].queue.front()[3] << 8);
  }
  if (offset >= WEFT_CSR_SEMAPHORE && offset < WEFT_CSR_SEMAPHORE + 8 * WEFT_SEMAPHORES)
    return leftover[(offset - WEFT_CSR_SEMAPHORE) / 8];
  switch (offset) {
    case WEFT_CSR_STATUS:
      return (reset_stuck || busy() ? 1u : 0u) | (stopped_ ? 6u : 0u);
    case WEFT_CSR_CYCLE:
      return now;
    case WEFT_CSR_INTERRUPT:
      return deaf ? 0 : interrupt_;
    case WEFT_CSR_SEMAPHORE_NONZERO: {
      uint64_t bits = 0;
      for (unsigned i = 0; i < leftover.size(); i++) bits |= uint64_t{leftover[i] != 0} << i;
      return bits;
    }
    case WEFT_CSR_PREFETCH_STATUS:
      return uint64_t{versions_used()} << 24;
    case WEFT_CSR_FIRST_ACCEPT_CYCLE:
      return first_accept_;
    case WEFT_CSR_LAST_RETIRE_CYCLE:
      return last_retire_;
    case WEFT_CSR_FAULT_CODE:
      return fault_word_;
    case WEFT_CSR_FAULT_ADDRESS:
      return fault_address_;
    case WEFT_CSR_FAULT_CYCLE:
      return fault_cycle_;
    default:
      return registers_[offset];
  }
}

void Core::write(uint32_t offset, uint64_t value, uint64_t now) {
  advance(now);
  if (offset == WEFT_CSR_CONTROL && (value & 1) != 0)
    reset();
  else if (offset == WEFT_CSR_INTERRUPT)
    interrupt_ &= ~value;
  else if (offset >= WEFT_CSR_PREFETCH_COUNT && offset < WEFT_CSR_PREFETCH_COUNT + 40)
    start_fetch((offset - WEFT_CSR_PREFETCH_COUNT) / 8, value, now);
  else if (offset >= WEFT_CSR_SEGMENT_BASE &&
           offset < WEFT_CSR_SEGMENT_BASE + WEFT_SEGMENTS * WEFT_CSR_SEGMENT_BASE_STRIDE &&
           (offset - WEFT_CSR_SEGMENT_BASE) % WEFT_CSR_SEGMENT_BASE_STRIDE == 0) {
    const uint32_t segment = (offset - WEFT_CSR_SEGMENT_BASE) / WEFT_CSR_SEGMENT_BASE_STRIDE;
    for (unsigned version = 0; version < 2; version++)
      if ((value >> version & 1) == 0) bases_[version][segment] = value & ~uint64_t{15};
  } else {
    registers_[offset] = value;
    if (offset == WEFT_CSR_WATCHDOG_LIMIT) watchdog_limit_ = value;
  }
}

uint32_t Core::versions_used() const {
  uint32_t used = 0;
  for (const Unit& u : units_)
    for (unsigned version = 0; version < 2; version++)
      if (u.fetch[version].left != 0 || u.fetch[version].inside != 0) used |= 1u << version;
  return used;
}

void Core::tell_freed(uint32_t used_before) {
  const uint32_t used = versions_used();
  if (used != 0 && (used_before & ~used) != 0) interrupt_ |= 8;
}

void Core::start_fetch(uint32_t queue, uint64_t value, uint64_t now) {
  Unit& u = units_[queue];
  const unsigned version = value >> 32 & 1;
  Fetch& fetch = u.fetch[version];
  const uint64_t base = registers_[WEFT_CSR_PREFETCH_BASE + queue * WEFT_CSR_PREFETCH_BASE_STRIDE];
  if (fetch.left != 0 || value >> 33 != 0 || (base & 1) != version) {
    refused_fetches++;
    return;
  }
  if (!u.fetches()) u.serving = version;
  fetch.address = base & ~uint64_t{WEFT_COMMAND_BYTES - 1};
  fetch.left = value & UINT32_MAX;
  fetch.cycle = now + fetch_cycles;
  progress_cycle_ = now;
}

}  // namespace mock
