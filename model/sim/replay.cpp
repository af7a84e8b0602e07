// What was recorded, on which chip, against this build.
#include "model/sim/replay.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "model/record/replay_report.hpp"
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

/// --manager as it was.
std::string_view manager_name(const record::FileHeader& header) {
  if (header.image == 0) return "native";
  return header.engine == static_cast<uint8_t>(rv32::Engine::kIbex) ? "ibex" : "rv32";
}

}  // namespace

int replay(Arguments arguments) {
  std::string error;
  const auto recording = record::Recording::load(
      arguments.replay, arguments.partial ? record::Recording::Extent::kReadable : record::Recording::Extent::kWhole,
      error);
  if (recording == nullptr) return complain(kExitUsage, error);
  const record::FileHeader& header = recording->header();
  const spec::Chip* preset = spec::find_chip(recording->preset());
  constexpr uint32_t kAbi = WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR;
  if (preset == nullptr || preset->fingerprint != header.fingerprint)
    return complain(kExitUsage,
                    fmt::format("{}: recorded on chip '{}' with fingerprint {:#x}; this build has {}", arguments.replay,
                                recording->preset(), header.fingerprint,
                                preset == nullptr ? "no such chip" : fmt::format("{:#x}", preset->fingerprint)));
  if (header.abi != kAbi)
    return complain(kExitUsage, fmt::format("{}: recorded with ABI {}.{}; this build has {}.{}", arguments.replay,
                                            header.abi >> 16, header.abi & 0xffff, WEFT_ABI_MAJOR, WEFT_ABI_MINOR));
  const auto recorded_kind = static_cast<core::CoreKind>(header.core);
  if (core_kind_name(recorded_kind).empty())
    return complain(kExitUsage, fmt::format("{}: recorded on a core that does not exist", arguments.replay));
  core::CoreKind kind = recorded_kind;
  if (!arguments.core.empty() && !core::parse_core_kind(arguments.core, kind))
    return complain(kExitUsage, fmt::format("no core '{}'; there are: rtl, fast, lockstep", arguments.core));
  arguments.functions = header.functions;
  const Simulated simulated{preset, std::nullopt, {kind}};
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
  const uint32_t replayed_image = arguments.manager == "native" ? 0 : image->crc;
  const bool same = replayed_image == header.image && arguments.manager == recorded_manager;
  arguments.core_options.check_hazards = header.check_hazards != 0;
  end_on_model_failure(nullptr);
  const auto trace = open_trace(arguments, {}, error);
  if (!error.empty()) return complain(kExitUsage, error);
  const auto simulation = make_simulation(arguments, simulated, nullptr, trace, error);
  if (simulation == nullptr) return complain(kExitUsage, error);
  const record::ReplayContext context{.file = arguments.replay,
                                      .recorded_core = core_kind_name(recorded_kind),
                                      .core = core_kind_name(kind),
                                      .recorded_manager = recorded_manager,
                                      .manager = arguments.manager,
                                      .recorded_image = header.image,
                                      .image = replayed_image,
                                      .pace = same ? record::Pace::kCycles : record::Pace::kCauses};
  record::Replayer replayer(*simulation, *recording, context.pace);
  const record::ReplayResult result = replayer.run();
  fmt::print("{}\n", arguments.json ? record::replay_json(context, *recording, result)
                                    : record::replay_text(context, *recording, result));
  return result.difference ? kExitDiffers : 0;
}

}  // namespace weft::sim
