#include "model/replay/group_operation.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/ici/collective.hpp"
#include "model/ici/exchange.hpp"
#include "model/ici/routing.hpp"

namespace weft::replay {
namespace {

using chakra::CollectiveType;
using ici::CollectiveKind;
using ici::Message;
using ici::Topology;

constexpr unsigned kAllAxes = (1u << ici::kAxes) - 1;

uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/// Rings and lines of the group's own mesh.
class Buckets : public GroupOperation {
 public:
  Buckets(const ici::LinkRate& rate, const GroupShape& shape, CollectiveKind kind, uint64_t bytes, Send send)
      : send_(std::move(send)),
        chips_(shape.chips),
        collective_(shape.topology, {kind, bytes, kAllAxes, faster_in_step(shape.topology, bytes, rate)},
                    [this](Message message) {
                      message.from = chips_[message.from];
                      message.to = chips_[message.to];
                      send_(message);
                    }) {
    if (shape.whole_slice) return;
    for (uint32_t place = 0; place < chips_.size(); place++) places_.emplace_back(chips_[place], place);
    std::ranges::sort(places_);
  }
  void start() override { collective_.start(); }
  void delivered(const Message& message) override {
    Message inner = message;
    inner.from = place_of(message.from);
    inner.to = place_of(message.to);
    collective_.delivered(inner);
  }
  [[nodiscard]] bool finished() const override { return collective_.finished(); }

 private:
  /// Long arrays on axes of different length are faster in step, short ones some hops earlier without: in step where
  /// bytes take longer than hops.
  static bool faster_in_step(const Topology& topology, uint64_t bytes, const ici::LinkRate& rate) {
    return ici::all_gather_us(topology, bytes, kAllAxes, rate) >= 2 * ici::all_gather_us(topology, 0, kAllAxes, rate);
  }
  [[nodiscard]] uint32_t place_of(uint32_t chip) const {
    if (places_.empty()) return chip;
    return std::ranges::lower_bound(places_, std::pair{chip, 0u})->second;
  }

  Send send_;
  std::vector<uint32_t> chips_;
  std::vector<std::pair<uint32_t, uint32_t>> places_;  // by chip; empty: the whole slice
  ici::Collective collective_;
};

/// Messages that all set out at once.
class Straight : public GroupOperation {
 public:
  Straight(std::vector<Message> messages, Send send) : messages_(std::move(messages)), send_(std::move(send)) {}
  void start() override {
    for (const auto& message : messages_) send_(message);
  }
  void delivered(const Message&) override { arrived_++; }
  [[nodiscard]] bool finished() const override { return arrived_ == messages_.size(); }

