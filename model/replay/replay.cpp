#include "model/replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "model/ici/event_queue.hpp"
#include "model/ici/slice_links.hpp"
#include "model/replay/group_operation.hpp"
#include "model/replay/node_duration.hpp"
#include "model/replay/rank_state.hpp"

namespace weft::replay {
namespace {

using ici::Message;

class Replay {
 public:
  Replay(const ici::Slice& slice, const std::vector<PlacedJob>& jobs, const ReplayOptions& options)
      : topology_(slice.topology()),
        rate_{.bytes_per_second = static_cast<double>(slice.generation->link_bytes_per_second),
              .optical = options.optical},
        options_(options),
        jobs_(jobs),
        links_(ici::make_slice_links(topology_,
                                     {.link_bytes_per_second = slice.generation->link_bytes_per_second,
                                      .framing = options.framing,
                                      .grain = options.grain,
                                      .optical = options.optical},
                                     [this](const Message& message, Femtoseconds at) { arrived(message, at); })) {}

  std::variant<ReplayResult, std::string> run() {
    if (auto error = enter_jobs(); !error.empty()) return error;
    for (uint32_t rank = 0; rank < ranks_.size(); rank++) go_on(rank);
    while (true) {
      const auto next = std::min(links_->next_event(), events_.next_time());
      if (next == ici::kNever) break;
      if (next > kLongest)
        return "the replay takes more than two and a half hours, which the model's clock cannot hold";
      now_ = next;
      finished_.clear();
      if (links_->next_event() <= now_) links_->run_until(now_);
      while (events_.next_time() <= now_) {
        const auto event = events_.take();
        end(event.subject, event.object);
      }
    }
    if (auto error = describe_stuck(); !error.empty()) return error;
    return result();
  }

 private:
  static constexpr Femtoseconds kLongest = std::numeric_limits<Femtoseconds>::max() / 2;
  static constexpr uint16_t kEnd = 0;  // of a node: rank, place

  /// A rank of one of the jobs.
  struct Rank {
    RankState state;
    uint32_t chip;
    uint32_t job;
  };
  /// A communication under way.
  struct State {
    uint32_t come = 0;  // of its nodes, have begun
    uint32_t messages_left = 0;
    bool arrived = false;
    std::unique_ptr<GroupOperation> operation;
  };
  struct Joined {
    Communications found;
    std::vector<State> states;
    uint32_t first_rank;
  };
  /// A message on its way: whose it is, and its sender's tag.
  struct UnderWay {
    uint32_t job, communication;
    uint64_t tag;
  };

  std::string enter_jobs() {
    for (const auto& placed : jobs_) {
      auto found = match(*placed.job);
      if (auto* error = std::get_if<std::string>(&found)) return std::move(*error);
      auto& joined = joined_.emplace_back();
      joined.found = std::move(std::get<Communications>(found));
      joined.states.resize(joined.found.all.size());
      joined.first_rank = static_cast<uint32_t>(ranks_.size());
      for (size_t rank = 0; rank < placed.chips.size(); rank++) {
        const auto& trace = placed.job->ranks[rank];
        for (const auto& node : trace.nodes)
          if (!node_duration(node, options_))
            return fmt::format("{}: num_ops or tensor_size: takes more than an hour", chakra::describe(trace, node));
        ranks_.push_back({RankState(trace), placed.chips[rank], static_cast<uint32_t>(joined_.size() - 1)});
      }
    }
    return {};
  }

  /// Begins what nothing holds back any more.
  void go_on(uint32_t rank) {
    auto& state = ranks_[rank].state;
    for (const auto node : state.take_free()) {
      const auto unit = unit_of(state.node(node));
      if (unit != kUnits)
        state.wait_for_unit(unit, node);
      else
        begin(rank, node);
    }
    for (size_t unit = 0; unit < kUnits; unit++)
      if (const auto node = state.next_of(unit); node != RankState::kNone) begin(rank, node);
  }

  void begin(uint32_t rank, uint32_t node) {
    auto& here = ranks_[rank];
    here.state.begin(node, now_);
    const auto& joined = joined_[here.job];
    const auto communication = joined.found.of_node[rank - joined.first_rank][node];
    if (communication != Communications::kNone) return come(here.job, communication, {rank - joined.first_rank, node});
    const bool takes_time = unit_of(here.state.node(node)) != kUnits;
    end_at(rank, node, takes_time ? *node_duration(here.state.node(node), options_) : 0);
  }

  /// Through the queue, so that chains of nodes that take no time are no recursion.
  void end_at(uint32_t rank, uint32_t node, Femtoseconds after) { events_.add(now_ + after, kEnd, rank, node); }

  void end(uint32_t rank, uint32_t node) {
    ranks_[rank].state.end(node, now_);
    go_on(rank);
  }

  void end_of(uint32_t job, NodePlace at) { end_at(joined_[job].first_rank + at.rank, at.node, 0); }

  [[nodiscard]] uint32_t chip_of(uint32_t job, NodePlace at) const {
    return ranks_[joined_[job].first_rank + at.rank].chip;
  }

  /// A node of a communication has begun.
  void come(uint32_t job, uint32_t number, NodePlace at) {
    const auto& what = joined_[job].found.all[number];
    auto& state = joined_[job].states[number];
    state.come++;
    if (!what.is_transfer) {
      if (state.come == what.nodes.size()) begin_collective(job, number);
      return;
    }
    if (at.rank == what.nodes[0].rank && at.node == what.nodes[0].node) {
      const auto messages = spread(topology_, chip_of(job, what.nodes[0]), chip_of(job, what.nodes[1]), what.bytes);
      state.messages_left = static_cast<uint32_t>(messages.size());
      for (const auto& message : messages) send(job, number, message);
    } else if (state.arrived) {
      end_of(job, at);
    }
  }

