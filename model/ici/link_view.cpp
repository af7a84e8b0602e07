// Tables from views.
#include "model/ici/link_view.hpp"

#include <algorithm>
#include <vector>

namespace weft::ici {

std::shared_ptr<const FaultTables> TablesOfViews::tables(const LinkView& view) {
  constexpr size_t kFew = 64;
  if (made_.size() >= std::max(clean_at_, kFew)) {
    std::erase_if(made_, [](const auto& entry) { return entry.second.expired(); });
    clean_at_ = 2 * made_.size();
  }
  auto& made = made_[view.versions()];
  if (auto tables = made.lock()) return tables;
  std::vector<bool> alive(size_t{topology_.chips()} * kPorts);
  for (uint32_t chip = 0; chip < topology_.chips(); chip++)
    for (unsigned port = 0; port < kPorts; port++)
      alive[chip * kPorts + port] = topology_.neighbor(chip, port) != kNoChip;
  for (const auto& [link, version] : view.versions()) {
    if (version % 2 == 0) continue;
    const auto chip = link / kPorts, port = link % kPorts;
    alive[link] = false;
    alive[topology_.neighbor(chip, port) * kPorts + opposite(port)] = false;
  }
  auto tables = std::make_shared<const FaultTables>(topology_, std::move(alive));
  made = tables;
  return tables;
}

}  // namespace weft::ici
