/// --slice and --sharding of compile and run.
#pragma once
#include <string>
#include <vector>

#include "host/compiler/sharded/sharding.hpp"
#include "weft/spec/chips.hpp"

namespace CLI {
class App;
}

namespace weft::tools {

struct SliceOptions {
  std::string slice, sharding = "batch=x";
};

/// Adds the options; --slice excludes options of the app named in `alone`, which are for one chip.
void add_slice_options(CLI::App& app, SliceOptions& options, const std::vector<std::string>& alone);

/// "x", "yz", ...: axes, in any order. INVALID_ARGUMENT: no axis, another letter, or one twice; the message begins with
/// `option`.
[[nodiscard]] Result<compiler::MeshAxes> parse_axes(const std::string& option, const std::string& text);

/// "batch=x,weights=n:y" or "weights=k:xy" and so on: what is cut, and the axes that cut it. INVALID_ARGUMENT: anything
/// else; the message says what is possible.
[[nodiscard]] Result<compiler::Sharding> parse_sharding(const SliceOptions& options);

/// "nano-2x2", "v5p-4x4x4": the preset and the chips along each axis. Which axes close to a ring does not matter to
/// what is compiled for it, and is not told. INVALID_ARGUMENT: another form, or no such preset.
struct NamedSlice {
  const spec::Chip* chip;
  compiler::SliceShape shape;
};
[[nodiscard]] Result<NamedSlice> parse_slice(const std::string& name);

}  // namespace weft::tools
