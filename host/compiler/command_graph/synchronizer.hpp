/// Three passes: what each command waits for, as little as what it knows already leaves; SIGNALs where a command would
/// have more than two waits or posts; numbers. Of synchronization.cpp and turn_synchronization.cpp alone.
#pragma once
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "host/compiler/command_graph/knowledge.hpp"
#include "host/compiler/command_graph/synchronization.hpp"

namespace weft::compiler::command_graph {

inline constexpr uint32_t kNobody = UINT32_MAX;
/// Queues that retire in order; each has a counter for each other queue.
inline constexpr std::array<uint32_t, 3> kOrdered{WEFT_QUEUE_MXU, WEFT_QUEUE_VPU, WEFT_QUEUE_SYNC};
inline constexpr uint32_t kCounters = 12;
inline constexpr uint32_t kOwned = WEFT_REMOTE_SEMAPHORE_FIRST - kCounters;
static_assert(kFirstGateSemaphore + kGateSemaphores == kOwned);
inline constexpr uint32_t kFarLoads = 24;
inline constexpr unsigned kSignalCost = 1u << 30;  // of a wait that is one too many
inline constexpr unsigned kLeastOwned = 4;         // semaphores of a queue's commands, if they need so many
inline constexpr size_t kMaxTokens = 65535;        // of a semaphore

inline bool retires_in_order(uint32_t queue) { return std::ranges::find(kOrdered, queue) != kOrdered.end(); }

/// Of queue `from` for queue `to`.
inline uint8_t counter(uint32_t from, uint32_t to) {
  const auto row = static_cast<uint32_t>(std::ranges::find(kOrdered, from) - kOrdered.begin());
  return static_cast<uint8_t>(kOwned + row * (kQueues - 1) + (to > from ? to - 1 : to));
}

/// A command or a SIGNAL, and what it waits for.
struct Node {
  uint32_t command = kSignal, queue = WEFT_QUEUE_SYNC;
  uint32_t index = 0;                       ///< in its queue
  uint32_t turn = 0;                        ///< of a loop
  Knowledge at_head, at_start;              ///< when its waits begin, and end
  std::array<uint32_t, kQueues> reached{};  ///< so many commands of an ordered queue have retired
  std::vector<uint32_t> loads;              ///< nodes of DMA queues that post its own semaphore
  std::vector<uint32_t> signals;            ///< nodes of the sync queue that it waits for
  uint32_t owned = kNobody;                 ///< its own semaphore
  std::vector<uint32_t> owners;             ///< of a DMA command: whose semaphores it posts
  size_t room = 2;                          ///< for so many

  [[nodiscard]] unsigned waits() const {
    return static_cast<unsigned>(std::ranges::count_if(reached, [](uint32_t r) { return r != 0; })) +
           (loads.empty() ? 0 : 1) + (signals.empty() ? 0 : 1);
  }
};

/// Of each queue's commands that own semaphores, in a turn of a loop: the i-th has number first + i mod count.
struct Rings {
  std::array<uint32_t, kQueues> first{}, count{};
};

class Synchronizer {
 public:
  /// `rings`: of a loop, with turns of `turn_commands` commands; else null.
  Synchronizer(const CommandGraph& graph, const std::vector<uint32_t>& order,
               const std::vector<std::vector<uint32_t>>& before, const Rings* rings = nullptr,
               size_t turn_commands = SIZE_MAX)
      : graph_(graph),
        order_(order),
        before_(before),
        node_of_(graph.commands().size()),
        owned_semaphores_((graph.fences().empty() ? kOwned : kFirstGateSemaphore) - graph.semaphores_left()),
        rings_(rings),
        turn_commands_(turn_commands) {
    last_owner_.fill(kNobody);
    nodes_.reserve(order.size() + order.size() / 8);  // and SIGNALs
  }

