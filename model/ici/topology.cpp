#include "model/ici/topology.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>

namespace weft::ici {

namespace {

int modulo(int value, unsigned size) {
  const int rest = value % static_cast<int>(size);
  return rest < 0 ? rest + static_cast<int>(size) : rest;
}

}  // namespace

std::string port_name(unsigned port) {
  return std::string(is_up(port) ? "+" : "-") + static_cast<char>('x' + axis_of(port));
}

Topology::Topology(std::array<unsigned, kAxes> size, std::array<bool, kAxes> wrap, bool twisted)
    : size_(size), wrap_(wrap), twisted_(twisted), chips_(size[0] * size[1] * size[2]) {
  coordinates_.reserve(chips_);
  for (uint32_t c = 0; c < chips_; c++)
    coordinates_.push_back({static_cast<int>(c % size_[0]), static_cast<int>(c / size_[0] % size_[1]),
                            static_cast<int>(c / (size_[0] * size_[1]))});
  neighbor_.assign(size_t{chips_} * kPorts, kNoChip);
  for (uint32_t c = 0; c < chips_; c++)
    for (unsigned port = 0; port < kPorts; port++) {
      const auto to = step(coordinates(c), port);
      if (size_[axis_of(port)] > 1 && (!to.wrapped || wrap_[axis_of(port)])) neighbor_[c * kPorts + port] = chip(to.at);
    }
  const auto farthest = [this](unsigned axis) { return static_cast<int>(size_[axis]) - 1; };
  for (int z = -farthest(2); z <= farthest(2); z++)
    for (int y = -farthest(1); y <= farthest(1); y++)
      for (int x = -farthest(0); x <= farthest(0); x++) ways_.push_back(find_ways({x, y, z}));
}

bool Topology::is_twistable(const std::array<unsigned, kAxes>& size) {
  auto sorted = size;
  std::sort(sorted.begin(), sorted.end());
  const unsigned k = sorted[0];
  return k > 1 && (sorted[1] == k || sorted[1] == 2 * k) && sorted[2] == 2 * k;
}

uint32_t Topology::chip(const Coordinates& at) const {
  return static_cast<uint32_t>(at[0]) +
         size_[0] * (static_cast<uint32_t>(at[1]) + size_[1] * static_cast<uint32_t>(at[2]));
}

/// One link on, the ring closed whether it is there or not.
Topology::Step Topology::step(Coordinates at, unsigned port) const {
  const unsigned axis = axis_of(port);
  const int next = at[axis] + (is_up(port) ? 1 : -1);
  const bool wrapped = next < 0 || next >= static_cast<int>(size_[axis]);
  at[axis] = modulo(next, size_[axis]);
  if (wrapped && twisted_) {
    const unsigned k = *std::min_element(size_.begin(), size_.end());
    for (unsigned other = 0; other < kAxes; other++)
      if (size_[axis] == k && size_[other] == 2 * k) at[other] = modulo(at[other] + static_cast<int>(k), size_[other]);
  }
  return {at, wrapped};
}

bool Topology::is_wrap_link(uint32_t chip, unsigned port) const {
  return neighbor(chip, port) != kNoChip && step(coordinates(chip), port).wrapped;
}

/// All ways that close each ring once at most, in either direction, of which the shortest count.
Topology::Ways Topology::find_ways(const Coordinates& apart) const {
  const int k = static_cast<int>(*std::min_element(size_.begin(), size_.end()));
  Ways best;
  std::array<unsigned, Ways::kMost> wraps{};
  unsigned best_length = ~0u;
  Coordinates turn{};  // 0: the ring of this axis is not closed; 1: going down; 2: going up
  for (turn[2] = 0; turn[2] <= 2; turn[2]++)
    for (turn[1] = 0; turn[1] <= 2; turn[1]++)
      for (turn[0] = 0; turn[0] <= 2; turn[0]++) {
        std::array<int8_t, kAxes> way{};
        unsigned length = 0, used = 0;
        int twist = 0;
        bool possible = true;
        for (unsigned axis = 0; axis < kAxes; axis++) {
          possible &= turn[axis] == 0 || (wrap_[axis] && size_[axis] > 1);
          used += turn[axis] != 0 ? 1 : 0;
          if (twisted_ && static_cast<int>(size_[axis]) == k) twist += turn[axis] == 2 ? -1 : turn[axis];
        }
        if (!possible) continue;
        for (unsigned axis = 0; axis < kAxes; axis++) {
          const int size = static_cast<int>(size_[axis]), sign = turn[axis] == 2 ? -1 : turn[axis];
          const int links = twisted_ && size == 2 * k  // a wrap of a short axis has moved it by k
                                ? modulo(apart[axis] - twist * k, size_[axis]) - (sign != 0 ? size : 0)
                                : apart[axis] + sign * size;
          way[axis] = static_cast<int8_t>(links);
          length += static_cast<unsigned>(std::abs(links));
        }
        if (length < best_length) best.count = 0, best_length = length;
        const auto end = best.way.begin() + best.count;
        if (length > best_length || std::find(best.way.begin(), end, way) != end) continue;
        assert(best.count < Ways::kMost);
        unsigned place = best.count++;
        for (; place > 0 && wraps[place - 1] > used; place--)
          best.way[place] = best.way[place - 1], wraps[place] = wraps[place - 1];
        best.way[place] = way, wraps[place] = used;
      }
  return best;
}

unsigned Topology::distance(uint32_t from, uint32_t to) const {
  const auto w = way(from, to);
  return static_cast<unsigned>(std::abs(w[0]) + std::abs(w[1]) + std::abs(w[2]));
}

unsigned Topology::links() const {
  return static_cast<unsigned>(
      std::count_if(neighbor_.begin(), neighbor_.end(), [](uint32_t n) { return n != kNoChip; }));
}

}  // namespace weft::ici
