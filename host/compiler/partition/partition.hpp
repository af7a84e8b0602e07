/// Cuts a module into device programs and host islands, so that every model runs.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/compiler/graph.hpp"
#include "host/compiler/ir/module.hpp"
#include "host/compiler/partition/device_collective.hpp"
#include "host/compiler/partition/device_graph.hpp"
#include "host/compiler/partition/device_loop.hpp"

namespace weft::compiler {

/// Operators that run in one place, one part after the other.
struct Part {
  std::vector<uint32_t> ops;             ///< of the module, ascending
  std::optional<Graph> graph;            ///< of a device program; none: the host computes it
  std::optional<DeviceLoop> loop;        ///< the program is this loop, and `graph` its signature
  std::optional<Collective> collective;  ///< its only operator, between the chips of a slice; then there is no graph
  bool is_long = false;                  ///< of a collective: programs that do not need it are parts of their own
  std::vector<ir::ValueId> inputs, outputs;  ///< in the graph's order

  [[nodiscard]] bool on_device() const { return graph || collective; }
};

struct Partition {
  std::vector<Part> parts;
  std::map<uint32_t, std::string> reasons;  ///< by operator of an island: why the device does not compute it
};

enum class Device : uint8_t { kUsed, kNone };

inline constexpr uint64_t kWorthALaunch = 1024;

/// How much goes into one program.
struct Cuts {
  DeviceScope scope = DeviceScope::kAll;
  std::set<uint32_t> before =
      {};  ///< operators of the module: a program has none before one of them and that or later ones
};

/// Parts in an order in which each reads what inputs, constants and earlier parts have. A device program holds a
/// product, or a shift of kWorthALaunch words, as random bits have: else moving elements costs more time than it saves. A
/// loop is a part of its own, and so is a collective, which is the host's without a `slice`. INTERNAL: errors of
/// check_graph.
[[nodiscard]] Result<Partition> partition(const ir::Module& module, Device device, const Cuts& cuts = {},
                                          const DeviceSlice* slice = nullptr);

/// Makes the part an island, for the reason that the device has refused it.
void leave_to_host(Partition& partition, size_t part, const std::string& reason);

/// The parts in the order in which they run: each list is one launch, or an island. Device programs with collectives
/// between them are one launch, as long as nothing that one of them reads comes from an island behind another one.
[[nodiscard]] std::vector<std::vector<size_t>> launches_of(const Partition& partition);

}  // namespace weft::compiler