  std::optional<std::vector<SynchronizedCommand>> run() {
    find_far_loads();
    for (const uint32_t command : order_) {
      if (command / turn_commands_ != turn_) turn_++, owners_.fill(0);
      if (!add(command)) return std::nullopt;
      if (far_[command] == 0) continue;
      const uint32_t load = node_of_[command];
      const auto signal = add_signal({load});
      if (!signal) return std::nullopt;
      told_by_[load] = *signal;
    }
    drop_known(sequence_);
    relieve_waits();
    relieve_posts();
    return number();
  }
  /// Of each semaphore, the tokens of the turn before that turn 1 takes.
  [[nodiscard]] const std::array<uint16_t, WEFT_SEMAPHORES>& carried() const { return carried_; }
  /// Commands of each queue that have a semaphore.
  [[nodiscard]] const std::array<uint32_t, kQueues>& owners() const { return owners_; }

 private:
  [[nodiscard]] static bool started(const Knowledge& known, uint32_t queue, uint32_t index, const Node& node) {
    return known.has(node.queue, node.index) || (node.queue == queue && node.index < index);
  }

  /// DMA commands with many others before their first use: a semaphore of the user's would be taken all that time, and
  /// which others came between is known only then. So a SIGNAL takes it soon and tells by its counter.
  void find_far_loads() {
    far_.resize(order_.size());
    std::vector<uint32_t> seen(order_.size()), used(order_.size(), kNobody);
    uint32_t loads = 0;
    for (const uint32_t command : order_) {
      for (const uint32_t p : before_[command])
        if (used[p] == kNobody) used[p] = loads;
      seen[command] = loads;
      if (!retires_in_order(graph_.commands()[command].queue)) loads++;
    }
    for (const uint32_t command : order_)
      far_[command] = !retires_in_order(graph_.commands()[command].queue) && used[command] != kNobody &&
                      used[command] - seen[command] > kFarLoads;
  }

  /// Waits of a command for what it does not know to have retired.
  bool add(uint32_t command) {
    Node node{.command = command, .queue = graph_.commands()[command].queue};
    if (const auto* dma = std::get_if<spec::DmaCommand>(&graph_.commands()[command].body); dma && is_remote(*dma))
      node.room = 1;  // the other post is at the other chip
    Knowledge& known = known_[node.queue];
    node.at_head = known;
    std::vector<uint32_t> producers;
    for (const uint32_t p : before_[command]) producers.push_back(node_of_[p]);
    std::ranges::sort(producers, std::greater<>());  // the youngest first: it knows most
    for (const uint32_t needed : producers) {
      if (nodes_[needed].queue == node.queue && retires_in_order(node.queue)) continue;
      if (known.has(nodes_[needed].queue, nodes_[needed].index)) continue;
      const uint32_t p = with_room(needed);
      const Node& producer = nodes_[p];
      if (producer.queue == WEFT_QUEUE_SYNC)
        node.signals.push_back(p);
      else if (retires_in_order(producer.queue))
        node.reached[producer.queue] = std::max(node.reached[producer.queue], producer.index + 1);
      else
        node.loads.push_back(p);
      learn(known, p);
    }
    if (!node.loads.empty() && !retires_in_order(node.queue)) {
      const auto signal = add_signal(std::exchange(node.loads, {}));
      if (!signal) return false;
      node.signals.push_back(*signal);
      learn(known, *signal);
    }
    // Its waits are for what others post.
    if (std::holds_alternative<Arrival>(graph_.commands()[command].body) && node.waits() != 0) return false;
    node.at_start = known;
    node_of_[command] = static_cast<uint32_t>(nodes_.size());
    return append(std::move(node));
  }

  /// A SIGNAL that waits for loads in the place of a DMA command: only what retires in order can tell when its
  /// semaphore is free again.
  std::optional<uint32_t> add_signal(std::vector<uint32_t> loads) {
    Knowledge& known = known_[WEFT_QUEUE_SYNC];
    Node signal{.at_head = known, .loads = std::move(loads)};
    for (const uint32_t load : signal.loads) learn(known, load);
    signal.at_start = known;
    if (!append(std::move(signal))) return std::nullopt;
    return static_cast<uint32_t>(nodes_.size() - 1);
  }