 private:
  std::vector<Message> messages_;
  Send send_;
  size_t arrived_ = 0;
};

class InTurn : public GroupOperation {
 public:
  InTurn(std::unique_ptr<GroupOperation> first, std::unique_ptr<GroupOperation> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  void start() override {
    first_->start();
    go_on();
  }
  void delivered(const Message& message) override {
    (second_begun_ ? second_ : first_)->delivered(message);
    go_on();
  }
  [[nodiscard]] bool finished() const override { return second_begun_ && second_->finished(); }

 private:
  void go_on() {
    if (second_begun_ || !first_->finished()) return;
    second_begun_ = true;
    second_->start();
  }

  std::unique_ptr<GroupOperation> first_, second_;
  bool second_begun_ = false;
};

/// The axis of a group that is a line or ring of its own.
std::optional<unsigned> only_axis(const GroupShape& shape) {
  if (shape.axes() != 1) return {};
  unsigned axis = 0;
  while (shape.topology.size(axis) == 1) axis++;
  return axis;
}

std::vector<Message> on_chips(std::vector<Message> messages, const GroupShape& shape) {
  for (auto& message : messages) {
    message.from = shape.chips[message.from];
    message.to = shape.chips[message.to];
  }
  return messages;
}

/// From each place to each, or between the root and each, the farthest first.
struct Pair {
  uint32_t from, to;
};

std::vector<Message> straight(const Topology& slice, const GroupShape& shape, std::vector<Pair> pairs, uint64_t bytes) {
  const auto distance = [&](const Pair& pair) { return slice.distance(shape.chips[pair.from], shape.chips[pair.to]); };
  std::ranges::stable_sort(pairs, [&](const Pair& a, const Pair& b) { return distance(a) > distance(b); });
  std::vector<Message> messages;
  for (const auto& pair : pairs) {
    const auto more = spread(slice, shape.chips[pair.from], shape.chips[pair.to], bytes);
    messages.insert(messages.end(), more.begin(), more.end());
  }
  return messages;
}

std::vector<Message> all_to_all(const Topology& slice, const GroupShape& shape, uint64_t bytes) {
  const auto ranks = static_cast<uint32_t>(shape.chips.size());
  if (const auto axis = only_axis(shape))
    return on_chips(ici::exchange(shape.topology, {ici::ExchangeKind::kAllToAll, bytes * ranks, *axis}), shape);
  std::vector<Pair> pairs;
  for (uint32_t ahead = 1; ahead < ranks; ahead++)
    for (uint32_t from = 0; from < ranks; from++) pairs.push_back({from, (from + ahead) % ranks});
  return straight(slice, shape, std::move(pairs), bytes / ranks);
}

enum class Way : bool { kFromRoot, kToRoot };

std::vector<Message> with_root(const Topology& slice, const GroupShape& shape, uint32_t root, Way way, uint64_t bytes) {
  std::vector<Pair> pairs;
  for (uint32_t other = 0; other < shape.chips.size(); other++)
    if (other != root) pairs.push_back(way == Way::kFromRoot ? Pair{root, other} : Pair{other, root});
  return straight(slice, shape, std::move(pairs), bytes);
}

}  // namespace

std::vector<Message> spread(const Topology& slice, uint32_t from, uint32_t to, uint64_t bytes) {
  constexpr uint64_t kBlock = spec::kIciPacketPayloadBytes;
  if (from == to) return {Message{.from = from, .to = to, .bytes = bytes}};
  std::vector<ici::Route> routes;
  const uint64_t blocks = std::max<uint64_t>(1, divide_up(bytes, kBlock));
  for (uint32_t block = 0; block < blocks; block++) {
    const auto route = ici::balanced_route(slice, from, to, block);
    const auto same = [&](const ici::Route& other) { return other.order == route.order && other.way == route.way; };
    if (std::ranges::any_of(routes, same)) break;  // they come round
    routes.push_back(route);
  }
  std::vector<Message> messages;
  uint64_t taken = 0;
  for (size_t i = 0; i < routes.size(); i++) {
    const auto end = std::min(bytes, blocks * (i + 1) / routes.size() * kBlock);
    messages.push_back({.from = from,
                        .to = to,
                        .bytes = end - std::exchange(taken, end),
                        .order = routes[i].order,
                        .way = routes[i].way});
  }
  return messages;
}

std::unique_ptr<GroupOperation> make_group_operation(const Topology& slice, const ici::LinkRate& rate,
                                                     const GroupShape& shape, const GroupWork& work,
                                                     GroupOperation::Send send) {
  const uint64_t ranks = shape.chips.size();
  const uint64_t part = divide_up(work.bytes, ranks);
  const auto buckets = [&](CollectiveKind kind, uint64_t bytes) {
    return std::make_unique<Buckets>(rate, shape, kind, bytes, send);
  };
  const auto messages = [&](std::vector<Message> all) { return std::make_unique<Straight>(std::move(all), send); };
  switch (work.type) {
    case CollectiveType::kAllReduce:
      return buckets(CollectiveKind::kAllReduce, work.bytes);
    case CollectiveType::kBarrier:
      return buckets(CollectiveKind::kAllReduce, 0);
    case CollectiveType::kAllGather:
      return buckets(CollectiveKind::kAllGather, work.bytes * ranks);
    case CollectiveType::kReduceScatter:
    case CollectiveType::kReduceScatterBlock:
      return buckets(CollectiveKind::kReduceScatter, work.bytes);
    case CollectiveType::kAllToAll:
      return messages(all_to_all(slice, shape, work.bytes));
    case CollectiveType::kGather:
      return messages(with_root(slice, shape, work.root, Way::kToRoot, work.bytes));
    case CollectiveType::kScatter:
      return messages(with_root(slice, shape, work.root, Way::kFromRoot, part));
    case CollectiveType::kReduce:
      return std::make_unique<InTurn>(buckets(CollectiveKind::kReduceScatter, work.bytes),
                                      messages(with_root(slice, shape, work.root, Way::kToRoot, part)));
    case CollectiveType::kBroadcast:
      break;
  }
  if (const auto axis = only_axis(shape)) {
    const auto at = static_cast<unsigned>(shape.topology.coordinates(work.root)[*axis]);
    const ici::ExchangeOptions options{ici::ExchangeKind::kBroadcast, work.bytes, *axis, at};
    return messages(on_chips(ici::exchange(shape.topology, options), shape));
  }
  return std::make_unique<InTurn>(messages(with_root(slice, shape, work.root, Way::kFromRoot, part)),
                                  buckets(CollectiveKind::kAllGather, work.bytes));
}

}  // namespace weft::replay
