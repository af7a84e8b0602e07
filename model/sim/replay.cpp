// What was recorded, on which chip, against this build.
#include "model/sim/replay.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "model/record/replay_report.hpp"
#include "model/record/slice_recording.hpp"
#include "model/record/slice_replayer.hpp"
#include "model/sim/ending.hpp"
#include "model/sim/simulated.hpp"

namespace weft::sim {
namespace {

/// What --core calls it; empty: there is no such core.
std::string_view core_kind_name(core::CoreKind kind) {
  for (const std::string_view name : {"rtl", "fast", "lockstep"}) {
    core::CoreKind named{};
    if (core::parse_core_kind(name, named) && named == kind) return name;
  }
  return {};
}

using Recordings = std::vector<std::unique_ptr<record::Recording>>;

/// --core as it was: one name, or one for each chip if they differ. Empty: there is no such core.
std::string core_names(const Recordings& recordings) {
  std::string names;
  bool same = true;
  for (const auto& recording : recordings) {
    const std::string_view name = core_kind_name(static_cast<core::CoreKind>(recording->header().core));
    if (name.empty()) return {};
    same = same && recording->header().core == recordings.front()->header().core;
    names += fmt::format("{}{}", names.empty() ? "" : ",", name);
  }
  return same ? names.substr(0, names.find(',')) : names;
}

/// A file, or those of a slice's folder; empty and a message in `error`.
Recordings load(const Arguments& arguments, std::string& error) {
  const auto extent = arguments.partial ? record::Recording::Extent::kReadable : record::Recording::Extent::kWhole;
  if (std::error_code ignored; std::filesystem::is_directory(arguments.replay, ignored))
    return record::load_slice(arguments.replay, extent, error);
  Recordings one;
  one.push_back(record::Recording::load(arguments.replay, extent, error));
  if (one.front() == nullptr) return {};
  const record::SlicePlace& place = one.front()->place();
  if (place.slice.empty()) return one;
  error = fmt::format("{}: this is chip {} of slice '{}', whose chips are replayed together: name the folder",
                      arguments.replay, place.chip, place.slice);
  return {};
}

/// --manager as it was.
std::string_view manager_name(const record::FileHeader& header) {
  if (header.image == 0) return "native";
  return header.engine == static_cast<uint8_t>(rv32::Engine::kIbex) ? "ibex" : "rv32";
}

}  // namespace

int replay(Arguments arguments) {
  std::string error;
  const Recordings recordings = load(arguments, error);
  if (recordings.empty()) return complain(kExitUsage, error);
  const record::Recording& first = *recordings.front();
  const record::FileHeader& header = first.header();
  const spec::Chip* preset = spec::find_chip(first.preset());
  constexpr uint32_t kAbi = WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR;
  if (preset == nullptr || preset->fingerprint != header.fingerprint)
    return complain(kExitUsage,
                    fmt::format("{}: recorded on chip '{}' with fingerprint {:#x}; this build has {}", arguments.replay,
                                first.preset(), header.fingerprint,
                                preset == nullptr ? "no such chip" : fmt::format("{:#x}", preset->fingerprint)));
  if (header.abi != kAbi)
    return complain(kExitUsage, fmt::format("{}: recorded with ABI {}.{}; this build has {}.{}", arguments.replay,
                                            header.abi >> 16, header.abi & 0xffff, WEFT_ABI_MAJOR, WEFT_ABI_MINOR));
  const std::string recorded_cores = core_names(recordings);
  if (recorded_cores.empty())
    return complain(kExitUsage, fmt::format("{}: recorded on a core that does not exist", arguments.replay));
  if (arguments.core.empty()) arguments.core = recorded_cores;
  arguments.functions = header.functions;
  // The firmware runs as it ran, as far as this build can, unless --manager says otherwise. Another image, or the same
  // on another processor, has other cycles; every core has the same.
  const std::string_view recorded_manager = manager_name(header);
  const fw::Image* const image = firmware_image(arguments);
  if (arguments.manager.empty()) {
    arguments.manager = recorded_manager;
    if (!missing_manager(arguments.manager, image).empty()) arguments.manager = "rv32";
    if (!missing_manager(arguments.manager, image).empty()) arguments.manager = "native";
  }
  if (const std::string missing = missing_manager(arguments.manager, image); !missing.empty())
    return complain(kExitUsage, missing);
  if (arguments.image != nullptr && arguments.manager == "native") return complain(kExitUsage, kImageNeedsProcessor);
  arguments.chip = first.preset();
  arguments.slice = first.place().slice;
  arguments.optical_us = ici::microseconds(first.place().optical_fs);
  const Simulated simulated = find_simulated(arguments, error);
  if (!error.empty()) return complain(kExitUsage, error);
  if (simulated.kinds.size() != recordings.size() || simulated.preset != preset)
    return complain(kExitUsage, fmt::format("{}: recorded on {} chips '{}'; in this build slice '{}' has {} of '{}'",
                                            arguments.replay, recordings.size(), first.preset(), arguments.slice,
                                            simulated.kinds.size(), simulated.preset->name));
  const uint32_t replayed_image = arguments.manager == "native" ? 0 : image->crc;
  const bool same = replayed_image == header.image && arguments.manager == recorded_manager;
  if (!same && simulated.slice)
    return complain(kExitUsage,
                    fmt::format("{}: recorded with firmware {:08x} on {}, replayed with {:08x} on {}: a slice is "
                                "replayed with the firmware that it was recorded with",
                                arguments.replay, header.image, recorded_manager, replayed_image, arguments.manager));
  arguments.core_options.check_hazards = header.check_hazards != 0;
  end_on_model_failure(nullptr);
  const auto trace = open_trace(arguments, {}, error);
  if (!error.empty()) return complain(kExitUsage, error);
  const auto network = make_network(simulated, {});
  const auto simulation = make_simulation(arguments, simulated, network.get(), trace, error);
  if (simulation == nullptr) return complain(kExitUsage, error);
  const record::ReplayContext context{.file = arguments.replay,
                                      .recorded_core = recorded_cores,
                                      .core = arguments.core,
                                      .recorded_manager = recorded_manager,
                                      .manager = arguments.manager,
                                      .recorded_image = header.image,
                                      .image = replayed_image,
                                      .pace = same ? record::Pace::kCycles : record::Pace::kCauses};
  const record::ReplayResult result = simulated.slice ? record::SliceReplayer(*simulation, recordings).run()
                                                      : record::Replayer(*simulation, first, context.pace).run();
  const record::Recorded recorded = record::recorded(recordings);
  fmt::print("{}\n", arguments.json ? record::replay_json(context, recorded, result)
                                    : record::replay_text(context, recorded, result));
  return result.difference ? kExitDiffers : 0;
}

}  // namespace weft::sim
