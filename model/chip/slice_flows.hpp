/// Remote commands at their receivers: what has arrived of each, and whose turn it is to post.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/chip/by_peer.hpp"
#include "model/chip/slice_parcels.hpp"

namespace weft::chip {

/// The pieces of a command come in any order; its post follows all of them, and posts of one sender at one receiver
/// keep the order of their commands. Knows only what has arrived. One thread.
class SliceFlows {
 public:
  /// A command of which all has arrived and whose turn it is.
  struct Finished {
    uint64_t number;
    spec::CommandHeader header;
    uint64_t visible;  ///< cycle in which all data of it, and of those before it, are there
    std::optional<golden::Fault> fault;
  };

  /// A piece has arrived; its data are there in cycle `visible`, or it has failed.
  void arrive(const DataParcel& data, uint64_t visible, const std::optional<golden::Fault>& fault) {
    if (data.to >= flows_.size()) flows_.resize(data.to + 1);
    Flow& flow = flows_[data.to][data.from];
    const size_t place = data.serial - flow.first;
    if (place >= flow.transfers.size()) flow.transfers.resize(place + 1);
    Transfer& transfer = flow.transfers[place];
    transfer.arrived++;
    transfer.number = data.piece.number;
    transfer.header = data.piece.command.header;
    if (data.pieces != 0) transfer.pieces = data.pieces;
    transfer.visible = std::max(transfer.visible, visible);
    if (!transfer.fault) transfer.fault = fault;
  }

  /// The next command from one chip to another that ends; none: its data are not all there.
  [[nodiscard]] std::optional<Finished> finish(uint32_t from, uint32_t to) {
    Flow* const found = to < flows_.size() ? flows_[to].find(from) : nullptr;
    if (found == nullptr || found->transfers.empty()) return std::nullopt;
    Flow& flow = *found;
    const Transfer& first = flow.transfers.front();
    if (first.pieces == 0 || first.arrived < first.pieces) return std::nullopt;
    if (!first.fault) flow.visible = std::max(flow.visible, first.visible);
    const Finished finished{first.number, first.header, flow.visible, first.fault};
    flow.transfers.erase(flow.transfers.begin());
    flow.first++;
    return finished;
  }

  /// The sender was reset: what it had on its way is forgotten.
  void forget_sender(uint32_t from) {
    for (auto& flows : flows_) flows.erase(from);
  }

 private:
  struct Transfer {
    uint64_t number = 0;
    spec::CommandHeader header;
    uint32_t arrived = 0, pieces = 0;  // pieces: 0: the last one has not arrived
    uint64_t visible = 0;              // cycle
    std::optional<golden::Fault> fault;
  };
  struct Flow {
    std::vector<Transfer> transfers;  // few: from the first one that has not ended
    uint32_t first = 0;               // its serial number
    uint64_t visible = 0;             // cycle of the last post
  };

  std::vector<ByPeer<Flow>> flows_;  // by receiver, then by sender
};

}  // namespace weft::chip
