/// Wall-clock time of an empty launch, from its submission to its completion seen by the caller, one at a time: what
/// driver, socket, firmware and interrupt cost the host. Fast core, nano.
///
///   launch_latency [--json] [--runs N]        default: 2000 runs after 200 that are not counted
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "testbench/system/empty_program.hpp"
#include "weft/weft.h"

namespace {

constexpr unsigned kWarmUpRuns = 200;

int fail(weft_status status) {
  weft_error_info info = WEFT_INIT(weft_error_info);
  (void)!weft_last_error(&info);
  fmt::print(stderr, "launch_latency: {}: {}\n", weft_status_name(status), info.message);
  return 1;
}

/// Launches and waits `runs` times; microseconds of each, in order of time.
weft_status measure(weft_queue* queue, weft_kernel* kernel, unsigned runs, std::vector<double>& microseconds) {
  using Clock = std::chrono::steady_clock;
  for (unsigned i = 0; i < runs; i++) {
    weft_event* event = nullptr;
    const auto begin = Clock::now();
    auto status = weft_launch(queue, kernel, nullptr, 0, nullptr, &event);
    if (status != WEFT_ERROR_OK) return status;
    status = weft_event_wait(event, nullptr);
    microseconds.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    weft_event_release(event);
    if (status != WEFT_ERROR_OK) return status;
  }
  return WEFT_ERROR_OK;
}

int run(weft_device* device, unsigned runs, bool json) {
  const auto executable = weft::test::empty_executable(*weft::spec::find_chip("nano"));
  weft_queue* queue = nullptr;
  weft_program* program = nullptr;
  weft_kernel* kernel = nullptr;
  if (const auto s = weft_queue_create(device, nullptr, &queue); s != WEFT_ERROR_OK) return fail(s);
  if (const auto s = weft_program_load(device, executable.value().data(), executable.value().size(), &program);
      s != WEFT_ERROR_OK)
    return fail(s);
  if (const auto s = weft_program_get_kernel(program, 0, &kernel); s != WEFT_ERROR_OK) return fail(s);
  std::vector<double> times;
  if (const auto s = measure(queue, kernel, kWarmUpRuns, times); s != WEFT_ERROR_OK) return fail(s);
  times.clear();
  if (const auto s = measure(queue, kernel, runs, times); s != WEFT_ERROR_OK) return fail(s);
  weft_device_statistics statistics = WEFT_INIT(weft_device_statistics);
  if (const auto s = weft_device_get_statistics(device, &statistics); s != WEFT_ERROR_OK) return fail(s);
  weft_program_release(program);
  if (const auto s = weft_queue_release(queue); s != WEFT_ERROR_OK) return fail(s);

  std::sort(times.begin(), times.end());
  const auto at = [&times](double fraction) {
    return times[static_cast<size_t>(fraction * static_cast<double>(times.size() - 1))];
  };
  if (json) {
    const nlohmann::ordered_json out = {{"runs", runs},           {"median_us", at(0.5)},
                                        {"p99_us", at(0.99)},     {"min_us", times.front()},
                                        {"max_us", times.back()}, {"lost_interrupts", statistics.lost_interrupts}};
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print(
        "empty launch on nano, fast core, {} runs: median {:.1f} us, p99 {:.1f} us, min {:.1f} us, max {:.1f} us, lost "
        "interrupts {}\n",
        runs, at(0.5), at(0.99), times.front(), times.back(), statistics.lost_interrupts);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Wall-clock time of an empty launch on nano's fast core."};
  bool json = false;
  unsigned runs = 2000;
  app.add_flag("--json", json, "print JSON");
  app.add_option("--runs", runs, "launches")->capture_default_str()->check(CLI::Range(1u, 1000000u));
  CLI11_PARSE(app, argc, argv);
  weft_device* device = nullptr;
  if (const auto s = weft_open("sim:nano?core=fast", &device); s != WEFT_ERROR_OK) return fail(s);
  const int result = run(device, runs, json);
  if (const auto s = weft_close(device, nullptr); s != WEFT_ERROR_OK) return fail(s);
  return result;
}
