// Waits and posts alone: five queues that start and retire in random order, without what the commands compute.
#include "host/compiler/command_graph/synchronization.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

using namespace weft;
using namespace weft::compiler::command_graph;

namespace {

/// Commands in an order of all queues, and before which others each runs.
class Commands {
 public:
  Commands()
      : graph_(*spec::find_chip("nano")),
        buffer_(graph_.add_buffer(BufferSpace::kVmem, 1)),
        sums_(graph_.add_buffer(BufferSpace::kAcc, 1)) {}

  uint32_t load(std::vector<uint32_t> before = {}) {
    graph_.load({}, buffer_);
    return add(std::move(before));
  }
  uint32_t vector(std::vector<uint32_t> before) {
    graph_.vector({}, buffer_, kNoBuffer, buffer_);
    return add(std::move(before));
  }
  uint32_t product(std::vector<uint32_t> before) {
    graph_.product({}, buffer_, buffer_, sums_);
    return add(std::move(before));
  }
  uint32_t store(std::vector<uint32_t> before) {
    graph_.store({}, buffer_);
    return add(std::move(before));
  }
  [[nodiscard]] const CommandGraph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<std::vector<uint32_t>>& before() const { return before_; }

 private:
  uint32_t add(std::vector<uint32_t> before) {
    before_.push_back(std::move(before));
    return static_cast<uint32_t>(before_.size() - 1);
  }
  CommandGraph graph_;
  BufferId buffer_, sums_;
  std::vector<std::vector<uint32_t>> before_;
};

/// Runs the queues: a head starts when its waits hold and takes the tokens; DMA commands retire in any order, others in
/// that of their queue.
class Run {
 public:
  Run(const Commands& commands, const std::vector<SynchronizedCommand>& list, uint64_t seed)
      : commands_(commands), list_(list), random_(seed), retired_(commands.before().size()) {
    for (uint32_t i = 0; i < list.size(); i++) queues_[list[i].queue].push_back(i);
  }

  /// Empty: each command ran behind those that it depends on, and no token is left.
  std::string result() {
    for (size_t done = 0; done < list_.size();) {
      std::vector<std::pair<uint32_t, bool>> possible;  // queue; true: start, false: retire
      for (uint32_t q = 0; q < WEFT_CORE_QUEUES; q++) {
        if (head_[q] < queues_[q].size() && holds(list_[queues_[q][head_[q]]].header)) possible.emplace_back(q, true);
        if (!running_[q].empty()) possible.emplace_back(q, false);
      }
      if (possible.empty()) return "hangs after " + std::to_string(done) + " commands";
      const auto [queue, starts] = possible[random_() % possible.size()];
      if (!starts) {
        retire(queue);
        done++;
      } else if (!start(queue)) {
        return "a command runs before one that it depends on";
      }
    }
    for (const uint64_t value : value_)
      if (value != 0) return "a token is left";
    return "";
  }

 private:
  static bool is_dma(uint32_t queue) { return queue == WEFT_QUEUE_DMA_IN || queue == WEFT_QUEUE_DMA_OUT; }
  [[nodiscard]] bool holds(const spec::CommandHeader& h) const {
    return (h.wait_sem0 == WEFT_NO_SEMAPHORE || value_[h.wait_sem0] >= h.wait_count0) &&
           (h.wait_sem1 == WEFT_NO_SEMAPHORE || value_[h.wait_sem1] >= h.wait_count1);
  }
  bool start(uint32_t queue) {
    const uint32_t id = queues_[queue][head_[queue]++];
    const auto& h = list_[id].header;
    if (h.wait_sem0 != WEFT_NO_SEMAPHORE) value_[h.wait_sem0] -= h.wait_count0;
    if (h.wait_sem1 != WEFT_NO_SEMAPHORE) value_[h.wait_sem1] -= h.wait_count1;
    running_[queue].push_back(id);
    if (list_[id].command == kSignal) return true;
    for (const uint32_t needed : commands_.before()[list_[id].command])
      if (!retired_[needed] && (is_dma(queue) || commands_.graph().commands()[needed].queue != queue)) return false;
    return true;
  }
  void retire(uint32_t queue) {
    auto& running = running_[queue];
    const auto at = running.begin() + static_cast<ptrdiff_t>(is_dma(queue) ? random_() % running.size() : 0);
    const auto& h = list_[*at].header;
    if (list_[*at].command != kSignal) retired_[list_[*at].command] = true;
    running.erase(at);
    if (h.post_sem0 != WEFT_NO_SEMAPHORE) value_[h.post_sem0] += h.post_count0;
    if (h.post_sem1 != WEFT_NO_SEMAPHORE) value_[h.post_sem1] += h.post_count1;
  }

