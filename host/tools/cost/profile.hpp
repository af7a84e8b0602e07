/// Where the cycles of a run went, layer by layer, and how close that is to what the chip allows.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/tools/cost/explain.hpp"
#include "host/tools/run/model_program.hpp"
#include "host/tools/run/run_parts.hpp"
#include "host/tools/trace/engine_spans.hpp"

namespace weft::tools {

/// Each cycle of a launch belongs to one layer: to that of the command which the MXU works on, else the VPU, else the
/// DMA (of several, the one that began first); a cycle in which no engine works, to the layer of the next command.
struct LayerCycles {
  std::array<uint64_t, kEngines> by_engine{};  ///< MXU works; VPU works and no MXU; DMA alone
  uint64_t idle = 0;
  std::array<uint64_t, kEngines> busy{};  ///< in which the engine works on this layer, whatever else goes on

  [[nodiscard]] uint64_t cycles() const { return by_engine[0] + by_engine[1] + by_engine[2] + idle; }
};

/// Deals out the cycles of [window.begin, window.end). `spans` of other times are left out, those that cross a border
/// are cut; `owner` by span, 0 to `layers` - 1. No spans in the window: all is idle and belongs to the last one.
[[nodiscard]] std::vector<LayerCycles> attribute_cycles(std::span<const EngineSpan> spans,
                                                        std::span<const size_t> owner, size_t layers,
                                                        const LaunchWindow& window);

struct ProfiledLayer {
  std::string name;
  size_t part = 0;
  LayerWork work;      ///< of L1, without padding
  CommandCosts costs;  ///< of the commands
  LayerCycles measured;
};

struct Profile {
  std::string title, chip, core;
  uint64_t device_cycles = 0;
  std::vector<ProfiledLayer> layers;  ///< in the order of the parts and of their programs
  size_t islands = 0;
  double host_seconds = 0;

  [[nodiscard]] LayerWork work() const;
  [[nodiscard]] CommandCosts costs() const;
};

/// Operations: two for a multiply-accumulate, one for an element's pass through the vector unit.
[[nodiscard]] uint64_t operations_of(const LayerWork& work);
/// Operations a byte of HBM; nothing: the layer needs no HBM.
[[nodiscard]] std::optional<double> intensity_of(const LayerWork& work);
/// The bound's share of the measured cycles, 0 to 1; 0: no cycles.
[[nodiscard]] double achieved_share(const spec::Chip& chip, const LayerWork& work, uint64_t cycles);

/// INVALID_ARGUMENT: the trace cannot be read. INTERNAL: a launch has no span of an engine. Errors of explain().
[[nodiscard]] Result<Profile> profile_of(const spec::Chip& chip, const ModelProgram& model,
                                         const std::string& trace_path, std::span<const LaunchWindow> launches);

[[nodiscard]] std::string profile_json(const spec::Chip& chip, const Profile& profile);
/// A page of its own: no script, and nothing that is loaded.
[[nodiscard]] std::string profile_page(const spec::Chip& chip, const Profile& profile);

}  // namespace weft::tools
