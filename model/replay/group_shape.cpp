#include "model/replay/group_shape.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>

namespace weft::replay {
namespace {

using ici::kAxes;
using ici::Topology;

/// Places along one axis: first, first + stride, ...
struct Range {
  int first = 0, stride = 1;
  unsigned count = 1;
};

std::optional<Range> range_of(const std::set<int>& places) {
  Range range{*places.begin(), 1, static_cast<unsigned>(places.size())};
  if (range.count == 1) return range;
  range.stride = *std::next(places.begin()) - range.first;
  int expected = range.first;
  for (const int place : places) {
    if (place != expected) return {};
    expected += range.stride;
  }
  return range;
}

/// A stride up from the last place is the first one.
bool closes(const Topology& slice, uint32_t first, unsigned axis, const Range& range) {
  if (range.count == 1) return false;
  uint32_t at = first;
  for (unsigned link = 0; link < range.count * static_cast<unsigned>(range.stride); link++) {
    at = slice.neighbor(at, ici::port_of(axis, true));
    if (at == ici::kNoChip) return false;
  }
  return at == first;
}

std::optional<GroupShape> box_of(const Topology& slice, const std::vector<uint32_t>& chips) {
  std::array<std::set<int>, kAxes> places;
  for (const auto chip : chips)
    for (unsigned axis = 0; axis < kAxes; axis++) places[axis].insert(slice.coordinates(chip)[axis]);
  std::array<Range, kAxes> ranges;
  std::array<unsigned, kAxes> size{};
  for (unsigned axis = 0; axis < kAxes; axis++) {
    const auto range = range_of(places[axis]);
    if (!range) return {};
    ranges[axis] = *range;
    size[axis] = range->count;
  }
  if (size_t{size[0]} * size[1] * size[2] != chips.size()) return {};
  GroupShape shape{Topology(size, {}, false), {}};
  for (uint32_t place = 0; place < chips.size(); place++) {
    auto at = shape.topology.coordinates(place);
    for (unsigned axis = 0; axis < kAxes; axis++) at[axis] = ranges[axis].first + at[axis] * ranges[axis].stride;
    shape.chips.push_back(slice.chip(at));
  }
  std::array<bool, kAxes> wrap{};
  for (unsigned axis = 0; axis < kAxes; axis++) wrap[axis] = closes(slice, shape.chips.front(), axis, ranges[axis]);
  shape.topology = Topology(size, wrap, false);
  return shape;
}

}  // namespace

unsigned GroupShape::axes() const {
  unsigned axes = 0;
  for (unsigned axis = 0; axis < kAxes; axis++) axes += topology.size(axis) > 1 ? 1 : 0;
  return axes;
}

GroupShape shape_of(const Topology& slice, const std::vector<uint32_t>& chips) {
  if (chips.size() == slice.chips()) {
    std::vector<uint32_t> all(chips.size());
    std::iota(all.begin(), all.end(), 0u);
    return {slice, std::move(all), true};
  }
  if (auto box = box_of(slice, chips)) return *std::move(box);
  bool ring = chips.size() > 2;
  for (size_t place = 0; place < chips.size(); place++)
    ring = ring && slice.distance(chips[place], chips[(place + 1) % chips.size()]) == 1;
  return {Topology({static_cast<unsigned>(chips.size()), 1, 1}, {ring, false, false}, false), chips};
}

}  // namespace weft::replay
