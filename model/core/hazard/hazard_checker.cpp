// Hazards: the order that semaphores and queues give, and the pairs of commands that it leaves open.
#include "model/core/hazard/hazard_checker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/core/command/command_text.hpp"
#include "model/core/rtl/rtl_core.hpp"
#include "model/golden/remote.hpp"
#include "weft/spec/names.hpp"

namespace weft::core {
namespace {

/// Any chip of any slice: what it may reach is the receiver's business.
constexpr golden::SlicePlace kAnySlice{.chip = UINT32_MAX, .chips = UINT16_MAX};

bool is_dma(unsigned unit) { return unit < WEFT_CORE_DMA_CHANNELS; }

/// Every segment is there and larger than any offset.
golden::SegmentTable any_segments() {
  golden::SegmentTable table;
  table.fill({0, uint64_t{1} << 62, WEFT_ADDRESS_SPACE_HBM, true, true});
  return table;
}

}  // namespace

/// Empty if the unit refuses the command.
CommandAccesses HazardChecker::accesses(unsigned queue, const spec::Command& command) const {
  const golden::SegmentTable table = segments_ ? *segments_ : any_segments();
  if (golden::check_unit(command, queue, chip_, table, kAnySlice)) return {};
  CommandAccesses out = command_accesses(command, chip_, table);
  if (!segments_)
    for (auto* ranges : {&out.reads, &out.writes})
      std::erase_if(*ranges,
                    [](const AccessRange& r) { return r.space == AccessSpace::kHbm || r.space == AccessSpace::kHost; });
  return out;
}

void HazardChecker::command_started(weft_unit_index unit, const spec::Command& command, uint64_t cycle) {
  const size_t index = nodes_.size();
  Node node{.unit = unit,
            .command = command,
            .header = spec::decode_header(command),
            .accesses = accesses(queue_of_unit(unit), command),
            .retire_event = SIZE_MAX,
            .after = {}};
  const spec::CommandHeader& h = node.header;
  if (h.wait_sem0 < WEFT_SEMAPHORES) waits_[h.wait_sem0].push_back({index, h.wait_count0});
  if (h.wait_sem1 < WEFT_SEMAPHORES) waits_[h.wait_sem1].push_back({index, h.wait_count1});
  start(std::move(node));
  if (next_ != nullptr) next_->command_started(unit, command, cycle);
}

void HazardChecker::start(Node node) {
  running_[node.unit].push_back(nodes_.size());
  events_.push_back({false, nodes_.size()});
  nodes_.push_back(std::move(node));
}

void HazardChecker::command_retired(weft_unit_index unit, const spec::Command& command, uint64_t cycle) {
  if (!running_[unit].empty()) {
    const size_t index = running_[unit].front();
    running_[unit].erase(running_[unit].begin());
    nodes_[index].retire_event = events_.size();
    events_.push_back({true, index});
    const spec::CommandHeader& h = nodes_[index].header;
    if (h.post_sem0 < WEFT_SEMAPHORES) posts_[h.post_sem0].push_back({index, h.post_count0});
    if (h.post_sem1 < WEFT_SEMAPHORES && !golden::is_remote(h)) posts_[h.post_sem1].push_back({index, h.post_count1});
  }
  if (next_ != nullptr) next_->command_retired(unit, command, cycle);
}

/// The closure of what is known to order. The run itself is one order that obeys it, so one pass over the events
/// suffices.
HazardChecker::Order HazardChecker::find_order() const {
  constexpr size_t kNone = SIZE_MAX;
  Order order(nodes_.size());
  std::array<size_t, WEFT_CORE_QUEUES> last_start;
  std::array<size_t, WEFT_CORE_UNITS> last_retire;
  last_start.fill(kNone);
  last_retire.fill(kNone);
  for (size_t e = 0; e < events_.size(); e++) {
    const size_t i = events_[e].node;
    const unsigned unit = nodes_[i].unit;
    if (!events_[e].retires) {
      size_t& before = last_start[queue_of_unit(unit)];
      if (before != kNone) {
        order.starts_before_start.merge(i, order.starts_before_start, before);
        order.starts_before_start.set(i, before);
        order.retires_before_start.merge(i, order.retires_before_start, before);
      }
      for (const auto* posters : {&nodes_[i].after, &nodes_[i].supposed}) {
        for (const size_t poster : *posters) {
          order.starts_before_start.merge(i, order.starts_before_retire, poster);
          order.retires_before_start.merge(i, order.retires_before_retire, poster);
          order.retires_before_start.set(i, poster);
        }
        if (posters == &nodes_[i].after) order.starts_before_wait.merge(i, order.starts_before_start, i);
      }
      before = i;
      continue;
    }
    order.starts_before_retire.merge(i, order.starts_before_start, i);
    order.starts_before_retire.set(i, i);
    order.retires_before_retire.merge(i, order.retires_before_start, i);
    if (!is_dma(unit)) {
      size_t& before = last_retire[is_mxu(unit) ? WEFT_UNIT_MXU : unit];
      if (before != kNone) {
        order.starts_before_retire.merge(i, order.starts_before_retire, before);
        order.retires_before_retire.merge(i, order.retires_before_retire, before);
        order.retires_before_retire.set(i, before);
      }
      before = i;
    }
    if (nodes_[i].header.opcode == WEFT_OPCODE_FENCE) {
      for (size_t j = 0; j < nodes_.size(); j++) {
        if (!order.starts_before_start.test(i, j) || nodes_[j].retire_event > e) continue;
        order.starts_before_retire.merge(i, order.starts_before_retire, j);
        order.retires_before_retire.merge(i, order.retires_before_retire, j);
        order.retires_before_retire.set(i, j);
      }
    }
  }
  return order;
}

/// What a wait has to hold with. It needs its own count and the counts of the waits that always come before it. Of the
/// posts, those that never come before it are no tokens for it; `without[i]` counts those from the i-th on: no more can
/// come behind it, since posts stand here as they came in this run.
HazardChecker::Tokens HazardChecker::tokens(const Order& order, unsigned semaphore, const Use& wait) const {
  Tokens tokens{wait.count, initial_[semaphore], std::vector<uint64_t>(posts_[semaphore].size() + 1)};
  for (const Use& other : waits_[semaphore])
    if (order.starts_before_wait.test(wait.node, other.node)) tokens.needed += other.count;
  for (size_t i = posts_[semaphore].size(); i-- > 0;) {
    const Use& post = posts_[semaphore][i];
    const uint64_t count = order.starts_before_retire.test(post.node, wait.node) ? 0 : post.count;
    tokens.without[i] = tokens.without[i + 1] + count;
  }
  tokens.all += tokens.without[0];
  return tokens;
}

/// True if the wait cannot hold without the `number`-th post: all other tokens that can be there before it are too few.
bool HazardChecker::needs(const Order& order, unsigned semaphore, const Tokens& tokens, size_t number) const {
  const auto& posts = posts_[semaphore];
  const size_t post = posts[number].node;
  while (number > 0 && posts[number - 1].node == post) number--;  // a command can post twice
  uint64_t others = tokens.all - tokens.without[number];
  for (size_t i = number; i < posts.size() && others < tokens.needed; i++)
    if (posts[i].node != post && !order.retires_before_retire.test(posts[i].node, post))
      others += tokens.without[i] - tokens.without[i + 1];
  return others < tokens.needed;
}

/// Adds posts that waits need. True if any was added.
bool HazardChecker::find_waits(const Order& order) {
  bool added = false;
  for (unsigned s = 0; s < WEFT_SEMAPHORES; s++) {
    for (const Use& wait : waits_[s]) {
      const Tokens of_wait = tokens(order, s, wait);
      for (size_t i = 0; i < posts_[s].size(); i++) {
        const Use& post = posts_[s][i];
        if (order.retires_before_start.test(wait.node, post.node) ||
            order.starts_before_retire.test(post.node, wait.node) || !needs(order, s, of_wait, i))
          continue;
        nodes_[wait.node].after.push_back(post.node);
        added = true;
      }
    }
  }
  return added;
}

/// `order` and the most that waits need if it is all supposed at once. An event comes before another here only as it
/// did in this run, so find_order stays one pass.
HazardChecker::Order HazardChecker::suppose_waits(Order order) {
  struct Supposed {
    unsigned semaphore;
    size_t wait, post;  ///< of the semaphore
  };
  std::vector<size_t> started(nodes_.size());
  for (size_t e = 0; e < events_.size(); e++)
    if (!events_[e].retires) started[events_[e].node] = e;
  std::vector<Supposed> all;
  for (unsigned s = 0; s < WEFT_SEMAPHORES; s++)
    for (size_t w = 0; w < waits_[s].size(); w++)
      for (size_t p = 0; p < posts_[s].size(); p++)
        if (const size_t wait = waits_[s][w].node, post = posts_[s][p].node;
            nodes_[post].retire_event < started[wait] && !order.retires_before_start.test(wait, post))
          all.push_back({s, w, p});
  for (size_t before = SIZE_MAX; before != all.size();) {
    before = all.size();
    for (Node& node : nodes_) node.supposed.clear();
    for (const Supposed& s : all)
      nodes_[waits_[s.semaphore][s.wait].node].supposed.push_back(posts_[s.semaphore][s.post].node);
    order = find_order();
    Tokens of_wait;
    const Supposed* last = nullptr;  // they come wait by wait
    std::vector<Supposed> kept;
    for (const Supposed& s : all) {
      if (last == nullptr || last->semaphore != s.semaphore || last->wait != s.wait)
        of_wait = tokens(order, s.semaphore, waits_[s.semaphore][s.wait]);
      last = &s;
      if (needs(order, s.semaphore, of_wait, s.post)) kept.push_back(s);
    }
    all = std::move(kept);
  }
  return order;
}

/// True if a run never has both at work at once, or their unit does one after the other.
bool HazardChecker::ordered(const Order& order, size_t a, size_t b) const {
  if (nodes_[a].unit == nodes_[b].unit && !is_dma(nodes_[a].unit)) return true;
  return order.retires_before_start.test(b, a) || order.retires_before_start.test(a, b);
}

std::vector<HazardChecker::Meeting> HazardChecker::find_meetings(const Order& order) const {
  std::vector<Meeting> meetings;
  for (size_t b = 0; b < nodes_.size(); b++)
    for (size_t a = 0; a < b; a++)
      if (!ordered(order, a, b))
        if (const auto range = find_conflict(nodes_[a].accesses, nodes_[b].accesses))
          meetings.push_back({a, b, *range});
  return meetings;
}

std::vector<Hazard> HazardChecker::finish() {
  auto hazards = find_hazards();
  forget();
  return hazards;
}

std::vector<Hazard> HazardChecker::finish_window() {
  auto hazards = find_hazards();
  std::vector<size_t> running;
  for (const auto& unit : running_) running.insert(running.end(), unit.begin(), unit.end());
  std::sort(running.begin(), running.end());
  std::vector<Node> go_on;
  for (const size_t index : running) go_on.push_back(std::move(nodes_[index]));
  forget();
  for (Node& node : go_on) {
    node.after.clear(), node.supposed.clear();
    start(std::move(node));  // its waits have taken their tokens already
  }
  return hazards;
}

std::vector<Hazard> HazardChecker::find_hazards() {
  Order order = find_order();
  while (find_waits(order)) order = find_order();
  auto meetings = find_meetings(order);
  if (!meetings.empty()) meetings = find_meetings(suppose_waits(std::move(order)));
  std::vector<Hazard> hazards;
  for (const auto& [a, b, range] : meetings) {
    const Node& first = nodes_[a];
    const Node& second = nodes_[b];
    hazards.push_back({first.command, second.command, first.unit, second.unit, range,
                       fmt::format("nothing orders these two, and they meet at {}:\n  {}: {}\n  {}: {}",
                                   range_text(range), spec::unit_name(first.unit), command_text(first.command),
                                   spec::unit_name(second.unit), command_text(second.command))});
  }
  return hazards;
}

void HazardChecker::forget() {
  nodes_.clear();
  events_.clear();
  for (auto& unit : running_) unit.clear();
  for (auto& uses : waits_) uses.clear();
  for (auto& uses : posts_) uses.clear();
  initial_.fill(0);
}

}  // namespace weft::core
