/// How fast commands pass, in wall-clock time:
///   batches: empty commands a second through one queue of weft-sim (fast core, nano), one doorbell a batch
///   single:  submission to completion seen by the caller, one command at a time
///   rings:   entries a second of processor time of the driver's ring code alone (ids, entry, CRC, both rings) against
///            a null device
///
///   submission_rate [--json] [--batch N] [--seconds S] [--runs N] [--device NAME]
#include <fmt/core.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/queue/command_ids.hpp"
#include "driver/queue/ring.hpp"
#include "weft/weft.h"

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Options {
  bool json = false;
  uint32_t batch = 64;
  double seconds = 2;
  uint32_t runs = 2000;
  std::string device = "sim:nano?core=fast";
};

struct Batches {
  double commands_per_second = 0;
  uint64_t commands = 0;
};

struct Latency {
  double median_us = 0;
  double p99_us = 0;
};

void check(weft_status status) {
  if (status == WEFT_ERROR_OK) return;
  weft_error_info info = WEFT_INIT(weft_error_info);
  (void)!weft_last_error(&info);
  throw std::runtime_error(fmt::format("{}: {}", weft_status_name(status), info.message));
}

/// Keeps `kDepth` batches in flight, so that the host prepares one while the device runs another.
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

/// Entries a second of processor time.
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

void print(const Options& options, const Batches& batches, const Latency& single, double rings) {
  if (options.json) {
    const nlohmann::ordered_json out = {{"batch", options.batch},
                                        {"commands", batches.commands},
                                        {"commands_per_second", batches.commands_per_second},
                                        {"single_median_us", single.median_us},
                                        {"single_p99_us", single.p99_us},
                                        {"ring_entries_per_second", rings}};
    fmt::print("{}\n", out.dump(2));
    return;
  }
  fmt::print("batches of {}: {:.0f} empty commands a second ({} in all) on {}\n", options.batch,
             batches.commands_per_second, batches.commands, options.device);
  fmt::print("single: median {:.1f} us, p99 {:.1f} us, {} runs\n", single.median_us, single.p99_us, options.runs);
  fmt::print("rings alone: {:.1f} million entries a second of processor time\n", rings / 1e6);
}

void run(const Options& options) {
  weft_device* device = nullptr;
  weft_queue* queue = nullptr;
  check(weft_open(options.device.c_str(), &device));
  check(weft_queue_create(device, nullptr, &queue));
  (void)measure_batches(queue, options.batch, options.seconds / 10);
  const Batches batches = measure_batches(queue, options.batch, options.seconds);
  (void)measure_single(queue, options.runs / 10);
  const Latency single = measure_single(queue, options.runs);
  check(weft_queue_release(queue));
  check(weft_close(device, nullptr));
  print(options, batches, single, measure_rings(options.batch, options.seconds));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"How fast commands pass through queue, firmware and rings."};
  Options options;
  app.add_flag("--json", options.json, "print JSON");
  app.add_option("--batch", options.batch, "commands a doorbell")->capture_default_str()->check(CLI::Range(1u, 256u));
  app.add_option("--seconds", options.seconds, "time of each measurement")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 600.0));
  app.add_option("--runs", options.runs, "single commands")->capture_default_str()->check(CLI::Range(10u, 10000000u));
  app.add_option("--device", options.device, "device to open")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
  } catch (const std::exception& e) {
    fmt::print(stderr, "submission_rate: {}\n", e.what());
    return 1;
  }
  return 0;
}