  void learn(Knowledge& known, uint32_t retired) const {
    const Node& node = nodes_[retired];
    known.merge(node.at_start);
    if (retires_in_order(node.queue))
      known.add_all(node.queue, node.index + 1);
    else
      known.add(node.queue, node.index);
  }

  bool append(Node node) {
    const auto id = static_cast<uint32_t>(nodes_.size());
    node.index = count_[node.queue]++;
    node.turn = turn_;
    nodes_.push_back(std::move(node));
    sequence_.push_back(id);
    if (nodes_[id].loads.empty() || own(id)) return true;
    // Of loads that somebody waits for already, that one tells, if later.
    std::erase_if(nodes_[id].loads, [&](uint32_t load) {
      const bool told = !nodes_[load].owners.empty();
      if (told) wait_for(id, nodes_[load].owners.back());
      return told;
    });
    return nodes_[id].loads.empty() || own(id);
  }

  /// The command, or if it posts as many semaphores as it can already one that waits for it.
  [[nodiscard]] uint32_t with_room(uint32_t id) const {
    if (const auto told = told_by_.find(id); told != told_by_.end()) return told->second;
    return nodes_[id].owners.size() == nodes_[id].room ? nodes_[id].owners.back() : id;
  }

  /// A semaphore for the node: one whose last owner has started before any of its loads starts.
  bool own(uint32_t id) {
    const uint32_t queue = nodes_[id].queue;
    if (rings_ != nullptr) {
      if (rings_->count[queue] == 0) return false;
      const uint32_t next = rings_->first[queue] + owners_[queue] % rings_->count[queue];
      return (last_owner_[next] == kNobody || cost_of(next, id)) && take_over(next, id);
    }
    std::optional<uint32_t> best, fresh;
    unsigned best_cost = UINT32_MAX, unused = 0;
    for (uint32_t s = 0; s < owned_semaphores_; s++) {
      if (last_owner_[s] == kNobody) {
        fresh = s, unused++;
        continue;
      }
      const auto cost = cost_of(s, id);
      if (cost && *cost < best_cost) best = s, best_cost = *cost;
    }
    unsigned reserved = 0;
    for (const uint32_t q : kOrdered)
      if (q != queue) reserved += kLeastOwned - std::min(kLeastOwned, held_[q]);
    if (best_cost != 0 && unused > reserved) {
      best = fresh;
      held_[queue]++;
    }
    return best && take_over(*best, id);
  }

  bool take_over(uint32_t semaphore, uint32_t id) {
    Node& node = nodes_[id];
    if (const uint32_t owner = last_owner_[semaphore]; owner != kNobody) {
      for (const uint32_t load : node.loads)
        if (!started(nodes_[load].at_start, nodes_[load].queue, nodes_[load].index, nodes_[owner]))
          wait_for(load, owner);
      if (!knows_at_head(id, owner)) wait_for(id, owner);
    }
    last_owner_[semaphore] = id;
    node.owned = semaphore;
    owners_[node.queue]++;
    for (const uint32_t load : node.loads) nodes_[load].owners.push_back(id);
    return true;
  }

  /// `owner` is of a queue that retires in order, and before the node.
  void wait_for(uint32_t id, uint32_t owner) {
    if (nodes_[owner].queue == nodes_[id].queue) return;
    if (nodes_[owner].queue == WEFT_QUEUE_SYNC) return nodes_[id].signals.push_back(owner);
    uint32_t& reached = nodes_[id].reached[nodes_[owner].queue];
    reached = std::max(reached, nodes_[owner].index + 1);
  }

  /// In the same queue it does.
  [[nodiscard]] bool knows_at_head(uint32_t id, uint32_t owner) const {
    return started(nodes_[id].at_head, nodes_[id].queue, nodes_[id].index, nodes_[owner]);
  }

