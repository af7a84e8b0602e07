// Simulates the five queues with the units' closed forms.
#include "host/compiler/command_graph/list_schedule.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "host/compiler/command_graph/unit_times.hpp"

namespace weft::compiler::command_graph {
namespace {

constexpr uint64_t kNever = UINT64_MAX;
constexpr uint64_t kAccBlocksPerBank = 4;
constexpr uint64_t kCommandLatency = 8;
constexpr size_t kHeld = 4;  // commands that an MXU holds until they have retired

/// Places in the ACCs, each for one block of sums at a time. All are as large as the largest block.
class AccPlaces {
 public:
  explicit AccPlaces(const CommandGraph& graph) {
    uint64_t rows = 1;
    for (const Buffer& buffer : graph.buffers())
      if (buffer.space == BufferSpace::kAcc) rows = std::max<uint64_t>(rows, buffer.size);
    const spec::Chip& chip = graph.chip();
    const uint64_t blocks = std::clamp<uint64_t>(chip.acc_bank_rows / rows, 1, kAccBlocksPerBank);
    taken_.resize(2 * chip.num_mxu);
    for (uint64_t u = 0; u < chip.num_mxu; u++)
      for (uint64_t i = 0; i < blocks; i++)
        for (uint64_t bank = 0; bank < 2; bank++)
          places_.push_back({static_cast<uint8_t>(u), 2 * u + bank,
                             (2 * u + bank) * chip.acc_bank_rows + i * (chip.acc_bank_rows / blocks), 0});
  }

  struct Place {
    uint8_t mxu;
    uint64_t bank;  ///< counted over all MXUs
    uint64_t row;
    uint64_t free_at;  ///< kNever: taken
  };
  /// The place where a product can start first; of those, of the MXU that has rested longest, and there in the bank
  /// with fewer sums that the vector unit has yet to read: a product that adds to sums keeps it from their bank. Of
  /// several MXUs one that does (`alone`) begins in a bank without others.
  [[nodiscard]] std::optional<size_t> best(const std::vector<uint64_t>& mxu_free, bool alone) const {
    std::optional<size_t> found;
    const auto key = [&](const Place& p) {
      return std::tuple(std::max(p.free_at, mxu_free[p.mxu]), mxu_free[p.mxu], taken_[p.bank], p.free_at);
    };
    for (size_t i = 0; i < places_.size(); i++)
      if (is_free(places_[i], alone) && (!found || key(places_[i]) < key(places_[*found]))) found = i;
    return found;
  }
  /// How many such products can begin.
  [[nodiscard]] size_t free_places(bool alone) const {
    return static_cast<size_t>(std::ranges::count_if(places_, [&](const Place& p) { return is_free(p, alone); }));
  }
  void take(size_t place) {
    places_[place].free_at = kNever;
    taken_[places_[place].bank]++;
  }
  void release(size_t place, uint64_t at) {
    places_[place].free_at = at;
    taken_[places_[place].bank]--;
  }
  const Place& operator[](size_t i) const { return places_[i]; }

 private:
  [[nodiscard]] bool is_free(const Place& place, bool alone) const {
    return place.free_at != kNever && (!alone || taken_[place.bank] == 0);
  }

  std::vector<Place> places_;
  std::vector<uint32_t> taken_;  ///< by bank
};

class ListScheduler {
 public:
  ListScheduler(const CommandGraph& graph, const std::vector<std::vector<uint32_t>>& before,
                const ScheduleLimits& limits)
      : graph_(graph), before_(before), limits_(limits), chip_(graph.chip()), acc_(graph) {
    const size_t n = graph.commands().size();
    missing_.resize(n), ready_at_.resize(n), after_.resize(n), loads_used_.resize(n), place_.resize(n);
    taken_.resize(n);
    users_.resize(graph.buffers().size()), acc_place_.resize(graph.buffers().size());
    opened_.resize(graph.buffers().size()), adds_.resize(graph.buffers().size());
    mxu_free_.resize(chip_.num_mxu), held_.resize(chip_.num_mxu);
    result_.mxu.resize(n), result_.acc_bases.resize(graph.buffers().size());
    waiting_for_place_.resize(graph.buffers().size());
    for (uint32_t i = 0; i < n; i++) {
      missing_[i] = before[i].size();
      for (const uint32_t p : before[i]) after_[p].push_back(i);
      auto& queue = waiting_[graph.commands()[i].queue];
      place_[i] = static_cast<uint32_t>(queue.size());
      queue.push_back(i);
      for_each_buffer(i, [&](BufferId b) { users_[index_of(b)]++; });
      if (const auto* mxu = std::get_if<spec::MxuCommand>(&graph.commands()[i].body))
        if (mxu->m >= chip_.n && (mxu->seed == WEFT_MXU_SEED_KEEP || mxu->k > chip_.n))
          adds_[index_of(graph.commands()[i].d)] = 1;
    }
    for (uint32_t i = 0; i < n; i++)
      if (missing_[i] == 0) make_ready(i);
  }

