// Tiles of tensors: cut out, joined, written into attributes.
#include "host/compiler/ir/devices.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <type_traits>

#include "host/compiler/ir/module.hpp"
#include "host/compiler/ir/refusal.hpp"

namespace weft::compiler::ir {
namespace {

/// Calls copy(offset in the whole tensor, offset in the tile, bytes) for each line of a tile.
template <typename F>
void each_line(const TensorType& whole, const TensorType& tile, const Dims& place, F copy) {
  const uint64_t count = tile.count();
  if (count == 0) return;
  const size_t rank = tile.rank();
  const uint64_t bytes = bytes_of(tile.element);
  const Dims strides = strides_of(whole.dims);
  const auto line = rank == 0 ? uint64_t{1} : static_cast<uint64_t>(tile.dims[rank - 1]);
  Dims at(rank);
  for (uint64_t done = 0; done < count; done += line) {
    int64_t from = 0;
    for (size_t d = 0; d < rank; d++) from += (place[d] * tile.dims[d] + at[d]) * strides[d];
    copy(static_cast<uint64_t>(from) * bytes, done * bytes, line * bytes);
    for (size_t d = rank; d-- > 1;) {
      if (++at[d - 1] < tile.dims[d - 1]) break;
      at[d - 1] = 0;
    }
  }
}

/// Adds `count` elements; integers wrap.
void add_elements(ElementType element, const std::byte* from, std::byte* to, uint64_t count) {
  visit_type(element, [&](auto type) {
    using T = typename decltype(type)::type;
    const auto* part = reinterpret_cast<const T*>(from);
    auto* sum = reinterpret_cast<T*>(to);
    for (uint64_t i = 0; i < count; i++) {
      if constexpr (std::is_same_v<T, bool>)
        sum[i] = sum[i] || part[i];
      else if constexpr (std::is_integral_v<T>)
        sum[i] = static_cast<T>(static_cast<uint64_t>(sum[i]) + static_cast<uint64_t>(part[i]));
      else if constexpr (std::is_same_v<T, double>)
        sum[i] += part[i];
      else
        sum[i] = T(static_cast<float>(sum[i]) + static_cast<float>(part[i]));
    }
  });
}

/// The tensor of whose tiles each device has a part.
TensorPtr summed(const std::vector<TensorPtr>& parts, const Tiling& tiling) {
  auto whole = std::make_shared<Tensor>(tiling.whole(parts.at(0)->type));
  const ElementType element = whole->type.element;
  std::set<std::pair<Dims, int64_t>> added;
  for (size_t device = 0; device < parts.size(); device++)
    if (added.emplace(tiling.place.at(device), tiling.part.at(device)).second)
      each_line(whole->type, parts[device]->type, tiling.place[device],
                [&](uint64_t to, uint64_t from, uint64_t bytes) {
                  add_elements(element, &parts[device]->data[from], &whole->data[to], bytes / bytes_of(element));
                });
  return whole;
}

}  // namespace

TensorType Tiling::local(const TensorType& whole) const {
  if (tiles.size() != whole.rank()) invalid("{} in tiles along {} dimensions", whole.text(), tiles.size());
  TensorType tile = whole;
  for (size_t d = 0; d < tiles.size(); d++) {
    if (tiles[d] < 1 || whole.dims[d] % tiles[d] != 0)
      unsupported("{} in {} tiles along dimension {}", whole.text(), tiles[d], d);
    tile.dims[d] /= tiles[d];
  }
  return tile;
}

TensorType Tiling::whole(const TensorType& local) const {
  if (tiles.size() != local.rank()) invalid("{} as a tile along {} dimensions", local.text(), tiles.size());
  TensorType all = local;
  for (size_t d = 0; d < tiles.size(); d++) {
    if (tiles[d] < 1 || tiles[d] > (int64_t{1} << 20)) invalid("{} tiles", tiles[d]);
    all.dims[d] *= tiles[d];
  }
  return all;
}

bool Tiling::replicated() const {
  return part.empty() && std::ranges::all_of(tiles, [](int64_t count) { return count == 1; });
}

Tiling replicated(size_t rank, size_t devices) { return {Dims(rank, 1), std::vector<Dims>(devices, Dims(rank))}; }

TensorPtr tile_of(const TensorPtr& whole, const Tiling& tiling, size_t device) {
  if (!tiling.part.empty() && tiling.part.at(device) != 0)
    return std::make_shared<const Tensor>(tiling.local(whole->type));
  if (tiling.replicated()) return whole;
  auto tile = std::make_shared<Tensor>(tiling.local(whole->type));
  each_line(whole->type, tile->type, tiling.place.at(device), [&](uint64_t from, uint64_t to, uint64_t bytes) {
    std::memcpy(&tile->data[to], &whole->data[from], bytes);
  });
  return tile;
}

TensorPtr joined(const std::vector<TensorPtr>& tiles, const Tiling& tiling) {
  if (!tiling.part.empty()) return summed(tiles, tiling);
  if (tiling.replicated()) return tiles.at(0);
  auto whole = std::make_shared<Tensor>(tiling.whole(tiles.at(0)->type));
  for (size_t device = tiles.size(); device-- > 0;)  // the first one's stays
    each_line(whole->type, tiles[device]->type, tiling.place.at(device),
              [&](uint64_t to, uint64_t from, uint64_t bytes) {
                std::memcpy(&whole->data[to], &tiles[device]->data[from], bytes);
              });
  return whole;
}

void set_tilings(Attributes& attributes, const std::vector<Tiling>& tilings) {
  Dims counts, places;
  for (const auto& tiling : tilings) {
    counts.insert(counts.end(), tiling.tiles.begin(), tiling.tiles.end());
    for (const auto& place : tiling.place) places.insert(places.end(), place.begin(), place.end());
  }
  attributes["tiles"] = std::move(counts);
  attributes["places"] = std::move(places);
}

std::vector<Tiling> tilings_of(const Op& manual, const std::vector<size_t>& ranks) {
  const Dims &counts = manual.list("tiles"), &places = manual.list("places");
  const size_t devices = manual.list("ids").size();
  size_t all = 0;
  for (const size_t rank : ranks) all += rank;
  if (counts.size() != all || places.size() != all * devices)
    invalid("manual: {} counts and {} places for {} dimensions on {} devices", counts.size(), places.size(), all,
            devices);
  std::vector<Tiling> tilings;
  auto count = counts.begin(), place = places.begin();
  for (const size_t rank : ranks) {
    const auto step = static_cast<std::ptrdiff_t>(rank);
    Tiling tiling{{count, count + step}, {}};
    count += step;
    for (size_t device = 0; device < devices; device++, place += step) {
      tiling.place.emplace_back(place, place + step);
      for (size_t d = 0; d < rank; d++)
        if (tiling.place.back()[d] < 0 || tiling.place.back()[d] >= tiling.tiles[d])
          invalid("manual: tile {} of {}", tiling.place.back()[d], tiling.tiles[d]);
    }
    tilings.push_back(std::move(tiling));
  }
  return tilings;
}

bool reads_outside(const Op& op) {
  if (op.kind == OpKind::kPartitionId || op.kind == OpKind::kCollective || op.kind == OpKind::kCallback) return true;
  if (op.kind == OpKind::kManual) return false;
  return std::ranges::any_of(op.regions,
                             [](const auto& region) { return std::ranges::any_of(region->ops(), reads_outside); });
}

}  // namespace weft::compiler::ir
