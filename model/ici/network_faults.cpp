// What goes wrong on links: damaged frames, ends that die and come up. Each end has its own state; the other one hears
// of it a hop later.
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
    lost += frame_time_ + 2 * hop_time(link);
    link.counters.frame_errors++;
    draw_error(link);
  }
  link.until_error -= left;
  return lost;
}

/// A packet leaves by a link, and is lost on it. What else comes of that happens once this moment is over.
void Network::strike(uint32_t number, const LinkTrouble& trouble) {
  constexpr Femtoseconds kGiveUp = LinkEndOptions{}.give_up_time();
  const auto session = links_[number].session;
  switch (trouble.kind) {
    case LinkTrouble::Kind::kNone:
      break;
    case LinkTrouble::Kind::kDown:
      events_.add(now_, kEndDown, number, session * 2);
      break;
    case LinkTrouble::Kind::kFlap:
      events_.add(now_, kEndDown, number, session * 2 + 1);
      events_.add(now_ + trouble.time, kEndUp, number, session);
      break;
    case LinkTrouble::Kind::kDark:
      end_goes_dark(number);
      events_.add(now_ + hop_time(number), kFarDark, back(number), session);
      events_.add(now_ + kGiveUp, kEndDown, number, session * 2);
      break;
    case LinkTrouble::Kind::kChipCut:
      events_.add(now_, kChipCut, number / kPorts, 0);
      break;
  }
}

/// The end sends nothing while it retrains, which it does until it gives up.
void Network::end_goes_dark(uint32_t end) {
  auto& link = links_[end];
  if (!link.alive) return;
  link.retraining = true;
  link.busy_until = std::max(link.busy_until, now_ + LinkEndOptions{}.give_up_time());
}

/// An end loses the link in this session; the far end hears of it.
void Network::end_goes_down(uint32_t end, uint32_t session, bool comes_back) {
  if (links_[end].session != session) return;
  const bool lived = links_[end].alive;
  die(end, comes_back);
  if (lived) events_.add(now_ + hop_time(end), kFarDown, back(end), session * 2 + (comes_back ? 1 : 0));
}

void Network::hear_far_down(uint32_t end, uint32_t session, bool comes_back) {
  if (links_[end].session == session) die(end, comes_back);
}

/// An end comes up in a new session; the far end hears of it before anything that is sent in the session.
void Network::end_comes_up(uint32_t end, uint32_t session) {
  if (!chip_alive_[end / kPorts]) return;
  events_.add(now_ + hop_time(end), kFarUp, back(end), session);
  rise(end, session);
}

/// The far end has come up. An end that is dead for good refuses: for it the new session is over as it begins.
void Network::hear_far_up(uint32_t end, uint32_t session) {
  auto& link = links_[end];
  if (link.session >= session) return;
  if (link.alive) die(end, true);
  if (link.retraining) return rise(end, session);
  link.session = session;
  learn(end / kPorts, {name(end), session * 2 + 1}, kNone);
  events_.add(now_ + hop_time(link), kFarDown, back(end), session * 2);
}

/// The chip loses all its links for good.
void Network::cut_off(uint32_t chip) {
  chip_alive_[chip] = false;
  for (unsigned port = 0; port < kPorts; port++)
    if (topology_.neighbor(chip, port) != kNoChip)
      end_goes_down(chip * kPorts + port, links_[chip * kPorts + port].session, false);
}

/// One end of a link dies, with what waits there for the link. A link that is dead for good does not come back.
void Network::die(uint32_t end, bool comes_back) {
  auto& link = links_[end];
  if (!link.alive) {
    link.retraining &= comes_back;
    return;
  }
  open_books();
  link.alive = false;
  link.retraining = comes_back;
  link.counters.downs++;
  learn(end / kPorts, {name(end), link.session * 2 + 1}, kNone);
  std::vector<Waiting> lost;
  link.arbiter.remove_if([&lost](const Waiting& waiting) {
    if (!waiting.sets_out) lost.push_back(waiting);
    return !waiting.sets_out;
  });
  for (const auto& waiting : lost) queues_[waiting.queue].waiting = 0;
  for (const auto& waiting : lost) request(waiting.queue);
}

void Network::rise(uint32_t end, uint32_t session) {
  auto& link = links_[end];
  link.session = session;
  link.alive = true;
  link.retraining = false;
  link.busy_until = now_;
  const auto chip = end / kPorts;
  for (const auto& [known, version] : chips_[chip].view.versions()) send_news(end, {known, version});
  learn(chip, {name(end), session * 2}, kNone);
}

LinkState Network::state(uint32_t chip, unsigned port) const {
  const auto& link = links_[chip * kPorts + port];
  if (link.retraining) return LinkState::kRetraining;
  return link.alive ? LinkState::kUp : LinkState::kDown;
}

void Network::fail_link(uint32_t chip, unsigned port) {
  if (topology_.neighbor(chip, port) == kNoChip) return;
  const auto end = chip * kPorts + port;
  die(end, false);
  die(back(end), false);
}

void Network::fail_chip(uint32_t chip) {
  chip_alive_[chip] = false;
  for (unsigned port = 0; port < kPorts; port++) fail_link(chip, port);
}

void Network::replace_chips(const std::vector<uint32_t>& chips) {
  for (const auto chip : chips) chip_alive_[chip] = true;
  for (const auto chip : chips)
    for (unsigned port = 0; port < kPorts; port++) revive_link(chip, port);
}

void Network::revive_link(uint32_t chip, unsigned port) {
  const auto to = topology_.neighbor(chip, port);
  if (to == kNoChip || !chip_alive_[chip] || !chip_alive_[to]) return;
  const auto end = chip * kPorts + port, far = back(end);
  if (links_[end].alive && links_[far].alive) return;
  const auto session = std::max(links_[end].session, links_[far].session) + 1;
  for (const auto one : {end, far})
    if (links_[one].alive) die(one, true);
  for (const auto one : {end, far}) rise(one, session);
}

}  // namespace weft::ici
