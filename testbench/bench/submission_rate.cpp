/// How fast commands pass, in wall-clock time:
///   batches: empty commands a second through one queue of weft-sim (fast core, nano), one doorbell a batch
///   single:  submission to completion seen by the caller, one command at a time
///   rings:   entries a second of processor time of the driver's ring code alone (ids, entry, CRC, both rings) against
///            a null device
///
///   submission_rate [--json] [--batch N] [--seconds S] [--runs N] [--device NAME]
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "submission_measures.hpp"

namespace {

using namespace weft::bench;

struct Options {
  bool json = false;
  uint32_t batch = 64;
  double seconds = 2;
  uint32_t runs = 2000;
  std::string device = "sim:nano?core=fast";
};

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
