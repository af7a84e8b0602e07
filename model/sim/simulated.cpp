// From names on the command line to chips.
#include "model/sim/simulated.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <utility>
#include <variant>

#include "model/ibex/ibex.hpp"
#include "model/sim/rank_trace.hpp"

namespace weft::sim {
namespace {

constexpr uint32_t kMaxChips = 0xfffe;  // ICI_CHIP has 16 bits for their number, and 0xffff is no chip

/// Tells a lockstep mismatch to the terminal and, if asked, to a file, which exists only if there is one to tell.
void report_mismatch(const std::string& path, const std::string& report) {
  fmt::print(stderr, "weft-sim: the RTL and the golden model differ\n{}\n", report);
  if (path.empty()) return;
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    fmt::print(stderr, "weft-sim: the mismatch report '{}' does not open\n", path);
    return;
  }
  fmt::print(file, "{}\n", report);
  std::fclose(file);
}

/// The kinds of core of all chips: one name for all, or as many as there are chips. A message in `error`.
std::vector<core::CoreKind> core_kinds(const std::string& list, size_t chips, std::string& error) {
  std::vector<core::CoreKind> kinds;
  std::stringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    core::CoreKind kind;
    if (!core::parse_core_kind(name, kind)) {
      error = fmt::format("no core '{}'; there are: rtl, fast, lockstep", name);
      return {};
    }
    kinds.push_back(kind);
  }
  if (kinds.size() == 1) kinds.resize(chips, kinds.front());
  if (kinds.size() != chips)
    error = fmt::format("--core names {} cores for {} chips: name one for all, or one for each", kinds.size(), chips);
  return kinds;
}

}  // namespace

std::string chip_names() {
  std::string names;
  for (const spec::Chip& chip : spec::kChips) names += fmt::format("{}{}", names.empty() ? "" : ", ", chip.name);
  return names;
}

const fw::Image* firmware_image(const Arguments& arguments) {
  return arguments.image != nullptr ? &arguments.image->image() : fw::embedded_image();
}

std::string missing_manager(std::string_view manager, const fw::Image* image) {
  if (manager.empty() || manager == "native") return {};
  if (image == nullptr)
    return fmt::format(
        "--manager {}: this weft-sim was built without a RISC-V compiler and has no image of the firmware; --image "
        "names one",
        manager);
  if (manager == "ibex" && !ibex::is_built())
    return "--manager ibex: this weft-sim was built without Ibex; scripts/packages brings its sources "
           "(pythondata-cpu-ibex), scripts/build builds them in";
  return {};
}

Simulated find_simulated(const Arguments& arguments, std::string& error) {
  Simulated out;
  std::string chip = arguments.chip;
  if (!arguments.slice.empty()) {
    auto parsed = ici::parse_slice(arguments.slice);
    if (const auto* message = std::get_if<std::string>(&parsed)) {
      error = *message;
      return out;
    }
    out.slice = std::get<ici::Slice>(parsed);
    chip = out.slice->generation->name;
    if (out.slice->chips() > kMaxChips) {
      error = fmt::format("slice '{}' has {} chips: weft-sim simulates at most {} in one process", arguments.slice,
                          out.slice->chips(), kMaxChips);
      return out;
    }
  }
  if (out.slice && arguments.optical_us != 0) {
    const auto optical = out.slice->optical_links(arguments.optical_us);
    if (const auto* message = std::get_if<std::string>(&optical)) {
      error = "--optical-us: " + *message;
      return out;
    }
    out.optical = std::get<ici::OpticalLinks>(optical);
  }
  out.preset = spec::find_chip(chip);
  if (out.preset == nullptr) error = fmt::format("no chip '{}'; there are: {}", chip, chip_names());
  if (error.empty()) error = missing_manager(arguments.manager, firmware_image(arguments));
  if (error.empty())
    out.kinds = core_kinds(arguments.core.empty() ? "fast" : arguments.core, out.slice ? out.slice->chips() : 1, error);
  if (error.empty() && arguments.manager == "rv32") out.code = rv32::decode_rom(firmware_image(arguments)->rom);
  return out;
}

