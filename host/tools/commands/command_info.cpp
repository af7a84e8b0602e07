// weft info: what this build is and which chips it has.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/tools/commands/command.hpp"
#include "host/tools/formats/json_text.hpp"
#include "model/golden/matmul.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/spec.h"

namespace weft::tools {
namespace {

double peak_tflops(const spec::Chip& chip) {
  return 2.0 * static_cast<double>(chip.peak_macs_per_cycle) * static_cast<double>(chip.clock_hz) / 1e12;
}

int info(bool json) {
  if (json) {
    nlohmann::ordered_json out = {{"version", WEFT_PROJECT_VERSION},
                                  {"abi", fmt::format("{}.{}", WEFT_ABI_MAJOR, WEFT_ABI_MINOR)},
                                  {"isa", WEFT_ISA_VERSION},
                                  {"golden_fast_path", golden::fast_path_name()},
                                  {"cores", {"rtl", "fast", "lockstep"}}};
    for (const auto& c : spec::kChips)
      out["chips"].push_back({{"name", c.name},
                              {"description", c.description},
                              {"n", c.n},
                              {"num_mxu", c.num_mxu},
                              {"clock_hz", c.clock_hz},
                              {"peak_bf16_tflops", peak_tflops(c)},
                              {"vmem_bytes", c.vmem_bytes},
                              {"hbm_bytes", c.hbm_bytes},
                              {"hbm_bytes_per_second", c.hbm_bytes_per_second},
                              {"fingerprint", fmt::format("{:#018x}", c.fingerprint)}});
    fmt::print("{}\n", json_text(out));
    return 0;
  }
  fmt::print("weft {}, ABI {}.{}, ISA {}, cores rtl, fast, lockstep; golden model with {}\n\n", WEFT_PROJECT_VERSION,
             WEFT_ABI_MAJOR, WEFT_ABI_MINOR, WEFT_ISA_VERSION, golden::fast_path_name());
  fmt::print("{:<10} {:>4} {:>5} {:>6} {:>9} {:>10} {:>9} {:>8}  {}\n", "chip", "N", "MXUs", "GHz", "TFLOP/s",
             "VMEM KiB", "HBM MiB", "GB/s", "");
  for (const auto& c : spec::kChips)
    fmt::print("{:<10} {:>4} {:>5} {:>6.3g} {:>9.3g} {:>10} {:>9} {:>8.3g}  {}\n", c.name, c.n, c.num_mxu,
               static_cast<double>(c.clock_hz) / 1e9, peak_tflops(c), c.vmem_bytes >> 10, c.hbm_bytes >> 20,
               static_cast<double>(c.hbm_bytes_per_second) / 1e9, c.description);
  return 0;
}

}  // namespace

void register_info(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("info", "version, and the chip presets of this build");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->callback([json, &action] { action = [json] { return info(*json); }; });
}

}  // namespace weft::tools
