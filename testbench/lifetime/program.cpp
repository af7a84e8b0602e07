#include "testbench/lifetime/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "testbench/lifetime/caller.hpp"

namespace weft::lifetime {
namespace {

uint64_t seed_of(uint64_t seed, uint64_t index) {
  uint64_t z = seed * 0x9e3779b97f4a7c15 + index + 1;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

size_t entries_of(const char* folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

/// "17 anon_inode:[eventfd], 2 socket"
std::string describe_descriptors() {
  std::map<std::string, size_t> kinds;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string name = std::filesystem::read_symlink(file.path(), none).string();
    kinds[name.substr(0, name.find_first_of("0123456789"))]++;
  }
  std::string text;
  for (const auto& [name, count] : kinds) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text;
}

struct Holdings {
  size_t descriptors = entries_of("/proc/self/fd");
  size_t threads = entries_of("/proc/self/task");
  bool operator==(const Holdings&) const = default;
};

/// In any order of devices: half of the programs end everything first, half close in the middle of it.
void end_program(World& world, Caller& caller, random::Draw& draw) {
  const bool quiet = draw.once_in(2);
  if (quiet) {
    world.keep_promises();
    world.calm_callbacks();
    caller.await_ends();
    caller.release_all();
  }
  for (const auto& device : world.devices.all()) {
    world.devices.remove(device.get());
    if (!quiet) {
      device->claim_soon();
    } else if (!device->claim()) {
      world.fail("a device is still pinned");
      continue;
    }
    if (quiet) caller.check_memory(*device);
    caller.close_device(device, draw.one_of<uint32_t>({1, 5}));
  }
  if (!quiet) {
    for (int i = 0; i < 60; i++) caller.act();  // on what is closed; a few open devices anew, and close them
    caller.end_transfers();
    for (const auto& device : world.devices.all()) {
      world.devices.remove(device.get());
      device->claim_soon();
      caller.close_device(device, 1);
    }
    world.keep_promises();
    caller.release_all();
  }
}

/// What can be told only when all threads have ended.
void judge_callbacks(World& world, Promptness& promptness) {
  for (const auto& device : world.all_devices) {
    const std::lock_guard lock(device->mutex);
    if (!device->suspects.empty() && !device->halts_anywhere)
      world.fail(
          fmt::format("{} ended with BAD_DOORBELL; nobody armed one for its queue", device->suspects.front()->what));
    for (const auto& event : device->events) {
      const uint32_t calls = event->calls;
      if (calls != (event->callback_accepted ? 1u : 0u))
        world.fail(fmt::format("the callback of {} was called {} times", event->what, calls));
      if (event->callback_accepted) world.findings.checked("callback");
      if (event->due_us == 0 || event->called_us < event->due_us) continue;
      promptness.callbacks++;
      if (event->called_us - std::max(event->due_us.load(), event->free_us.load()) > Promptness::kLateUs)
        promptness.late++;
    }
    device->suspects.clear();
    device->events.clear();  // each of which keeps its device
  }
}

}  // namespace

void run_program(const Options& options, uint64_t index, Counts& counts, Findings& findings, Promptness& promptness) {
  const Holdings before;
  const uint64_t seed = seed_of(options.seed, index);
  random::Draw draw(seed);
  {
    World world(options, seed, counts, findings, promptness);
    world.calls_left = static_cast<int64_t>(options.calls_per_program);
    Caller caller(world, draw.bits(), "main");
    const uint64_t devices = options.simulator ? 1 : draw.between(1, 2);
    for (uint64_t i = 0; i < devices; i++)
      if (caller.open_device() == nullptr) return;
    for (int i = 0; i < 4; i++) caller.create_queue();
    for (int i = 0; i < 3; i++) caller.create_semaphore();
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < options.threads; t++)
      threads.emplace_back([&world, seed = draw.bits()] {
        Caller mine(world, seed, "caller");
        while (world.calls_left > 0 && !world.failed()) mine.act();
        mine.end_transfers();
      });
    for (auto& thread : threads) thread.join();
    end_program(world, caller, draw);
    judge_callbacks(world, promptness);
  }
  const int64_t last_us = now_us() + options.slack_ms * 1000;
  Holdings after;
  while (!(after == before) && now_us() < last_us) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    after = Holdings();
  }
  findings.checked("descriptors and threads at the end");
  if (!(after == before))
    findings.report(
        fmt::format("after everything was closed the process has {} descriptors and {} threads, {} and {} before: {}",
                    after.descriptors, after.threads, before.descriptors, before.threads, describe_descriptors()));
}

}  // namespace weft::lifetime
