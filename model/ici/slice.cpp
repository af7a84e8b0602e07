#include "model/ici/slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace weft::ici {

namespace {

constexpr unsigned kCube = 4;          // v4 and v5p are built of cubes of 4 x 4 x 4 chips
constexpr unsigned kWrappedAxis = 16;  // of v5e and v6e
constexpr std::string_view kTwisted = "_twisted";

std::string join(const std::array<unsigned, kAxes>& size, unsigned dimensions) {
  std::string text = std::to_string(size[0]);
  for (unsigned axis = 1; axis < dimensions; axis++) text += "x" + std::to_string(size[axis]);
  return text;
}

bool is_cubes(const std::array<unsigned, kAxes>& size) {
  return std::all_of(size.begin(), size.end(), [](unsigned s) { return s % kCube == 0; });
}

/// Decimal numbers with an x between; empty if it is something else.
std::vector<unsigned> numbers(std::string_view text) {
  std::vector<unsigned> found;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    unsigned value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value == 0 || value > 1u << 20) return {};
    found.push_back(value);
    if (next == end) return found;
    if (*next != 'x') return {};
    at = next + 1;
  }
  return {};
}

/// The shape of a slice that is named by a number: as near to a cube (a square) as powers of two allow, long axes last.
std::array<unsigned, kAxes> shape_of(unsigned chips, unsigned dimensions) {
  std::array<unsigned, kAxes> size{1, 1, 1};
  for (unsigned axis = dimensions; chips > 1; chips /= 2) {
    axis = axis == 0 ? dimensions - 1 : axis - 1;
    size[axis] *= 2;
  }
  std::sort(size.begin(), size.begin() + dimensions);
  if (dimensions == 3 && size[0] == 1) size = {size[1], size[2], 1};  // 2x2x1, not 1x2x2
  return size;
}

std::string generations() {
  std::string text;
  for (const auto& generation : spec::kGenerations) text += (text.empty() ? "" : ", ") + std::string(generation.name);
  return text;
}

std::string broken_rule(const Slice& slice) {
  const auto& generation = *slice.generation;
  const std::string name(generation.name);
  auto sorted = slice.size, largest = generation.largest;
  std::sort(sorted.begin(), sorted.end());
  std::sort(largest.begin(), largest.end());
  for (unsigned axis = 0; axis < kAxes; axis++)
    if (sorted[axis] > largest[axis])
      return join(slice.size, generation.dimensions) + " is larger than the largest slice of " + name + ", " +
             join(generation.largest, generation.dimensions);
  if (generation.wrap == spec::WrapRule::kCubes && slice.chips() > kCube * kCube && !is_cubes(slice.size))
    return "a slice of " + name + " with more than 16 chips is made of whole cubes of 4x4x4; " + join(slice.size, 3) +
           " is not";
  if (slice.twisted && (!generation.twist || !is_cubes(slice.size) || !Topology::is_twistable(slice.size)))
    return "only k x k x 2k and k x 2k x 2k with k a multiple of 4, of v4 and v5p, can be twisted; " + name + "-" +
           join(slice.size, generation.dimensions) + " can not";
  return {};
}

}  // namespace

std::array<bool, kAxes> Slice::wrap() const {
  std::array<bool, kAxes> wrap{};
  for (unsigned axis = 0; axis < kAxes; axis++) switch (generation->wrap) {
      case spec::WrapRule::kFullPod:
        wrap[axis] = size == generation->largest && axis < generation->dimensions;
        break;
      case spec::WrapRule::kAxisOf16:
        wrap[axis] = size[axis] == kWrappedAxis;
        break;
      case spec::WrapRule::kCubes:
        wrap[axis] = is_cubes(size);
        break;
    }
  return wrap;
}

uint32_t Slice::cubes() const {
  if (generation->wrap != spec::WrapRule::kCubes || !is_cubes(size)) return 0;
  return chips() / (kCube * kCube * kCube);
}

std::variant<OpticalLinks, std::string> Slice::optical_links(double latency_us) const {
  constexpr double kLeast = spec::kIciHopLatencyNs * 1e-3;
  if (cubes() == 0)
    return fmt::format(
        "slice {} is not made of cubes of 4x4x4 chips, as those of v4 and v5p are: it has no optical links", name());
  if (!(latency_us >= kLeast && latency_us <= kMostOpticalUs))
    return fmt::format("{:g} us: an optical link takes {:g} us, as other links do, to {:g} us", latency_us, kLeast,
                       kMostOpticalUs);
  return OpticalLinks{kCube, static_cast<Femtoseconds>(std::llround(latency_us * static_cast<double>(kMicrosecond)))};
}

std::vector<uint32_t> Slice::chips_of_cube(uint32_t cube) const {
  const std::array<uint32_t, kAxes> cubes{size[0] / kCube, size[1] / kCube, size[2] / kCube};
  const std::array<uint32_t, kAxes> at{cube % cubes[0] * kCube, cube / cubes[0] % cubes[1] * kCube,
                                       cube / cubes[0] / cubes[1] * kCube};
  std::vector<uint32_t> out;
  for (uint32_t z = at[2]; z < at[2] + kCube; z++)
    for (uint32_t y = at[1]; y < at[1] + kCube; y++)
      for (uint32_t x = at[0]; x < at[0] + kCube; x++) out.push_back(x + size[0] * (y + size[1] * z));
  return out;
}

std::string Slice::name() const {
  return std::string(generation->name) + "-" + join(size, generation->dimensions) +
         (twisted ? std::string(kTwisted) : "");
}

std::variant<Slice, std::string> parse_slice(std::string_view name) {
  const std::string quoted = "slice `" + std::string(name.substr(0, 64)) + "`: ";
  const auto dash = name.find('-');
  if (dash == std::string_view::npos) return quoted + "needs a generation and a size, such as v5e-4x4";
  const auto* generation = spec::find_generation(name.substr(0, dash));
  if (generation == nullptr) return quoted + "no such generation; there are " + generations();
  auto shape = name.substr(dash + 1);
  Slice slice{generation, {1, 1, 1}, false};
  if (shape.size() > kTwisted.size() && shape.substr(shape.size() - kTwisted.size()) == kTwisted) {
    slice.twisted = true;
    shape.remove_suffix(kTwisted.size());
  }
  const auto sizes = numbers(shape);
  if (sizes.empty()) return quoted + "its size is neither axes such as 4x4 nor a number";
  if (sizes.size() == 1) {
    const unsigned per_chip = generation->names_count_cores ? generation->cores_per_chip : 1;
    const unsigned chips = sizes[0] / per_chip;
    if (sizes[0] % per_chip != 0 || chips == 0 || (chips & (chips - 1)) != 0)
      return quoted + "a slice that is named by its " + (generation->names_count_cores ? "cores" : "chips") +
             " has a power of two of chips, " + std::to_string(per_chip) + " core" + (per_chip == 1 ? "" : "s") +
             " each";
    slice.size = shape_of(chips, generation->dimensions);
  } else {
    if (sizes.size() != generation->dimensions)
      return quoted + std::string(generation->name) + " has " + std::to_string(generation->dimensions) + " axes, not " +
             std::to_string(sizes.size());
    std::copy(sizes.begin(), sizes.end(), slice.size.begin());
  }
  if (auto rule = broken_rule(slice); !rule.empty()) return quoted + rule;
  return slice;
}

}  // namespace weft::ici
