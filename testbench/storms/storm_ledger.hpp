/// The books of a storm: what was sent, what came, what was reported lost, and which cables were there.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "model/ici/network.hpp"

namespace weft::storms {

/// When which cables carried, by what the storm did to them. Knows which chips are neighbours, and nothing of tables,
/// generations or routes. Where two ends of a cable notice something at different times, it counts as down.
class Cables {
 public:
  explicit Cables(const ici::Topology& topology);

  /// Works no more, until back() says otherwise.
  void cut(uint32_t chip, unsigned port, ici::Femtoseconds now);
  /// Works no more until `until`, if it is not cut meanwhile.
  void cut_for(uint32_t chip, unsigned port, ici::Femtoseconds now, ici::Femtoseconds until);
  /// A packet made it go dark: it carries nothing until `until`, is dead from then on, and cannot be repaired before.
  void darken(uint32_t chip, unsigned port, ici::Femtoseconds now, ici::Femtoseconds until);
  void back(uint32_t chip, unsigned port, ici::Femtoseconds now);
  void chip_dies(uint32_t chip, ici::Femtoseconds now);

  /// There was a way from one chip to the other at every moment between `since` and `until`.
  [[nodiscard]] bool always_connected(uint32_t from, uint32_t to, ici::Femtoseconds since,
                                      ici::Femtoseconds until) const;

 private:
  struct Outage {
    ici::Femtoseconds from, until;
  };
  struct Cable {
    std::vector<Outage> outages;  // by time
    ici::Femtoseconds dark_until = 0;

    [[nodiscard]] bool works_at(ici::Femtoseconds when) const;
    void go(ici::Femtoseconds now, ici::Femtoseconds until);
  };
  [[nodiscard]] uint32_t number(uint32_t chip, unsigned port) const;
  [[nodiscard]] bool connected_at(uint32_t from, uint32_t to, ici::Femtoseconds when) const;

  const ici::Topology& topology_;
  std::vector<Cable> cables_;              // by the end from which it leads upwards
  std::vector<bool> dead_;                 // chips
  std::vector<ici::Femtoseconds> begins_;  // of outages, by time
};

/// Judges deliveries: each message comes once and in the order of its flow with all its bytes, or is reported as
/// unreachable at a time at which its ends were cut off from each other.
class Ledger {
 public:
  /// `patience`: how long after its ends were cut off from each other a message may be reported.
  Ledger(const Cables& cables, ici::Femtoseconds patience) : cables_(cables), patience_(patience) {}

  /// Gives the message its tag.
  void send(ici::Message& message);
  /// True: the first that is heard of this message.
  bool delivered(const ici::Message& message, ici::Delivery how, ici::Femtoseconds now);
  /// Nothing is to come any more.
  void close();

  [[nodiscard]] uint64_t sent() const { return entries_.size(); }
  [[nodiscard]] uint64_t came() const { return came_; }
  [[nodiscard]] uint64_t reported() const { return reported_; }  ///< as lost
  [[nodiscard]] uint64_t in_doubt() const { return in_doubt_; }  ///< came, and were reported as well
  [[nodiscard]] uint64_t stuck() const { return stuck_; }        ///< ended because nothing moved any more
  [[nodiscard]] uint64_t lost() const { return lost_; }
  [[nodiscard]] uint64_t doubled() const { return doubled_; }
  [[nodiscard]] uint64_t out_of_order() const { return out_of_order_; }
  [[nodiscard]] uint64_t wrong_bytes() const { return wrong_bytes_; }
  [[nodiscard]] uint64_t false_reports() const { return false_reports_; }
  /// The first few things that were wrong.
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }
  /// Something was wrong.
  [[nodiscard]] bool wrong() const {
    return stuck_ + lost_ + doubled_ + out_of_order_ + wrong_bytes_ + false_reports_ != 0;
  }

 private:
  using Flow = std::tuple<uint32_t, uint32_t, uint8_t, uint8_t, uint8_t>;  // from, to, class, order, way
  struct Entry {
    ici::Message message;
    uint64_t number = 0;  // in its flow, from 1 on
    unsigned came = 0, reported = 0;
  };
  static Flow flow_of(const ici::Message& message) {
    return {message.from, message.to, message.traffic_class, message.order, message.way};
  }
  void complain(const char* what, const Entry& entry, ici::Femtoseconds now);

  const Cables& cables_;
  ici::Femtoseconds patience_;
  std::vector<Entry> entries_;
  std::map<Flow, uint64_t> sent_of_, came_of_;  // number of the last
  uint64_t came_ = 0, reported_ = 0, in_doubt_ = 0, stuck_ = 0, lost_ = 0, doubled_ = 0, out_of_order_ = 0,
           wrong_bytes_ = 0, false_reports_ = 0;
  std::vector<std::string> complaints_;
};

}  // namespace weft::storms
