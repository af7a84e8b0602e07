#include "submission_measures.hpp"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "driver/queue/command_ids.hpp"
#include "driver/queue/ring.hpp"

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Completes every entry at once, as a device does: entry read, completion written, phase last.
class NullDevice {
 public:
  NullDevice(const weft_submission_entry* submission, std::byte* completion, uint32_t entries)
      : submission_(submission), completion_(completion), entries_(entries) {}

  void doorbell(uint32_t tail) {
    for (; head_ != tail; head_++) {
      const weft_submission_entry& entry = submission_[head_ & (entries_ - 1)];
      weft_completion_entry done{};
      done.tag = entry.tag;
      done.queue_head = tail;
      done.command_id = entry.command_id;
      done.status = weft::driver::ring_phase(head_, entries_);
      constexpr size_t kLastWord = offsetof(weft_completion_entry, command_id);
      std::byte* place = completion_ + size_t{head_ & (entries_ - 1)} * sizeof done;
      std::memcpy(place, &done, kLastWord);
      uint64_t last = 0;
      std::memcpy(&last, reinterpret_cast<const std::byte*>(&done) + kLastWord, sizeof last);
      __atomic_store_n(reinterpret_cast<uint64_t*>(place + kLastWord), last, __ATOMIC_RELEASE);  // pairs with peek()
    }
  }

 private:
  const weft_submission_entry* submission_;
  std::byte* completion_;
  uint32_t entries_;
  uint32_t head_ = 0;
};

/// Of this thread: what other processes take from the machine does not count.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

void check(weft_status status) {
  if (status == WEFT_ERROR_OK) return;
  weft_error_info info = WEFT_INIT(weft_error_info);
  (void)!weft_last_error(&info);
  throw std::runtime_error(fmt::format("{}: {}", weft_status_name(status), info.message));
}

Batches measure_batches(weft_queue* queue, uint32_t batch, double seconds) {
  constexpr size_t kDepth = 4;
  std::vector<weft_event*> last(kDepth, nullptr);
  std::vector<weft_command> commands(batch, WEFT_INIT(weft_command));
  for (weft_command& command : commands) command.opcode = WEFT_QUEUE_OPCODE_NOP;
  const auto finish = [](weft_event*& event) {
    if (event == nullptr) return;
    check(weft_event_wait(event, nullptr));
    weft_event_release(event);
    event = nullptr;
  };
  Batches result;
  const auto begin = Clock::now();
  while (Seconds(Clock::now() - begin).count() < seconds) {
    weft_event*& event = last[result.commands / batch % kDepth];
    finish(event);
    commands.back().event = &event;
    check(weft_submit(queue, commands.data(), batch));
    result.commands += batch;
  }
  for (weft_event*& event : last) finish(event);
  result.commands_per_second = static_cast<double>(result.commands) / Seconds(Clock::now() - begin).count();
  return result;
}

Latency measure_single(weft_queue* queue, uint32_t runs) {
  std::vector<double> times;
  for (uint32_t i = 0; i < runs; i++) {
    weft_event* event = nullptr;
    const auto begin = Clock::now();
    check(weft_nop(queue, nullptr, &event));
    check(weft_event_wait(event, nullptr));
    times.push_back(Seconds(Clock::now() - begin).count() * 1e6);
    weft_event_release(event);
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[(times.size() - 1) * 99 / 100]};
}

double measure_rings(uint32_t batch, double seconds) {
  using namespace weft::driver;
  constexpr uint32_t kEntries = 1024;
  alignas(64) static weft_submission_entry submission_memory[kEntries];
  alignas(64) static std::byte completion_memory[kEntries * sizeof(weft_completion_entry)];
  SubmissionRing submission(submission_memory, kEntries);
  CompletionRing completion(completion_memory, kEntries);
  CommandIds<uint32_t> ids(kEntries);
  NullDevice device(submission_memory, completion_memory, kEntries);
  uint64_t entries = 0;
  const double begin = cpu_seconds();
  do {
    for (uint32_t round = 0; round < 256; round++) {
      for (uint32_t i = 0; i < batch; i++) {
        weft_submission_entry entry{};
        entry.opcode = WEFT_QUEUE_OPCODE_NOP;
        entry.tag = i;
        entry.command_id = *ids.acquire(i);
        submission.push(entry);
      }
      submission.publish();
      device.doorbell(submission.tail());
      for (auto done = completion.peek(); done; done = completion.peek()) {
        completion.pop();
        if (!submission.advance_head(done->queue_head) || ids.match(done->command_id) != IdMatch::kOutstanding ||
            ids.release(done->command_id) != done->tag)
          throw std::runtime_error("the rings lost an entry");
        entries++;
      }
    }
  } while (cpu_seconds() - begin < seconds);
  return static_cast<double>(entries) / (cpu_seconds() - begin);
}

}  // namespace weft::bench
