/// Device cycles of launches by the firmware's image: from the doorbell's arrival to the completion entry in host
/// memory, without a driver. Kernels without commands, with 0 and with 8 arguments, in an order that a seed draws, so
/// that launches begin at any phase of the manager's clock and anywhere in the rings. Every access of host memory and
/// every interrupt is a step; the same kernel must take the same cycles in each.
///
///   launch_cycles [--chip v5e] [--launches 1000] [--seed 1] [--json]
///
/// Exit code 0; 1: a launch failed, or a step took other cycles in another launch.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "model/chip/boundary.hpp"
#include "testbench/unit/chip/image_host.hpp"
#include "weft/spec/names.hpp"

namespace {

using namespace weft;

constexpr std::array<uint32_t, 2> kArguments{0, 8};  // of kernel 0 and 1

/// One step of a launch: what the device did to its host, and how many cycles after the doorbell.
struct Step {
  char what;  // r: read, w: write, c: completion entry, i: interrupt
  uint64_t cycles;
  friend bool operator==(const Step&, const Step&) = default;
};

class Steps final : public chip::Boundary {
 public:
  explicit Steps(chip::Simulation& simulation) : simulation_(simulation) {}
  void host_read(const chip::HostAccess&, std::span<std::byte>, bool) override { add('r'); }
  void host_written(const chip::HostAccess& access, std::span<const std::byte>, bool) override {
    add(access.by == chip::Accessor::kCompletion ? 'c' : 'w');
  }
  void interrupt(unsigned, unsigned) override { add('i'); }
  void wait_ends(unsigned, weft_wait_status) override {}
  void observer_resets(unsigned) override {}
  bool simulator_exits() override { return true; }

  void begin() {
    from_ = simulation_.cycle();
    steps.clear();
  }
  /// Cycles from the doorbell to the completion entry; 0 if the device wrote no entry.
  uint64_t completion() const {
    const auto found = std::ranges::find(steps, 'c', &Step::what);
    return found == steps.end() ? 0 : found->cycles;
  }
  std::vector<Step> steps;

 private:
  void add(char what) { steps.push_back({what, simulation_.cycle() - from_}); }
  chip::Simulation& simulation_;
  uint64_t from_ = 0;
};

struct Kernel {
  std::vector<Step> first;
  uint64_t cycles = 0, instructions = 0, launches = 0, different = 0;
  std::string difference;  ///< the first one
};

/// Where two launches part.
std::string told(const std::vector<Step>& a, const std::vector<Step>& b, uint64_t launch) {
  size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) at++;
  const auto text = [at](const std::vector<Step>& steps) {
    return at < steps.size() ? fmt::format("{} at {}", steps[at].what, steps[at].cycles) : std::string("none");
  };
  return fmt::format("launch {}, step {}: {}, first {}", launch, at, text(b), text(a));
}

/// What the device may take: `docs/figures.md`, image.
uint64_t budget(const spec::Chip& chip, uint32_t arguments) {
  const uint64_t cycles = 3 * chip.pcie_latency_cycles + chip.hbm_read_latency_cycles + 4000;
  return arguments == 0 ? cycles : cycles + 2000 + 2 * chip.pcie_latency_cycles;
}

int run(const std::string& preset, uint64_t launches, uint64_t seed, bool json) {
  test::ImageHost host(fw::embedded_image(), preset.c_str());
  if (!host.error.empty()) {
    fmt::print(stderr, "launch_cycles: {}\n", host.error);
    return 1;
  }
  host.boot();
  const uint64_t boot = host.instructions();
  if (host.create_queue() != WEFT_ERROR_OK || host.load({kArguments.begin(), kArguments.end()}) != WEFT_ERROR_OK) {
    fmt::print(stderr, "launch_cycles: the queue or the program was refused\n");
    return 1;
  }
  Steps steps(*host.simulation);
  host.simulation->set_boundary(&steps);
  std::array<Kernel, kArguments.size()> kernels;
  std::mt19937_64 random(seed);
  std::map<uint64_t, uint64_t> phases;  // of the manager's clock
  for (uint64_t i = 0; i < launches; i++) {
    Kernel& kernel = kernels[random() % kernels.size()];
    const auto number = static_cast<uint32_t>(&kernel - kernels.data());
    phases[host.simulation->cycle() % WEFT_MANAGER_CLOCK_DIVIDER]++;
    steps.begin();
    const weft_error status = host.launch(number);
    if (status != WEFT_ERROR_OK || steps.completion() == 0) {
      fmt::print(stderr, "launch_cycles: launch {} ended with {}\n", i, spec::error_name(status));
      return 1;
    }
    if (kernel.launches++ == 0) {
      kernel.first = steps.steps;
      kernel.cycles = steps.completion();
      kernel.instructions = host.taken;
    } else if (steps.steps != kernel.first) {
      if (kernel.different++ == 0) kernel.difference = told(kernel.first, steps.steps, i);
      kernel.cycles = std::max(kernel.cycles, steps.completion());
    }
  }
  host.simulation->set_boundary(nullptr);
  const spec::Chip& chip = host.simulation->chip(0).preset();
  uint64_t different = 0;
  nlohmann::ordered_json out = {{"chip", preset},
                                {"seed", seed},
                                {"launches", launches},
                                {"phases", phases.size()},
                                {"boot_instructions", boot},
                                {"state_bytes", fw::embedded_image()->state_bytes},
                                {"kernels", nlohmann::ordered_json::array()}};
  for (size_t i = 0; i < kernels.size(); i++) {
    different += kernels[i].different;
    out["kernels"].push_back({{"arguments", kArguments[i]},
                              {"launches", kernels[i].launches},
                              {"cycles", kernels[i].cycles},
                              {"budget_cycles", budget(chip, kArguments[i])},
                              {"instructions", kernels[i].instructions},
                              {"different", kernels[i].different},
                              {"difference", kernels[i].difference}});
  }
  if (json) {
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{} launches on {}, seed {}; boot {} instructions\n", launches, preset, seed, boot);
    for (size_t i = 0; i < kernels.size(); i++)
      fmt::print(
          "  {} arguments: {} cycles from doorbell to completion (budget {}), {} instructions; {} of {} differ{}{}\n",
          kArguments[i], kernels[i].cycles, budget(chip, kArguments[i]), kernels[i].instructions, kernels[i].different,
          kernels[i].launches, kernels[i].different == 0 ? "" : ": ", kernels[i].difference);
  }
  return different == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Device cycles of launches by the firmware's image."};
  std::string chip = "v5e";
  uint64_t launches = 1000, seed = 1;
  bool json = false;
  app.add_option("--chip", chip, "preset")->capture_default_str();
  app.add_option("--launches", launches, "how many")->capture_default_str()->check(CLI::Range(2u, 1'000'000u));
  app.add_option("--seed", seed, "of their order")->envname("WEFT_SEED")->capture_default_str();
  app.add_flag("--json", json, "print JSON");
  CLI11_PARSE(app, argc, argv);
  if (weft::spec::find_chip(chip.c_str()) == nullptr) {
    fmt::print(stderr, "launch_cycles: no chip is called '{}'\n", chip);
    return 2;
  }
  if (weft::fw::embedded_image() == nullptr) {
    fmt::print(stderr, "launch_cycles: this build has no image of the firmware\n");
    return 2;
  }
  return run(chip, launches, seed, json);
}
