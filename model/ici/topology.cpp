#include "model/ici/topology.hpp"

#include <algorithm>
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

Coordinates Topology::way(uint32_t from, uint32_t to, bool other_way) const {
  const auto a = coordinates(from), b = coordinates(to);
  if (!twisted_) {  // each axis by itself
    Coordinates way{};
    for (unsigned axis = 0; axis < kAxes; axis++) {
      const int straight = b[axis] - a[axis], size = static_cast<int>(size_[axis]);
      const int around = straight > 0 ? straight - size : straight + size;
      const bool wraps =
          wrap_[axis] && straight != 0 &&
          (std::abs(around) < std::abs(straight) || (other_way && std::abs(around) == std::abs(straight)));
      way[axis] = wraps ? around : straight;
    }
    return way;
  }
  const unsigned k = *std::min_element(size_.begin(), size_.end());
  Coordinates best{};
  int best_length = -1, best_wraps = 0;
  // how often the way closes each ring: -1, 0 or 1
  Coordinates wraps{};
  for (wraps[2] = 0; wraps[2] <= 2; wraps[2]++)
    for (wraps[1] = 0; wraps[1] <= 2; wraps[1]++)
      for (wraps[0] = 0; wraps[0] <= 2; wraps[0]++) {
        Coordinates way{};
        int length = 0, used = 0;
        bool possible = true;
        int twist = 0;
        std::array<int, kAxes> sign{};
        for (unsigned axis = 0; axis < kAxes; axis++) {
          sign[axis] = wraps[axis] == 2 ? -1 : wraps[axis];
          possible &= sign[axis] == 0 || (wrap_[axis] && size_[axis] > 1);
          if (twisted_ && size_[axis] == k) twist += sign[axis];
        }
        if (!possible) continue;
        for (unsigned axis = 0; axis < kAxes; axis++) {
          const int size = static_cast<int>(size_[axis]);
          if (twisted_ && size_[axis] == 2 * k)  // a wrap of a short axis has moved it by k
            way[axis] = modulo(b[axis] - a[axis] - twist * static_cast<int>(k), 2 * k) - (sign[axis] != 0 ? size : 0);
          else
            way[axis] = b[axis] - a[axis] + sign[axis] * size;
          length += std::abs(way[axis]);
          used += std::abs(sign[axis]);
        }
        const bool better = best_length < 0 || length < best_length ||
                            (length == best_length && (other_way ? used > best_wraps : used < best_wraps));
        if (better) best = way, best_length = length, best_wraps = used;
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
