// Which nodes of different ranks are one communication.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/chakra/utf8.hpp"
#include "model/replay/job.hpp"

namespace weft::replay {
namespace {

using chakra::NodeType;

class Matching {
 public:
  explicit Matching(const Job& job) : job_(job) {
    for (const auto& trace : job.ranks) found_.of_node.emplace_back(trace.nodes.size(), Communications::kNone);
    all_ranks_.resize(job.ranks.size());
    std::iota(all_ranks_.begin(), all_ranks_.end(), 0u);
  }

  std::variant<Communications, std::string> run() {
    for (uint32_t rank = 0; rank < job_.ranks.size(); rank++)
      for (uint32_t place = 0; place < job_.ranks[rank].nodes.size(); place++)
        if (auto error = enter({rank, place}); !error.empty()) return error;
    if (auto error = join_transfers(); !error.empty()) return error;
    if (auto error = join_collectives(); !error.empty()) return error;
    return std::move(found_);
  }

 private:
  /// From rank to rank with a tag.
  using Channel = std::tuple<uint64_t, uint64_t, uint64_t>;
  struct Ends {
    std::vector<NodePlace> sends, receives;
  };

  [[nodiscard]] const chakra::Node& node(NodePlace at) const { return job_.ranks[at.rank].nodes[at.node]; }
  [[nodiscard]] std::string describe(NodePlace at) const { return chakra::describe(job_.ranks[at.rank], node(at)); }
  [[nodiscard]] std::string wrong(NodePlace at, const std::string& what) const { return describe(at) + ": " + what; }

  [[nodiscard]] const std::vector<uint32_t>* group_of(const chakra::Node& node) const {
    const auto found = job_.groups.find(node.group);
    if (found != job_.groups.end()) return &found->second;
    return node.group.empty() || node.group == "0" ? &all_ranks_ : nullptr;
  }

  /// A rank that a field names: this trace's own, or another one's.
  [[nodiscard]] std::string check_rank(NodePlace at, const char* field, const std::optional<uint64_t>& rank,
                                       bool own) const {
    if (!rank) return {};
    if (*rank >= job_.ranks.size())
      return wrong(at, fmt::format("{}: rank {} of a job of {} ranks", field, *rank, job_.ranks.size()));
    return own && *rank != at.rank ? wrong(at, fmt::format("{}: {} in the trace of rank {}", field, *rank, at.rank))
                                   : "";
  }

  std::string enter(NodePlace at) {
    const auto& n = node(at);
    if (n.type == NodeType::kSend || n.type == NodeType::kReceive) {
      const bool sends = n.type == NodeType::kSend;
      if (auto error = check_rank(at, "comm_src", n.from, sends); !error.empty()) return error;
      if (auto error = check_rank(at, "comm_dst", n.to, !sends); !error.empty()) return error;
      if (sends)
        channels_[{at.rank, *n.to, n.tag}].sends.push_back(at);
      else
        channels_[{*n.from, at.rank, n.tag}].receives.push_back(at);
    } else if (n.type == NodeType::kCollective) {
      const auto* group = group_of(n);
      if (group == nullptr) return wrong(at, fmt::format("pg_name: there is no group {}", chakra::printable(n.group)));
      if (std::ranges::find(*group, at.rank) == group->end())
        return wrong(at, fmt::format("pg_name: rank {} is not of group {}", at.rank, chakra::printable(n.group)));
      calls_[group == &all_ranks_ ? "" : n.group][at.rank].push_back(at);
    }
    return {};
  }

  void add(Communication communication) {
    for (const auto& at : communication.nodes)
      found_.of_node[at.rank][at.node] = static_cast<uint32_t>(found_.all.size());
    found_.all.push_back(std::move(communication));
  }