chip::ChipOptions chip_options(const Arguments& arguments, const Simulated& simulated, uint32_t number,
                               chip::SliceNetwork* network) {
  chip::ChipOptions options;
  options.preset = simulated.preset;
  options.kind = simulated.kinds[number];
  core::CoreOptions core_options = arguments.core_options;
  (void)core::parse_array_form(arguments.array, core_options.array);  // the command line knows the names
  if (network != nullptr) core_options.remote = &network->port(number);
  core_options.report_hazard = [](const std::string& text) { fmt::print(stderr, "weft-sim: hazard: {}\n", text); };
  options.make_core = [kind = options.kind, preset = options.preset, core_options](core::MemoryBus& bus,
                                                                                   std::string& error) {
    return core::make_core(kind, *preset, bus, core_options, error);
  };
  if (options.kind == core::CoreKind::kLockstep) options.find_mismatch = core::find_mismatch;
  options.report_mismatch = [path = arguments.mismatch_report](const std::string& report) {
    report_mismatch(path, report);
  };
  options.functions = arguments.functions;
  if (arguments.manager == "rv32" || arguments.manager == "ibex") options.firmware = firmware_image(arguments);
  if (arguments.manager == "rv32" && simulated.code != nullptr) {
    options.make_processor = [code = simulated.code](const rv32::Layout& layout, std::span<const std::byte> rom,
                                                     rv32::Bus& bus) {
      return std::make_unique<rv32::Hart>(layout, rom, bus, code);
    };
  }
  if (arguments.manager == "ibex") {
    options.engine = rv32::Engine::kIbex;
    options.make_processor = ibex::make;
  }
  options.bus_log = arguments.manager_log;
  if (network != nullptr && !options.bus_log.empty()) options.bus_log += fmt::format(".{}", number);
  options.report_firmware = [](const std::string& report) {
    fmt::print(stderr, "weft-sim: the firmware's image: {}\n", report);
  };
  return options;
}

std::unique_ptr<chip::SliceNetwork> make_network(const Simulated& simulated, const chip::RankShare& share) {
  if (!simulated.slice) return nullptr;
  ici::NetworkOptions options;
  options.link_bytes_per_second = simulated.slice->generation->link_bytes_per_second;
  options.optical = simulated.optical;
  return std::make_unique<chip::SliceNetwork>(*simulated.slice, *simulated.preset, options, share);
}

std::shared_ptr<TraceFile> open_trace(const Arguments& arguments, const chip::RankShare& share, std::string& error) {
  if (arguments.trace.empty()) return nullptr;
  return TraceFile::open(rank_trace_path(arguments.trace, share.rank), error);
}

std::unique_ptr<chip::Simulation> make_simulation(const Arguments& arguments, const Simulated& simulated,
                                                  chip::SliceNetwork* network, const std::shared_ptr<TraceFile>& trace,
                                                  std::string& error) {
  const std::string& wave = arguments.core_options.wave_path;
  if (std::error_code ignored;
      std::filesystem::exists(wave, ignored) && !std::filesystem::is_regular_file(wave, ignored)) {
    error = fmt::format("waves '{}': it is no regular file, which the writer of waves would replace", wave);
    return nullptr;
  }
  std::vector<chip::ChipOptions> options;
  const auto chips = static_cast<uint32_t>(simulated.kinds.size());
  const chip::RankShare share = network != nullptr ? network->share() : chip::RankShare{};
  for (uint32_t i = share.first(chips); i < share.end(chips); i++)
    options.push_back(chip_options(arguments, simulated, i, network));
  for (auto& chip : options) chip.trace = trace;
  if (trace != nullptr && network != nullptr && share.rank == 0) network->trace_to(trace);
  if (network == nullptr) return chip::Simulation::make(options.front(), error);
  return chip::Simulation::make_slice(std::move(options), *network, error);
}

}  // namespace weft::sim
