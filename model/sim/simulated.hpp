/// What weft-sim simulates: one chip, or a slice with its network.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/chip/simulation.hpp"
#include "model/chip/slice_network.hpp"
#include "model/ici/slice.hpp"
#include "model/rv32/hart.hpp"
#include "model/sim/arguments.hpp"
#include "model/trace/trace_file.hpp"

namespace weft::sim {

struct Simulated {
  const spec::Chip* preset = nullptr;
  std::optional<ici::Slice> slice;
  std::vector<core::CoreKind> kinds;         // of each chip
  std::shared_ptr<const rv32::Code> code{};  // of the firmware's image, for all chips; nullptr: each decodes its own
  ici::OpticalLinks optical{};               // of the slice
};

/// The image of --image, or the one that is built in; nullptr: there is none.
[[nodiscard]] const fw::Image* firmware_image(const Arguments& arguments);

inline constexpr const char* kImageNeedsProcessor =
    "--image needs --manager rv32 or ibex: the native firmware has no image";

/// Why this build has no such --manager; empty: it has. "native" needs nothing.
[[nodiscard]] std::string missing_manager(std::string_view manager, const fw::Image* image);

/// Names of all presets, for messages.
[[nodiscard]] std::string chip_names();

/// By --chip or --slice and --core. A message in `error` if there is no such thing.
[[nodiscard]] Simulated find_simulated(const Arguments& arguments, std::string& error);

[[nodiscard]] chip::ChipOptions chip_options(const Arguments& arguments, const Simulated& simulated, uint32_t number,
                                             chip::SliceNetwork* network);

/// The links of the slice, for a rank's share of its chips; nullptr: there is no slice.
[[nodiscard]] std::unique_ptr<chip::SliceNetwork> make_network(const Simulated& simulated,
                                                               const chip::RankShare& share);

/// The file of --trace, or a rank's own part of it (rank_trace.hpp). nullptr: none is asked for, or it does not open and
/// `error` says why.
[[nodiscard]] std::shared_ptr<TraceFile> open_trace(const Arguments& arguments, const chip::RankShare& share,
                                                    std::string& error);

/// All chips, joined by `network` (nullptr: one chip), which outlives them. `trace`: nullptr, or where they write what
/// they do; of the links rank 0 does. nullptr and a message in `error`: a file does not open, or the preset has no such
/// core.
[[nodiscard]] std::unique_ptr<chip::Simulation> make_simulation(const Arguments& arguments, const Simulated& simulated,
                                                                chip::SliceNetwork* network,
                                                                const std::shared_ptr<TraceFile>& trace,
                                                                std::string& error);

}  // namespace weft::sim
