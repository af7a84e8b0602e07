// What goes wrong on links: damaged frames, links that die and come back, ways around them.
#include <algorithm>
#include <cmath>

#include "model/ici/link_end.hpp"
#include "model/ici/network.hpp"

namespace weft::ici {
namespace {

constexpr double kFrameBytes = spec::kIciFramePayloadBytes + spec::kIciFrameHeaderBytes + spec::kIciFrameCrcBytes;

/// splitmix64 (Steele, Lea, Flood): a step of a 64-bit sequence.
uint64_t next_random(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

double Network::frame_hazard(double bit_error_rate) {
  const double bad = -std::expm1(8 * kFrameBytes * std::log1p(-bit_error_rate));
  return bad / (1 - bad);
}

/// The hazard between two errors: 1 in the mean, whatever the rates of the frames in between.
void Network::draw_error(Link& link) {
  const double u = static_cast<double>((next_random(link.random) >> 11) + 1) * 0x1p-53;  // (0, 1]
  link.until_error = -std::log(u);
}

/// What go-back-N loses on so many bytes: after a bad frame everything is sent again that left before its negative
/// acknowledgement came.
Femtoseconds Network::replay_time(Link& link, uint64_t wire_bytes, double hazard) {
  Femtoseconds lost = 0;
  double left = static_cast<double>(wire_bytes) / kFrameBytes * hazard;
  while (link.until_error < left) {
    left -= link.until_error;
    lost += frame_time_ + 2 * options_.hop_latency;
    link.counters.frame_errors++;
    draw_error(link);
  }
  link.until_error -= left;
  return lost;
}

LinkState Network::state(uint32_t chip, unsigned port) const {
  const auto& link = links_[chip * kPorts + port];
  if (link.retraining) return LinkState::kRetraining;
  return link.alive ? LinkState::kUp : LinkState::kDown;
}

/// A packet leaves by a link. Faults act once this moment is over; returns how much later than otherwise the packet is
/// found lost.
Femtoseconds Network::strike(uint32_t number, const LinkTrouble& trouble) {
  switch (trouble.kind) {
    case LinkTrouble::Kind::kNone:
      return 0;
    case LinkTrouble::Kind::kDown:
      events_.add(now_, kLinkDown, number, 0);
      return 0;
    case LinkTrouble::Kind::kFlap:
      events_.add(now_, kLinkDown, number, 1);
      events_.add(now_ + trouble.time, kLinkUp, number, 0);
      return 0;
    case LinkTrouble::Kind::kChipCut:
      events_.add(now_, kChipCut, number / kPorts, 0);
      return 0;
    case LinkTrouble::Kind::kDark:
      break;
  }
  constexpr Femtoseconds kGiveUp = LinkEndOptions{}.give_up_time();
  const auto back = links_[number].to * kPorts + opposite(number % kPorts);
  for (const auto direction : {number, back}) {
    auto& link = links_[direction];
    link.retraining = true;
    link.busy_until = std::max(link.busy_until, now_ + kGiveUp);
  }
  events_.add(now_ + kGiveUp, kLinkDown, number, 0);
  return kGiveUp;
}

void Network::take_down(uint32_t number, bool flap) {
  const auto back = links_[number].to * kPorts + opposite(number % kPorts);
  flap &= links_[number].alive;
  fail_link(number / kPorts, number % kPorts);
  if (flap) links_[number].retraining = links_[back].retraining = true;
}

void Network::kill(uint32_t number) {
  auto& link = links_[number];
  link.retraining = false;
  if (!link.alive) return;
  link.alive = false;
  link.epoch++;
  link.counters.downs++;
}

void Network::fail_link(uint32_t chip, unsigned port) {
  const auto to = topology_.neighbor(chip, port);
  if (to == kNoChip) return;
  const bool alive = links_[chip * kPorts + port].alive;
  kill(chip * kPorts + port);
  kill(to * kPorts + opposite(port));
  if (!alive) return;
  rebuild_tables();
  turn_queues();
}

void Network::fail_chip(uint32_t chip) {
  chip_alive_[chip] = false;
  for (unsigned port = 0; port < kPorts; port++) {
    const auto to = topology_.neighbor(chip, port);
    if (to == kNoChip) continue;
    kill(chip * kPorts + port);
    kill(to * kPorts + opposite(port));
  }
  rebuild_tables();
  turn_queues();
}

void Network::revive_link(uint32_t chip, unsigned port) {
  const auto to = topology_.neighbor(chip, port);
  if (to == kNoChip || links_[chip * kPorts + port].alive || !chip_alive_[chip] || !chip_alive_[to]) return;
  for (const auto number : {chip * kPorts + port, to * kPorts + opposite(port)}) {
    links_[number].alive = true;
    links_[number].retraining = false;
    links_[number].busy_until = now_;
  }
  rebuild_tables();
  turn_queues();
}

void Network::rebuild_tables() {
  std::vector<bool> alive(links_.size());
  std::transform(links_.begin(), links_.end(), alive.begin(), [](const Link& link) { return link.alive; });
  tables_.assign(1, FaultTables(topology_, alive));
}

/// Every packet that waits chooses its way anew. One that went round an earlier fault may go up again: the tables are
/// others now.
void Network::turn_queues() {
  for (auto& link : links_) {
    link.passing.clear();
    link.setting_out.clear();
  }
  for (auto& packet : packets_) packet.went_down = false;
  for (auto& queue : queues_) queue.waiting = false;
  for (uint32_t number = 0; number < queues_.size(); number++) request(number);
}

}  // namespace weft::ici