  const Commands& commands_;
  const std::vector<SynchronizedCommand>& list_;
  std::mt19937_64 random_;
  std::vector<bool> retired_;  ///< by command of the graph
  std::array<std::vector<uint32_t>, WEFT_CORE_QUEUES> queues_, running_;
  std::array<size_t, WEFT_CORE_QUEUES> head_{};
  std::array<uint64_t, WEFT_SEMAPHORES> value_{};
};

void check(const Commands& commands) {
  std::vector<uint32_t> order(commands.before().size());
  std::iota(order.begin(), order.end(), 0u);
  const auto list = synchronize(commands.graph(), order, commands.before());
  if (!list.ok()) FAIL(list.error().message);
  REQUIRE(list.value().size() >= order.size());
  for (uint64_t seed = 1; seed <= 20; seed++) {
    INFO("seed " << seed);
    CHECK(Run(commands, list.value(), seed).result() == "");
  }
}

}  // namespace

TEST_CASE("a load that its queue has waited for and forgotten needs no counter of that queue itself") {
  Commands c;
  c.load();  // nobody ever waits for it: what is known of later loads is a list
  const uint32_t load = c.load();
  c.vector({load});
  // Each of the semaphores that vector commands may own has an owner younger than the load.
  for (int i = 0; i < 40; i++) c.vector({c.load()});
  for (int i = 0; i < 3000; i++) c.load();
  c.vector({c.load()});  // more loads before it that the queue does not know than it remembers
  c.vector({load});
  // A store that waits for a vector command: its counter is the one that a wait for the own queue would take.
  c.store({c.vector({})});
  check(c);
}

TEST_CASE("a load of long before is told to more queues than a signal posts for") {
  Commands c;
  std::vector<uint32_t> early;
  for (int i = 0; i < 3; i++) early.push_back(c.load());
  for (int i = 0; i < 30; i++) c.vector({c.load()});
  for (const uint32_t load : early) {  // to two, three and four queues
    c.vector({load});
    c.store({load});
    if (load >= early[1]) c.product({load});
    if (load >= early[2]) c.load({load});
  }
  check(c);
}

TEST_CASE("random dependences hold in every order that the semaphores allow") {
  for (uint64_t seed = 1; seed <= 40; seed++) {
    std::mt19937_64 random(seed);
    Commands c;
    std::vector<uint32_t> loads, vectors, stores;
    const auto any = [&](const std::vector<uint32_t>& from) {
      const size_t near = std::min<size_t>(from.size(), random() % 8 == 0 ? 400 : 12);
      return from[from.size() - 1 - random() % near];
    };
    for (int i = 0; i < 800; i++) {
      const auto kind = random() % 8;
      if (loads.empty() || kind < 3) {
        std::vector<uint32_t> before;
        if (!vectors.empty() && kind == 0) before.push_back(any(vectors));
        if (!stores.empty() && kind == 1) before.push_back(any(stores));
        loads.push_back(c.load(before));
      } else if (vectors.empty() || kind < 6) {
        std::vector<uint32_t> before{any(loads)};
        if (const uint32_t second = any(loads); second != before[0]) before.push_back(second);
        if (!stores.empty() && kind == 5) before.push_back(any(stores));
        vectors.push_back(c.vector(before));
      } else {
        stores.push_back(c.store({any(vectors)}));
      }
    }
    INFO("graph of seed " << seed);
    check(c);
  }
}