  /// What it costs to take the semaphore over; 0: nothing. At the head of its queue the node must not take what the
  /// last owner waits for: if it does not know that one to have started, it waits for it too (both waits of a command
  /// are taken at once). And its loads must not post to the last owner: if they do not start behind it, they wait for
  /// it; the older it is, the earlier it is there. Nothing: a load is before the last owner.
  [[nodiscard]] std::optional<unsigned> cost_of(uint32_t semaphore, uint32_t id) const {
    const uint32_t owner = last_owner_[semaphore];
    const Node& before = nodes_[owner];
    unsigned cost = knows_at_head(id, owner) ? 0 : kSignalCost;
    for (const uint32_t load : nodes_[id].loads) {
      const Node& node = nodes_[load];
      if (started(node.at_start, node.queue, node.index, before)) continue;
      const bool waits = before.queue == WEFT_QUEUE_SYNC ? !node.signals.empty() : node.reached[before.queue] != 0;
      if (owner >= load) return std::nullopt;
      cost = std::max(cost, owner + 1 + (waits || node.waits() < 2 ? 0 : kSignalCost));
    }
    return cost;
  }

  /// A command does not wait again for what an earlier command of its queue has waited for.
  void drop_known(const std::vector<uint32_t>& sequence) {
    std::array<std::array<uint32_t, kQueues>, kQueues> taken{};
    for (const uint32_t id : sequence)
      for (const uint32_t q : kOrdered) {
        uint32_t &before = taken[nodes_[id].queue][q], &reached = nodes_[id].reached[q];
        if (reached <= before)
          reached = 0;
        else
          before = reached;
      }
  }

  /// A command waits for two things; a SIGNAL in front of it takes two of more.
  void relieve_waits() {
    const auto nodes = static_cast<uint32_t>(nodes_.size());
    for (uint32_t id = 0; id < nodes; id++)
      while (nodes_[id].waits() > 2) {
        const uint32_t signal = signal_before(id);
        Node &node = nodes_[id], &relay = nodes_[signal];
        for (uint32_t q = 0; q < kQueues && relay.waits() < 2; q++)
          if (node.reached[q] != 0) relay.reached[q] = std::exchange(node.reached[q], 0);
        node.signals.push_back(signal);
      }
  }

  /// A command of an ordered queue posts a counter of each queue in which somebody waits for it. Of more than two, one
  /// stays; the others are posted by a SIGNAL behind it, or two.
  void relieve_posts() {
    for (const auto& [source, by_queue] : waiters_of_ordered()) {
      if (by_queue.size() <= 2) continue;
      const uint32_t from = nodes_[source].queue;
      uint32_t relay = kNobody, relayed = 0, kept = 0;
      for (const auto& [queue, waiters] : by_queue) {
        if (queue == WEFT_QUEUE_SYNC || kept++ == 0) continue;
        if (relayed++ % 2 == 0) {
          relay = signal_behind(source);
          nodes_[relay].reached[from] = nodes_[source].index + 1;
        }
        for (const uint32_t waiter : waiters) {
          nodes_[waiter].reached[from] = 0;
          nodes_[waiter].signals.push_back(relay);
        }
      }
    }
  }

  /// Node of an ordered queue -> queue -> nodes that wait until exactly it has retired.
  [[nodiscard]] std::map<uint32_t, std::map<uint32_t, std::vector<uint32_t>>> waiters_of_ordered() const {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> by_place;
    for (const uint32_t id : node_of_) by_place[{nodes_[id].queue, nodes_[id].index}] = id;
    std::map<uint32_t, std::map<uint32_t, std::vector<uint32_t>>> waiters;
    for (uint32_t id = 0; id < nodes_.size(); id++)
      for (uint32_t q = 0; q < kQueues; q++)
        if (nodes_[id].reached[q] != 0)
          waiters[by_place.at({q, nodes_[id].reached[q] - 1})][nodes_[id].queue].push_back(id);
    return waiters;
  }

