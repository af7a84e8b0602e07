// Words of the command line to a mesh and a sharding.
#include "host/tools/commands/slice_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>

#include "host/tools/commands/options.hpp"
#include "weft/spec/ici.hpp"

namespace weft::tools {
namespace {

using compiler::MeshAxes;

constexpr uint32_t kMaxAxis = 64;

Error invalid(std::string text) { return {WEFT_ERROR_INVALID_ARGUMENT, std::move(text)}; }

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (const char c : text) c == at ? parts.emplace_back() : parts.back() += c;
  return parts;
}

}  // namespace

void add_slice_options(CLI::App& app, SliceOptions& options, const std::vector<std::string>& alone) {
  auto* slice =
      app.add_option("--slice", options.slice, "slice whose chips share the work: nano-2x2, nano-4x4, v5e-4x4, ...");
  for (const auto& name : alone) slice->excludes(app.get_option(name));
  app.add_option("--sharding", options.sharding,
                 "what the axes of the slice cut: batch=x, weights=n:y, weights=k:x, with commas between; axes may be "
                 "taken together (batch=xy)")
      ->capture_default_str()
      ->needs(slice);
}

Result<MeshAxes> parse_axes(const std::string& option, const std::string& text) {
  MeshAxes axes{};
  if (text.empty()) return invalid(fmt::format("{}: axes are missing, such as x or xy", option));
  for (const char c : text) {
    if (c < 'x' || c > 'z') return invalid(fmt::format("{}: there is no axis '{}'; axes: x, y, z", option, c));
    bool& named = axes[static_cast<size_t>(c - 'x')];
    if (named) return invalid(fmt::format("{}: axis {} is named twice", option, c));
    named = true;
  }
  return axes;
}

Result<compiler::Sharding> parse_sharding(const SliceOptions& options) {
  compiler::Sharding sharding;
  const std::map<std::string, MeshAxes*> kinds{
      {"batch=", &sharding.batch}, {"weights=k:", &sharding.k}, {"weights=n:", &sharding.n}};
  for (const auto& item : split(options.sharding, ',')) {
    const auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return item.starts_with(k.first); });
    if (kind == kinds.end())
      return invalid(fmt::format("--sharding '{}' is not batch=AXES, weights=k:AXES or weights=n:AXES", item));
    if (*kind->second != MeshAxes{}) return invalid(fmt::format("--sharding: {} is there twice", kind->first));
    const auto axes = parse_axes(fmt::format("--sharding '{}'", item), item.substr(kind->first.size()));
    if (!axes.ok()) return axes.error();
    *kind->second = axes.value();
  }
  return sharding;
}

Result<NamedSlice> parse_slice(const std::string& name) {
  const size_t dash = name.rfind('-');
  const auto wrong = [&name] {
    return invalid(fmt::format("there is no slice '{}'; a slice is CHIP-AxB or CHIP-AxBxC, such as nano-2x2", name));
  };
  if (dash == std::string::npos) return wrong();
  const auto chip = chip_by_name(name.substr(0, dash));
  if (!chip.ok()) return chip.error();
  NamedSlice slice{chip.value(), {}};
  if (const auto* generation = spec::find_generation(name.substr(0, dash)); generation != nullptr)
    slice.shape.link_bytes_per_second = generation->link_bytes_per_second;
  const auto sizes = split(name.substr(dash + 1), 'x');
  if (sizes.size() < 2 || sizes.size() > 3) return wrong();
  for (size_t axis = 0; axis < sizes.size(); axis++) {
    const char* end = sizes[axis].data() + sizes[axis].size();
    const auto [at, error] = std::from_chars(sizes[axis].data(), end, slice.shape.size[axis]);
    if (error != std::errc{} || at != end || slice.shape.size[axis] == 0 || slice.shape.size[axis] > kMaxAxis)
      return wrong();
  }
  return slice;
}

}  // namespace weft::tools
