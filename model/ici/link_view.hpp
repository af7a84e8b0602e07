/// What a chip knows of the slice's links, and the tables that follow from it.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "model/ici/routing.hpp"
#include "model/ici/topology.hpp"

namespace weft::ici {

/// A link, both directions, by the end that leads upwards: chip * kPorts + port.
using LinkName = uint32_t;

inline LinkName link_name(const Topology& topology, uint32_t chip, unsigned port) {
  return is_up(port) ? chip * kPorts + port : topology.neighbor(chip, port) * kPorts + opposite(port);
}

/// A link's state changed. A link counts its sessions; each is alive, then dead: version = 2 * session, + 1 once dead.
struct LinkNews {
  LinkName link;
  uint32_t version;
};

/// The newest version that a chip has heard of each link. A link of which it has heard nothing is alive, in session 0.
///
/// Generation: the sum of all versions. Versions only grow, so of two views of which one knows all that the other
/// knows, those with the same generation are the same view. One thread.
class LinkView {
 public:
  /// False: the chip knew that, or later news.
  bool learn(const LinkNews& news) {
    auto& known = versions_[news.link];
    if (known >= news.version) return false;
    generation_ += news.version - known;
    known = news.version;
    return true;
  }
  [[nodiscard]] uint32_t generation() const { return generation_; }
  [[nodiscard]] bool is_alive(LinkName link) const {
    const auto known = versions_.find(link);
    return known == versions_.end() || known->second % 2 == 0;
  }
  [[nodiscard]] const std::map<LinkName, uint32_t>& versions() const { return versions_; }

 private:
  std::map<LinkName, uint32_t> versions_;
  uint32_t generation_ = 0;
};

/// Tables for views. Chips with the same view share theirs, which saves work and says nothing between chips. One
/// thread.
class TablesOfViews {
 public:
  /// The topology outlives the tables.
  explicit TablesOfViews(const Topology& topology) : topology_(topology) {}
  [[nodiscard]] std::shared_ptr<const FaultTables> tables(const LinkView& view);

 private:
  const Topology& topology_;
  std::map<std::map<LinkName, uint32_t>, std::weak_ptr<const FaultTables>> made_;
  size_t clean_at_ = 0;  // so many entries: those that no chip uses any more go
};

}  // namespace weft::ici
