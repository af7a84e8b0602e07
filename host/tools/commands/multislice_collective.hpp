/// weft collective --slices: hierarchical collectives with real data, compared with the documented order.
#pragma once
#include <cstdint>
#include <string>

#include "host/compiler/collectives/collective.hpp"
#include "host/tools/run/simulated_hosts.hpp"

namespace CLI {
class App;
}

namespace weft::tools {

/// Adds --slices, --chips-per-host, --host-gbps and --dcn-us.
void add_host_options(CLI::App& app, HostOptions& options);
/// Throws CLI::ValidationError if one of them is given of one slice, which has no other hosts.
void check_host_options(const CLI::App& app, const HostOptions& options);

struct MultisliceArguments {
  std::string kind, slice, core, optical_us, axis, dtype;  ///< as the command line says them
  uint64_t seed = 1;
  bool timing_only = false, json = false;
};

/// Starts a simulator for each slice, runs the collective, compares and prints. The exit code.
int collective_over_slices(const MultisliceArguments& arguments, const HostOptions& hosts,
                           const compiler::Collective& collective);

}  // namespace weft::tools
