/// A collective of one process group, as messages on a slice.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/chakra/trace.hpp"
#include "model/ici/closed_forms.hpp"
#include "model/ici/transport.hpp"
#include "model/replay/group_shape.hpp"

namespace weft::replay {

/// bytes: of each rank's input, of the root's where only the root has one. root: a place of the group.
struct GroupWork {
  chakra::CollectiveType type = chakra::CollectiveType::kAllReduce;
  uint64_t bytes = 0;
  uint32_t root = 0;
};

/// Begins on all chips at once and ends when the last one has what it should. Sends through its maker's `send`, in the
/// slice's chips, and wants every delivery told, with the tag that it has sent. One thread.
class GroupOperation {
 public:
  using Send = std::function<void(const ici::Message&)>;

  GroupOperation() = default;
  GroupOperation(const GroupOperation&) = delete;
  GroupOperation& operator=(const GroupOperation&) = delete;
  virtual ~GroupOperation() = default;

  virtual void start() = 0;
  virtual void delivered(const ici::Message& message) = 0;
  [[nodiscard]] virtual bool finished() const = 0;
};

/// All-reduce, all-gather and reduce-scatter take the bucket algorithm of ici::Collective, a barrier that of an
/// all-reduce of nothing. All-to-all, gather and scatter go straight to each receiver, the farthest first. A broadcast
/// passes by all chips of a line or ring, over several axes it is a scatter and an all-gather (van de Geijn); a reduce
/// is a reduce-scatter and a gather. Additions take no time.
std::unique_ptr<GroupOperation> make_group_operation(const ici::Topology& slice, const ici::LinkRate& rate,
                                                     const GroupShape& shape, const GroupWork& work,
                                                     GroupOperation::Send send);

/// A chip's array straight to another: cut over all routes that balanced_route takes by turns, in whole packets.
std::vector<ici::Message> spread(const ici::Topology& slice, uint32_t from, uint32_t to, uint64_t bytes);

}  // namespace weft::replay