  std::string join_transfers() {
    for (const auto& [channel, ends] : channels_) {
      const auto [from, to, tag] = channel;
      const auto both = std::min(ends.sends.size(), ends.receives.size());
      if (ends.sends.size() > both)
        return wrong(ends.sends[both],
                     fmt::format("rank {} has no COMM_RECV_NODE for it (comm_src {}, comm_tag {})", to, from, tag));
      if (ends.receives.size() > both)
        return wrong(ends.receives[both],
                     fmt::format("rank {} has no COMM_SEND_NODE for it (comm_dst {}, comm_tag {})", from, to, tag));
      for (size_t i = 0; i < both; i++) {
        const auto bytes = *node(ends.sends[i]).bytes;
        if (*node(ends.receives[i]).bytes != bytes)
          return wrong(ends.receives[i], fmt::format("comm_size: {}, but {} sends {}", *node(ends.receives[i]).bytes,
                                                     describe(ends.sends[i]), bytes));
        add({.is_transfer = true, .nodes = {ends.sends[i], ends.receives[i]}, .bytes = bytes});
      }
    }
    return {};
  }

  std::string join_collectives() {
    for (const auto& [name, by_rank] : calls_) {
      const auto& group = name.empty() && !job_.groups.contains(name) ? all_ranks_ : job_.groups.at(name);
      size_t most = 0;
      NodePlace last;
      for (const auto& [rank, nodes] : by_rank)
        if (nodes.size() > most) most = nodes.size(), last = nodes.back();
      for (const auto rank : group) {
        const auto found = by_rank.find(rank);
        const size_t count = found == by_rank.end() ? 0 : found->second.size();
        if (count != most)
          return wrong(last, fmt::format("number {} of its group, of which rank {} has {}", most, rank, count));
      }
      for (size_t number = 0; number < most; number++) {
        Communication one{};
        for (const auto rank : group) one.nodes.push_back(by_rank.at(rank)[number]);
        if (auto error = agree(one, group); !error.empty()) return error;
        add(std::move(one));
      }
    }
    return {};
  }

  /// Type, size and root are the same on all ranks.
  std::string agree(Communication& one, const std::vector<uint32_t>& group) {
    const auto& first = node(one.nodes.front());
    one.type = *first.collective;
    one.bytes = first.bytes.value_or(0);
    const bool one_has_it = one.type == chakra::CollectiveType::kBroadcast ||
                            one.type == chakra::CollectiveType::kScatter;  // others may say 0
    for (const auto& at : one.nodes) {
      const auto& n = node(at);
      if (n.collective != first.collective)
        return wrong(at, fmt::format("comm_type: {}, but {} is {}", name_of(*n.collective), describe(one.nodes.front()),
                                     name_of(one.type)));
      const auto bytes = n.bytes.value_or(0);
      if (one_has_it)
        one.bytes = std::max(one.bytes, bytes);
      else if (bytes != one.bytes)
        return wrong(at, fmt::format("comm_size: {}, but {} has {}", bytes, describe(one.nodes.front()), one.bytes));
      if (n.root != first.root) return wrong(at, fmt::format("root: not that of {}", describe(one.nodes.front())));
    }
    if (one.bytes > chakra::kMostBytes / group.size())
      return wrong(one.nodes.front(), fmt::format("comm_size: {} on each of {} ranks are more than {}", one.bytes,
                                                  group.size(), chakra::kMostBytes));
    if (!first.root) return {};
    const auto root = std::ranges::find(group, *first.root);
    if (root == group.end())
      return wrong(one.nodes.front(), fmt::format("root: rank {} is not of its group", *first.root));
    one.root = static_cast<uint32_t>(root - group.begin());
    return {};
  }

  const Job& job_;
  std::vector<uint32_t> all_ranks_;
  Communications found_;
  std::map<Channel, Ends> channels_;
  std::map<std::string, std::map<uint32_t, std::vector<NodePlace>>> calls_;  // by group, empty: all ranks
};

}  // namespace

std::variant<Communications, std::string> match(const Job& job) { return Matching(job).run(); }

}  // namespace weft::replay