  void begin_collective(uint32_t job, uint32_t number) {
    const auto& what = joined_[job].found.all[number];
    std::vector<uint32_t> chips;
    for (const auto& at : what.nodes) chips.push_back(chip_of(job, at));
    const auto shape = shape_of(topology_, chips);
    const auto root = std::ranges::find(shape.chips, chips[what.root]) - shape.chips.begin();
    joined_[job].states[number].operation =
        make_group_operation(topology_, rate_, shape, {what.type, what.bytes, static_cast<uint32_t>(root)},
                             [this, job, number](const Message& message) { send(job, number, message); });
    joined_[job].states[number].operation->start();
    end_if_finished(job, number);
  }

  void end_if_finished(uint32_t job, uint32_t number) {
    auto& state = joined_[job].states[number];
    if (!state.operation->finished()) return;
    state.arrived = true;
    for (const auto& at : joined_[job].found.all[number].nodes) end_of(job, at);
    finished_.push_back(std::move(state.operation));  // it may be what has called
  }

  void send(uint32_t job, uint32_t number, Message message) {
    uint32_t place = 0;
    if (free_.empty()) {
      place = static_cast<uint32_t>(under_way_.size());
      under_way_.emplace_back();
    } else {
      place = free_.back();
      free_.pop_back();
    }
    under_way_[place] = {job, number, message.tag};
    message.tag = place;
    links_->send(message, now_);
  }

  void arrived(Message message, Femtoseconds at) {
    now_ = at;
    const auto place = static_cast<uint32_t>(message.tag);
    const auto [job, number, tag] = under_way_[place];
    free_.push_back(place);
    message.tag = tag;
    const auto& what = joined_[job].found.all[number];
    auto& state = joined_[job].states[number];
    if (!what.is_transfer) {
      state.operation->delivered(message);
      end_if_finished(job, number);
      return;
    }
    if (--state.messages_left != 0) return;
    state.arrived = true;
    end_of(job, what.nodes[0]);
    if (state.come == 2) end_of(job, what.nodes[1]);
  }

  /// Whom a communication that has begun waits for; empty: all is done.
  [[nodiscard]] std::string describe_stuck() const {
    for (uint32_t job = 0; job < joined_.size(); job++)
      for (size_t number = 0; number < joined_[job].states.size(); number++) {
        if (joined_[job].states[number].arrived) continue;
        const auto& nodes = joined_[job].found.all[number].nodes;
        const auto begun = [&](NodePlace at) {
          return ranks_[joined_[job].first_rank + at.rank].state.has_begun(at.node);
        };
        const auto waits = std::ranges::find_if(nodes, begun), late = std::ranges::find_if_not(nodes, begun);
        if (waits == nodes.end() || late == nodes.end()) continue;
        return fmt::format("{} waits for {}, which never begins: ranks wait for each other", describe(job, *waits),
                           describe(job, *late));
      }
    return {};
  }

  [[nodiscard]] std::string describe(uint32_t job, NodePlace at) const {
    const auto& trace = jobs_[job].job->ranks[at.rank];
    return chakra::describe(trace, trace.nodes[at.node]);
  }

  ReplayResult result() {
    ReplayResult out;
    for (uint32_t job = 0; job < joined_.size(); job++) {
      auto& times = out.jobs.emplace_back();
      for (uint32_t rank = 0; rank < jobs_[job].chips.size(); rank++) {
        times.ranks.push_back(std::move(ranks_[joined_[job].first_rank + rank].state.times()));
        times.end = std::max(times.end, times.ranks.back().end);
      }
      out.end = std::max(out.end, times.end);
    }
    for (uint32_t chip = 0; chip < topology_.chips(); chip++)
      for (unsigned port = 0; port < ici::kPorts; port++)
        if (const auto busy = links_->busy(chip, port); busy > 0) out.links.push_back({chip, port, busy});
    std::ranges::stable_sort(out.links, [](const LinkLoad& a, const LinkLoad& b) { return a.busy > b.busy; });
    return out;
  }

  const ici::Topology topology_;
  ici::LinkRate rate_;
  const ReplayOptions& options_;
  const std::vector<PlacedJob>& jobs_;
  std::unique_ptr<ici::SliceLinks> links_;
  ici::EventQueue events_;
  Femtoseconds now_ = 0;
  std::vector<Rank> ranks_;
  std::vector<Joined> joined_;  // by job
  std::vector<UnderWay> under_way_;
  std::vector<uint32_t> free_;
  std::vector<std::unique_ptr<GroupOperation>> finished_;
};

}  // namespace

std::variant<ReplayResult, std::string> replay(const ici::Slice& slice, const std::vector<PlacedJob>& jobs,
                                               const ReplayOptions& options) {
  std::vector<bool> taken(slice.chips());
  for (const auto& job : jobs) {
    if (job.chips.size() != job.job->ranks.size())
      return fmt::format("{}: {} ranks on {} chips", job.job->name, job.job->ranks.size(), job.chips.size());
    for (const auto chip : job.chips) {
      if (chip >= slice.chips())
        return fmt::format("{}: chip {} of {}, which has {}", job.job->name, chip, slice.name(), slice.chips());
      if (taken[chip]) return fmt::format("{}: chip {} has a rank already", job.job->name, chip);
      taken[chip] = true;
    }
  }
  return Replay(slice, jobs, options).run();
}

}  // namespace weft::replay