  uint32_t new_signal(uint32_t of) {
    nodes_.push_back({.turn = nodes_[of].turn});
    return static_cast<uint32_t>(nodes_.size() - 1);
  }
  uint32_t signal_before(uint32_t id) {
    const uint32_t signal = new_signal(id);
    in_front_[id].push_back(signal);
    return signal;
  }
  uint32_t signal_behind(uint32_t id) {
    const uint32_t signal = new_signal(id);
    behind_[id].push_back(signal);
    return signal;
  }

  /// Ordered queue and waiting queue -> commands that are waited for; each posts once, and each wait takes one.
  using Posted = std::map<std::pair<uint32_t, uint32_t>, std::set<uint32_t>>;

  /// All nodes in one order, with what they wait for by queue.
  std::vector<uint32_t> numbered() {
    std::vector<uint32_t> all;
    for (const uint32_t id : sequence_) {
      if (const auto front = in_front_.find(id); front != in_front_.end())
        all.insert(all.end(), front->second.begin(), front->second.end());
      all.push_back(id);
      if (const auto back = behind_.find(id); back != behind_.end())
        all.insert(all.end(), back->second.begin(), back->second.end());
    }
    uint32_t signals = 0;
    for (const uint32_t id : all)
      if (nodes_[id].queue == WEFT_QUEUE_SYNC) nodes_[id].index = signals++;
    for (const uint32_t id : all) {
      if (nodes_[id].queue == WEFT_QUEUE_SYNC) continue;
      uint32_t& reached = nodes_[id].reached[WEFT_QUEUE_SYNC];
      reached = 0;
      for (const uint32_t signal : nodes_[id].signals) reached = std::max(reached, nodes_[signal].index + 1);
    }
    drop_known(all);
    return all;
  }

  /// A SIGNAL posts for two queues; another one right behind it for two more. True: there are such.
  bool relieve_signals(const std::vector<uint32_t>& all) {
    std::vector<uint32_t> signals;
    for (const uint32_t id : all)
      if (nodes_[id].queue == WEFT_QUEUE_SYNC) signals.push_back(id);
    std::map<uint32_t, std::map<uint32_t, uint32_t>> waiters;  // SIGNAL -> queue -> the node that waits for it
    for (const uint32_t id : all)
      if (const uint32_t reached = nodes_[id].reached[WEFT_QUEUE_SYNC]; reached != 0)
        waiters[signals[reached - 1]][nodes_[id].queue] = id;
    bool any = false;
    for (const auto& [signal, by_queue] : waiters) {
      if (by_queue.size() <= 2) continue;
      any = true;
      const uint32_t second = signal_behind(signal);
      for (auto waiter = std::next(by_queue.begin(), 2); waiter != by_queue.end(); waiter++)
        nodes_[waiter->second].signals.push_back(second);
    }
    return any;
  }

  std::optional<std::vector<SynchronizedCommand>> number() {
    std::vector<uint32_t> all = numbered();
    if (relieve_signals(all)) all = numbered();
    note_carried(all);
    Posted posted;
    for (const uint32_t id : all)
      for (const uint32_t q : kOrdered)
        if (nodes_[id].reached[q] != 0) posted[{q, nodes_[id].queue}].insert(nodes_[id].reached[q] - 1);
    if (!within_count(all, posted)) return std::nullopt;
    std::vector<SynchronizedCommand> result;
    for (const uint32_t id : all)
      result.push_back({nodes_[id].command, nodes_[id].queue, header_of(nodes_[id], posted), nodes_[id].turn});
    return result;
  }