  Schedule run() {
    for (size_t n = graph_.commands().size(); result_.order.size() < n;) {
      auto next = choose(false);
      // What others send may be long in coming: a load goes past the limits rather than wait for it.
      if (!next || is_arrival(next->command)) {
        const auto forced = choose(true);
        if (!next || (forced && forced->start < next->start)) next = forced;
      }
      if (!next) return {};
      take(*next);
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_arrival(uint32_t command) const {
    return std::holds_alternative<Arrival>(graph_.commands()[command].body);
  }

  struct Choice {
    uint32_t command;
    uint64_t start;
    std::optional<size_t> acc;  ///< place that it opens
    /// What has begun goes on before a new block begins.
    [[nodiscard]] std::pair<uint64_t, bool> key() const { return {start, acc.has_value()}; }
  };

  template <typename F>
  void for_each_buffer(uint32_t command, F f) const {
    const GraphCommand& c = graph_.commands()[command];
    if (c.a != kNoBuffer) f(c.a);
    if (c.b != kNoBuffer && c.b != c.a) f(c.b);
    if (c.d != kNoBuffer && c.d != c.a && c.d != c.b) f(c.d);
    if (c.kept != kNoBuffer && c.kept != c.b && c.kept != c.d) f(c.kept);
  }

  /// It waits for no other command; perhaps a product waits for a place in ACC.
  void make_ready(uint32_t command) {
    const GraphCommand& c = graph_.commands()[command];
    if (c.queue != WEFT_QUEUE_MXU || opened_[index_of(c.d)] != 0) return void(ready_[c.queue].insert(command));
    without_place_[alone(c) ? 1 : 0].insert(command);
    waiting_for_place_[index_of(c.d)].push_back(command);
  }

  /// The sums have their place now, and so have all products that add to them.
  void open_sums(BufferId sums, size_t place) {
    acc_place_[index_of(sums)] = place;
    acc_.take(place);
    result_.acc_bases[index_of(sums)] = acc_[place].row;
    for (const uint32_t command : std::exchange(waiting_for_place_[index_of(sums)], {})) {
      without_place_[alone(graph_.commands()[command]) ? 1 : 0].erase(command);
      ready_[WEFT_QUEUE_MXU].insert(command);
    }
  }

  /// The first command of all queues by its start; loads beyond the limits only if `forced`.
  std::optional<Choice> choose(bool forced) {
    std::optional<Choice> best;
    for (size_t q = 0; q < waiting_.size(); q++) {
      if (q == WEFT_QUEUE_DMA_IN && !forced && loads_ahead_ >= limits_.loads_ahead) continue;
      const auto choice = choose_of(q, forced);
      if (choice && (!best || choice->key() < best->key())) best = choice;
    }
    return best;
  }

  /// Of those that are as good as each other the first one in the graph's order.
  [[nodiscard]] std::optional<Choice> choose_of(size_t queue, bool forced) const {
    std::optional<Choice> best;
    const auto better = [&](const Choice& choice) {
      if (!best || std::pair(choice.key(), choice.command) < std::pair(best->key(), best->command)) best = choice;
    };
    const uint64_t earliest = earliest_start(queue);
    for (const uint32_t command : ready_[queue]) {
      if (is_beyond(command, forced && queue == WEFT_QUEUE_DMA_IN ? 1 : limits_.window)) break;
      const auto choice = start_of(command, forced);
      if (!choice) continue;
      better(*choice);
      if (choice->start == earliest) return best;  // none behind it is better
    }
    if (queue == WEFT_QUEUE_MXU)
      for (const bool alone : {false, true}) choose_without_place(alone, earliest, better);
    return best;
  }

  /// Of products whose sums have no place yet.
  template <typename Better>
  void choose_without_place(bool alone, uint64_t earliest, Better better) const {
    if (without_place_[alone ? 1 : 0].empty()) return;
    const auto place = acc_.best(mxu_free_, alone);
    if (!place) return;
    // The last place is for the oldest product: those behind it might wait for what it computes.
    const uint32_t window = acc_.free_places(alone) < 2 ? 1 : limits_.window;
    for (const uint32_t command : without_place_[alone ? 1 : 0]) {
      if (is_beyond(command, window)) return;
      const uint64_t start = mxu_start(std::max(ready_at_[command], acc_[*place].free_at), acc_[*place].mxu);
      better(Choice{command, start, place});
      if (start == earliest) return;
    }
  }

  /// Whether it stands too far behind the oldest command of its queue.
  [[nodiscard]] bool is_beyond(uint32_t command, uint32_t window) const {
    const auto queue = graph_.commands()[command].queue;
    return place_[command] - oldest_[queue] >= window ||
           command / limits_.turn_commands != waiting_[queue][oldest_[queue]] / limits_.turn_commands;
  }

  /// No command of the queue starts before.
  [[nodiscard]] uint64_t earliest_start(size_t queue) const {
    if (queue == WEFT_QUEUE_VPU) return vpu_free_;
    if (queue == WEFT_QUEUE_DMA_OUT) return dma_out_free_;
    if (queue == WEFT_QUEUE_DMA_IN) return dma_in_free_;
    if (queue == WEFT_QUEUE_SYNC) return sync_free_;
    uint64_t earliest = kNever;
    for (uint8_t mxu = 0; mxu < chip_.num_mxu; mxu++) earliest = std::min(earliest, mxu_start(0, mxu));
    return earliest;
  }

  /// Of a product, whose sums have their place.
  [[nodiscard]] std::optional<Choice> start_of(uint32_t command, bool forced) const {
    const GraphCommand& c = graph_.commands()[command];
    const uint64_t at = ready_at_[command];
    if (c.queue == WEFT_QUEUE_VPU) return Choice{command, std::max(at, vpu_free_), {}};
    if (c.queue == WEFT_QUEUE_DMA_OUT) return Choice{command, std::max(at, dma_out_free_), {}};
    if (c.queue == WEFT_QUEUE_SYNC) return Choice{command, std::max(at, sync_free_), {}};
    if (c.queue == WEFT_QUEUE_MXU) return Choice{command, mxu_start(at, acc_[acc_place_[index_of(c.d)]].mxu), {}};
    const bool fits =
        opened_[index_of(c.d)] != 0 || live_words_ + graph_.buffers()[index_of(c.d)].size <= limits_.vmem_words;
    if (!forced && !fits) return std::nullopt;
    return Choice{command, std::max(at, dma_in_free_), {}};
  }

  /// Of several MXUs, sums that a product adds to.
  [[nodiscard]] bool alone(const GraphCommand& c) const {
    return limits_.own_banks && chip_.num_mxu > 1 && adds_[index_of(c.d)] != 0;
  }

  /// When an MXU begins with a command that is ready: it holds so many at most, and all MXUs retire in one order.
  [[nodiscard]] uint64_t mxu_start(uint64_t ready, uint8_t mxu) const {
    return std::max({ready, mxu_free_[mxu], held_[mxu][0]});
  }

  void take(const Choice& choice) {
    const uint32_t command = choice.command;
    const GraphCommand& c = graph_.commands()[command];
    if (choice.acc) open_sums(c.d, *choice.acc);
    const uint64_t end = run_on_unit(command, choice.start);
    for_each_buffer(command, [&](BufferId b) { use(b, end); });
    for (const uint32_t p : before_[command])
      if (graph_.commands()[p].queue == WEFT_QUEUE_DMA_IN && std::exchange(loads_used_[p], uint8_t{1}) == 0)
        loads_ahead_--;
    for (const uint32_t next : after_[command]) {
      if (--missing_[next] == 0) make_ready(next);
      const GraphCommand& n = graph_.commands()[next];
      const bool follows =
          n.queue == c.queue && (c.queue == WEFT_QUEUE_MXU || c.queue == WEFT_QUEUE_VPU);  // needs no semaphore
      uint64_t ready = follows ? choice.start : end + kCommandLatency;
      // What others send arrives when what this chip sends does at them.
      if (is_arrival(next) && c.queue == WEFT_QUEUE_DMA_OUT) ready = arrives_at_;
      ready_at_[next] = std::max(ready_at_[next], ready);
    }
    taken_[command] = 1;
    ready_[c.queue].erase(command);
    const auto& queue = waiting_[c.queue];
    for (uint32_t& oldest = oldest_[c.queue]; oldest < queue.size() && taken_[queue[oldest]] != 0;) oldest++;
    result_.order.push_back(command);
  }

  void use(BufferId b, uint64_t end) {
    const size_t i = index_of(b);
    const bool vmem = graph_.buffers()[i].space == BufferSpace::kVmem;
    if (std::exchange(opened_[i], uint8_t{1}) == 0 && vmem) live_words_ += graph_.buffers()[i].size;
    if (--users_[i] != 0) return;
    if (vmem)
      live_words_ -= graph_.buffers()[i].size;
    else
      acc_.release(acc_place_[i], end);
  }

  /// When the command's writes are visible.
  uint64_t run_on_unit(uint32_t command, uint64_t start) {
    const GraphCommand& c = graph_.commands()[command];
    const auto* dma = std::get_if<spec::DmaCommand>(&c.body);
    const auto* rows = std::get_if<spec::IndexedCommand>(&c.body);
    if (dma != nullptr || rows != nullptr) {
      const bool in = c.queue == WEFT_QUEUE_DMA_IN;
      uint64_t& free = in ? dma_in_free_ : dma_out_free_;
      if (dma != nullptr && is_remote(*dma)) return send(command, *dma, start);
      free = start + (dma != nullptr ? unit_cycles(chip_, *dma) : unit_cycles(chip_, *rows));
      if (in && !after_[command].empty()) loads_ahead_++;
      return free + (in ? chip_.hbm_read_latency_cycles : chip_.hbm_write_latency_cycles);
    }
    if (const auto* mxu = std::get_if<spec::MxuCommand>(&c.body)) {
      const auto place = acc_[acc_place_[index_of(c.d)]];
      result_.mxu[command] = place.mxu;
      mxu_free_[place.mxu] = start + unit_cycles(chip_, *mxu);
      retired_ = std::max(retired_ + 1, mxu_free_[place.mxu] + (uint64_t{chip_.pe_latency} + 1) * chip_.n);
      auto& held = held_[place.mxu];
      std::ranges::rotate(held, held.begin() + 1);
      held.back() = retired_;
      return retired_;
    }
    if (c.queue == WEFT_QUEUE_SYNC) {
      const bool barrier = std::holds_alternative<spec::BarrierCommand>(c.body);
      return sync_free_ = start + (barrier ? 2 * graph_.links().hop_cycles : 1);
    }
    const auto busy =
        static_cast<uint64_t>(std::ranges::count_if(mxu_free_, [&](uint64_t free) { return free > start; }));
    vpu_free_ = start + vpu_cycles_beside(chip_, std::get<spec::VpuCommand>(c.body), busy);
    return vpu_free_;
  }

  /// When its words have been read. Links take what they have room for, as much as is on its way in a hop there and
  /// back, and the queue waits for the rest.
  uint64_t send(uint32_t command, const spec::DmaCommand& dma, uint64_t start) {
    const uint64_t hop = graph_.links().hop_cycles;
    link_free_ = std::max(link_free_, start) + graph_.link_cycles(command);
    dma_out_free_ = std::max(start + unit_cycles(chip_, dma), link_free_ - std::min(link_free_, 2 * hop));
    arrives_at_ = link_free_ + hop;
    return dma_out_free_;
  }

  const CommandGraph& graph_;
  const std::vector<std::vector<uint32_t>>& before_;
  const ScheduleLimits limits_;
  const spec::Chip& chip_;
  std::array<std::vector<uint32_t>, WEFT_CORE_QUEUES> waiting_;  ///< in the graph's order, from oldest_ on
  std::array<uint32_t, WEFT_CORE_QUEUES> oldest_{};
  /// Commands that wait for no other command; products whose sums have no place in ACC are not among them.
  std::array<std::set<uint32_t>, WEFT_CORE_QUEUES> ready_;
  std::array<std::set<uint32_t>, 2> without_place_;       ///< these products: for any bank, and alone() ones
  std::vector<std::vector<uint32_t>> waiting_for_place_;  ///< the same by buffer of ACC
  std::vector<uint32_t> place_;                           ///< by command: in its queue
  std::vector<uint8_t> taken_;                            ///< 1: yes
  std::vector<size_t> missing_;
  std::vector<uint64_t> ready_at_;
  std::vector<std::vector<uint32_t>> after_;
  std::vector<uint8_t> loads_used_;  ///< 1: yes
  std::vector<uint32_t> users_;      ///< by buffer: commands still to come
  std::vector<uint8_t> opened_;      ///< 1: yes
  std::vector<uint8_t> adds_;        ///< by buffer of ACC: a product of N rows or more adds to what is there; 1: yes
  std::vector<size_t> acc_place_;
  AccPlaces acc_;
  std::vector<uint64_t> mxu_free_;
  std::vector<std::array<uint64_t, kHeld>> held_;  ///< by MXU: when its last commands have retired, the oldest first
  uint64_t retired_ = 0;                           ///< when all products so far have
  uint64_t vpu_free_ = 0, dma_in_free_ = 0, dma_out_free_ = 0, sync_free_ = 0, link_free_ = 0, arrives_at_ = 0,
           live_words_ = 0;
  uint32_t loads_ahead_ = 0;
  Schedule result_;
};

}  // namespace

Schedule list_schedule(const CommandGraph& graph, const std::vector<std::vector<uint32_t>>& before,
                       const ScheduleLimits& limits) {
  return ListScheduler(graph, before, limits).run();
}

}  // namespace weft::compiler::command_graph
