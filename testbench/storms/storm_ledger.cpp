// Counts, and complains.
#include "testbench/storms/storm_ledger.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::storms {

using ici::Delivery;
using ici::Femtoseconds;
using ici::kNever;
using ici::Message;

Cables::Cables(const ici::Topology& topology)
    : topology_(topology), cables_(size_t{topology.chips()} * ici::kPorts), dead_(topology.chips()) {}

uint32_t Cables::number(uint32_t chip, unsigned port) const {
  return ici::is_up(port) ? chip * ici::kPorts + port
                          : topology_.neighbor(chip, port) * ici::kPorts + ici::opposite(port);
}

bool Cables::Cable::works_at(Femtoseconds when) const {
  return std::ranges::none_of(outages, [when](const Outage& o) { return o.from <= when && when < o.until; });
}

void Cables::Cable::go(Femtoseconds now, Femtoseconds until) {
  if (!outages.empty() && outages.back().until >= now)
    outages.back().until = std::max(outages.back().until, until);
  else
    outages.push_back({now, until});
}

void Cables::cut(uint32_t chip, unsigned port, Femtoseconds now) {
  auto& cable = cables_[number(chip, port)];
  cable.go(now, kNever);
  cable.dark_until = 0;
  begins_.push_back(now);
}

void Cables::cut_for(uint32_t chip, unsigned port, Femtoseconds now, Femtoseconds until) {
  cables_[number(chip, port)].go(now, until);
  begins_.push_back(now);
}

void Cables::darken(uint32_t chip, unsigned port, Femtoseconds now, Femtoseconds until) {
  cut(chip, port, now);
  cables_[number(chip, port)].dark_until = until;
}

void Cables::back(uint32_t chip, unsigned port, Femtoseconds now) {
  auto& cable = cables_[number(chip, port)];
  if (dead_[chip] || dead_[topology_.neighbor(chip, port)] || now <= cable.dark_until) return;
  if (cable.outages.empty() || cable.outages.back().until <= now) return;
  cable.outages.back().until = now;
}

void Cables::chip_dies(uint32_t chip, Femtoseconds now) {
  dead_[chip] = true;
  for (unsigned port = 0; port < ici::kPorts; port++)
    if (topology_.neighbor(chip, port) != ici::kNoChip) cut(chip, port, now);
}

bool Cables::connected_at(uint32_t from, uint32_t to, Femtoseconds when) const {
  std::vector<bool> seen(topology_.chips());
  std::vector<uint32_t> next{from};
  seen[from] = true;
  while (!next.empty()) {
    const auto chip = next.back();
    next.pop_back();
    if (chip == to) return true;
    for (unsigned port = 0; port < ici::kPorts; port++) {
      const auto neighbor = topology_.neighbor(chip, port);
      if (neighbor == ici::kNoChip || seen[neighbor] || !cables_[number(chip, port)].works_at(when)) continue;
      seen[neighbor] = true;
      next.push_back(neighbor);
    }
  }
  return false;
}

/// A way is only lost when an outage begins.
bool Cables::always_connected(uint32_t from, uint32_t to, Femtoseconds since, Femtoseconds until) const {
  if (!connected_at(from, to, since)) return false;
  for (auto begin = std::ranges::lower_bound(begins_, since); begin != begins_.end() && *begin <= until; ++begin)
    if (!connected_at(from, to, *begin)) return false;
  return true;
}

void Ledger::complain(const char* what, const Entry& entry, Femtoseconds now) {
  constexpr size_t kFew = 5;
  const auto& m = entry.message;
  if (complaints_.size() < kFew)
    complaints_.push_back(
        fmt::format("message {} of the flow from {} to {}, class {}, order {}, {} bytes, {} at {:.3f} us", entry.number,
                    m.from, m.to, m.traffic_class, m.order, m.bytes, what, ici::microseconds(now)));
}

void Ledger::send(Message& message) {
  message.tag = entries_.size();
  entries_.push_back({message, ++sent_of_[flow_of(message)]});
}

bool Ledger::delivered(const Message& message, Delivery how, Femtoseconds now) {
  if (message.tag >= entries_.size() || flow_of(message) != flow_of(entries_[message.tag].message)) {
    doubled_++;
    complaints_.push_back(fmt::format("tag {} was never sent so", message.tag));
    return false;
  }
  auto& entry = entries_[message.tag];
  const bool first = entry.came + entry.reported == 0;
  if (how != Delivery::kDone) {
    if (entry.reported++ != 0) doubled_++, complain("reported again", entry, now);
    if (how == Delivery::kStuck) {
      stuck_++;
      return first;
    }
    reported_++;
    in_doubt_ += entry.came != 0;
    if (cables_.always_connected(message.from, message.to, now - std::min(now, patience_), now))
      false_reports_++, complain("reported as unreachable, which its receiver was not,", entry, now);
    return first;
  }
  came_++;
  if (entry.came++ != 0) doubled_++, complain("came again", entry, now);
  in_doubt_ += entry.reported != 0 && entry.came == 1;
  auto& last = came_of_[flow_of(message)];
  if (entry.number <= last) out_of_order_++, complain("came too late", entry, now);
  last = std::max(last, entry.number);
  if (message.bytes != entry.message.bytes) wrong_bytes_++, complain("came with other bytes", entry, now);
  return first;
}

void Ledger::close() {
  for (const auto& entry : entries_)
    if (entry.came + entry.reported == 0) lost_++, complain("never came and was never reported", entry, kNever);
}

}  // namespace weft::storms