  /// Whether no counter holds more tokens at a time than it can. When a command posts, those have been taken for sure that
  /// were taken by commands which it knows to have retired.
  [[nodiscard]] bool within_count(const std::vector<uint32_t>& all, const Posted& posted) const {
    for (const auto& [queues, commands] : posted) {
      if (commands.size() <= kMaxTokens) continue;
      const auto [from, to] = queues;
      std::vector<uint32_t> takers;  // indices in their queue, ascending
      for (const uint32_t id : all)
        if (nodes_[id].queue == to && nodes_[id].reached[from] != 0) takers.push_back(nodes_[id].index);
      size_t posts = 0;
      for (const uint32_t id : all) {
        if (nodes_[id].queue != from || !commands.contains(nodes_[id].index)) continue;
        const auto taken = std::ranges::lower_bound(takers, retired_for_sure(nodes_[id].at_start, to)) - takers.begin();
        if (++posts > kMaxTokens + static_cast<size_t>(taken)) return false;
      }
    }
    return true;
  }
  /// So many commands of the queue, from its first one on.
  [[nodiscard]] static uint32_t retired_for_sure(const Knowledge& known, uint32_t queue) {
    return known.missing[queue].empty() ? known.all[queue] : known.missing[queue].front();
  }

  void note_carried(const std::vector<uint32_t>& all) {
    std::array<uint32_t, kQueues> begin{};  // commands of the turns before
    for (const uint32_t id : all)
      if (nodes_[id].turn == 0) begin[nodes_[id].queue]++;
    for (const uint32_t id : all)
      for (const uint32_t q : kOrdered)
        if (const uint32_t reached = nodes_[id].reached[q]; nodes_[id].turn == 1 && reached != 0 && reached <= begin[q])
          carried_[counter(q, nodes_[id].queue)]++;
  }

  [[nodiscard]] spec::CommandHeader header_of(const Node& node, const Posted& posted) const {
    spec::CommandHeader header;
    for (const uint32_t q : kOrdered)
      if (node.reached[q] != 0) wait(header, counter(q, node.queue), 1);
    if (!node.loads.empty()) wait(header, static_cast<uint8_t>(node.owned), static_cast<uint16_t>(node.loads.size()));
    for (const uint32_t owner : node.owners) post(header, static_cast<uint8_t>(nodes_[owner].owned));
    if (retires_in_order(node.queue))
      for (uint32_t q = 0; q < kQueues; q++)
        if (const auto found = posted.find({node.queue, q});
            found != posted.end() && found->second.contains(node.index))
          post(header, counter(node.queue, q));
    return header;
  }
  static void wait(spec::CommandHeader& header, uint8_t semaphore, uint16_t count) {
    const bool first = header.wait_sem0 == WEFT_NO_SEMAPHORE;
    (first ? header.wait_sem0 : header.wait_sem1) = semaphore;
    (first ? header.wait_count0 : header.wait_count1) = count;
  }
  static void post(spec::CommandHeader& header, uint8_t semaphore) {
    const bool first = header.post_sem0 == WEFT_NO_SEMAPHORE;
    (first ? header.post_sem0 : header.post_sem1) = semaphore;
    (first ? header.post_count0 : header.post_count1) = 1;
  }

  const CommandGraph& graph_;
  const std::vector<uint32_t>& order_;
  const std::vector<std::vector<uint32_t>>& before_;
  std::vector<uint32_t> node_of_;  ///< by command
  std::vector<Node> nodes_;
  std::vector<uint32_t> sequence_;
  std::vector<uint8_t> far_;                                     ///< by command; 1: yes
  std::map<uint32_t, uint32_t> told_by_;                         ///< load -> SIGNAL
  std::map<uint32_t, std::vector<uint32_t>> in_front_, behind_;  ///< SIGNALs
  std::array<uint32_t, kQueues> count_{};
  std::array<Knowledge, kQueues> known_;
  std::array<uint32_t, kOwned> last_owner_;
  std::array<unsigned, kQueues> held_{};  ///< semaphores whose first owner was of the queue
  const uint32_t owned_semaphores_;
  const Rings* const rings_;
  const size_t turn_commands_;
  uint32_t turn_ = 0;
  std::array<uint16_t, WEFT_SEMAPHORES> carried_{};
  std::array<uint32_t, kQueues> owners_{};  ///< in this turn
};

}  // namespace weft::compiler::command_graph
