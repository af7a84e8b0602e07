// Sends, strikes, and hears what comes.
#include "testbench/storms/storm.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "model/ici/link_end.hpp"
#include "testbench/storms/storm_ledger.hpp"

namespace weft::storms {
namespace {

using namespace ici;

/// News of a cable pass a chip in a hop's time, and a report waits for that; some hops more for what was under way.
Femtoseconds patience(const Topology& topology, const NetworkOptions& options) {
  return (2 * topology.chips() + 10) * options.hop_latency;
}

class Storm {
 public:
  Storm(const Plan& plan, uint64_t seed)
      : plan_(plan),
        network_(topology_of(plan.slice), plan.network),
        cables_(network_.topology()),
        ledger_(cables_, patience(network_.topology(), plan.network)),
        random_(seed ^ 0x73746f726d),
        left_(chips(), plan.traffic.messages),
        armed_(size_t{chips()} * kPorts) {
    network_.on_delivery([this](const Message& message, Delivery how, Femtoseconds now) {
      if (ledger_.delivered(message, how, now)) send(message.from, now);
    });
    network_.on_stuck([this](const std::string& report) { complain(report); });
    network_.set_trouble([this](uint32_t chip, unsigned port) { return trouble(chip, port); });
    for (uint32_t chip = 0; chip < chips(); chip++)
      for (unsigned i = 0; i < plan.traffic.partners; i++)
        partners_.push_back(static_cast<uint32_t>(random_() % chips()));
  }

  Verdict run() {
    for (unsigned i = 0; i < plan_.traffic.outstanding; i++)
      for (uint32_t chip = 0; chip < chips(); chip++) send(chip, 0);
    for (const auto& stroke : plan_.strokes) {
      network_.run_until(stroke.at);
      strike(stroke);
      audit();
    }
    constexpr Femtoseconds kLong = 1000 * kMillisecond;
    const auto end = std::max(network_.now(), plan_.strokes.back().at) + kLong;
    if (!network_.run_until(end)) complain("events go on for more than a second of device time");
    audit();
    return judge();
  }

 private:
  [[nodiscard]] uint32_t chips() const { return network_.topology().chips(); }

  void send(uint32_t from, Femtoseconds now) {
    if (left_[from] == 0) return;
    left_[from]--;
    Message message;
    message.from = from;
    message.to = partners_[from * plan_.traffic.partners + random_() % plan_.traffic.partners];
    message.bytes = random_() % (plan_.traffic.largest + 1);
    message.traffic_class = random_() % 8 == 0 ? 1 : 0;
    message.order = static_cast<uint8_t>(random_() % plan_.traffic.orders);
    message.way = static_cast<uint8_t>(random_() % 8);
    ledger_.send(message);
    network_.send(message, now);
  }

  void strike(const Stroke& stroke) {
    switch (stroke.kind) {
      case Stroke::Kind::kCableCut:
        cables_.cut(stroke.chip, stroke.port, stroke.at);
        network_.fail_link(stroke.chip, stroke.port);
        break;
      case Stroke::Kind::kCableBack:
        cables_.back(stroke.chip, stroke.port, stroke.at);
        network_.revive_link(stroke.chip, stroke.port);
        break;
      case Stroke::Kind::kChipDies:
        cables_.chip_dies(stroke.chip, stroke.at);
        network_.fail_chip(stroke.chip);
        break;
      case Stroke::Kind::kArmed:
        armed_[stroke.chip * kPorts + stroke.port] = stroke.trouble;
        break;
    }
  }

  LinkTrouble trouble(uint32_t chip, unsigned port) {
    const auto what = std::exchange(armed_[chip * kPorts + port], LinkTrouble{});
    const auto now = network_.now(), hop = plan_.network.hop_latency;
    switch (what.kind) {
      case LinkTrouble::Kind::kNone:
        break;
      case LinkTrouble::Kind::kFlap:
        cables_.cut_for(chip, port, now, now + what.time + 2 * hop);
        break;
      case LinkTrouble::Kind::kDown:
        cables_.cut(chip, port, now);
        break;
      case LinkTrouble::Kind::kDark:
        cables_.darken(chip, port, now, now + LinkEndOptions{}.give_up_time() + 2 * hop);
        break;
      case LinkTrouble::Kind::kChipCut:
        cables_.chip_dies(chip, now);
        break;
    }
    return what;
  }

  void complain(const std::string& what) {
    wrong_++;
    if (complaints_.size() < 5) complaints_.push_back(what);
  }

  void audit() {
    if (const auto broken = network_.audit()) complain(*broken);
  }

  Verdict judge() {
    ledger_.close();
    Verdict verdict;
    verdict.stuck = ledger_.stuck() != 0 || network_.next_event() != kNever || network_.packets_in_flight() != 0 ||
                    network_.messages_under_way() != 0;
    verdict.sent = ledger_.sent();
    verdict.came = ledger_.came();
    verdict.reported = ledger_.reported();
    verdict.in_doubt = ledger_.in_doubt();
    verdict.lost = ledger_.lost();
    verdict.doubled = ledger_.doubled();
    verdict.out_of_order = ledger_.out_of_order();
    verdict.wrong_bytes = ledger_.wrong_bytes();
    verdict.false_reports = ledger_.false_reports();
    verdict.packet_hops = network_.packet_hops();
    verdict.complaints = complaints_;
    for (const auto& complaint : ledger_.complaints()) verdict.complaints.push_back(complaint);
    verdict.passed =
        wrong_ == 0 && !verdict.stuck && !ledger_.wrong() && verdict.sent == uint64_t{chips()} * plan_.traffic.messages;
    return verdict;
  }

  const Plan& plan_;
  Network network_;
  Cables cables_;
  Ledger ledger_;
  std::mt19937_64 random_;
  std::vector<unsigned> left_;      // messages to be sent by each chip
  std::vector<uint32_t> partners_;  // of each chip
  std::vector<LinkTrouble> armed_;  // by chip and port
  uint64_t wrong_ = 0;
  std::vector<std::string> complaints_;
};

}  // namespace

Verdict run_storm(const Plan& plan, uint64_t seed) { return Storm(plan, seed).run(); }

}  // namespace weft::storms
