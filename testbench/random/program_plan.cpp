// Semaphores for a plan.
#include "testbench/random/program_plan.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <numeric>
#include <random>

#include "model/core/command/command_accesses.hpp"
#include "testbench/random/indexed_steps.hpp"
#include "testbench/random/program_ending.hpp"

namespace weft::random {
namespace {

constexpr size_t kMaxCommands = 512;
constexpr unsigned kMaxCount = 65535;
using Set = std::bitset<kMaxCommands>;

/// Semaphores that a command posts. The first may be waited for by many; the second belongs to one waiter.
struct Post {
  uint8_t semaphore = WEFT_NO_SEMAPHORE;
  unsigned count = 0;
  bool closed = false;  // the semaphore serves others now
};

struct Node {
  unsigned queue = 0;
  spec::Command command;
  core::CommandAccesses accesses;
  Set starts_before_start, retires_before_start, starts_before_retire, retires_before_retire;
  std::array<Post, 2> posts;
  std::array<Post, 2> waits;
};

bool in_order(unsigned queue) { return queue != WEFT_QUEUE_DMA_IN && queue != WEFT_QUEUE_DMA_OUT; }

/// A semaphore that the commands of one queue post, in order, and those of another take.
struct Turn {
  uint8_t semaphore = WEFT_NO_SEMAPHORE;
  size_t last_poster = 0;
};

class Lowering {
 public:
  explicit Lowering(const Plan& plan) : plan_(plan), random_(plan.seed * 0x9e3779b97f4a7c15 + 1) {
    std::iota(order_.begin(), order_.end(), uint8_t{0});
    std::shuffle(order_.begin(), order_.end(), random_);
    last_.fill(kNone);
  }

  std::optional<Program> run() {
    std::vector<size_t> node_of;
    for (size_t i = 0; i < plan_.steps.size(); i++) {
      const Step& step = plan_.steps[i];
      if (golden::check_command(step.command, step.queue, *plan_.chip, plan_.segments)) return std::nullopt;
      if (spec::find_opcode(step.command.bytes[0])->body == spec::Body::kIndexed && !indices_bounded(plan_, i))
        return std::nullopt;
      if (!add_step(step, node_of)) return std::nullopt;
      node_of.push_back(nodes_.size() - 1);
    }
    Program program = encoded();
    if (plan_.damage && !damage(program, node_of[plan_.damage->step])) return std::nullopt;
    if (plan_.ending != Ending::kNone && !append_ending(plan_, room(), program)) return std::nullopt;
    return program;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  uint64_t below(uint64_t limit) { return random_() % limit; }

  bool add_step(const Step& step, const std::vector<size_t>& node_of) {
    Node node;
    node.queue = step.queue;
    node.command = step.command;
    node.accesses = core::command_accesses(step.command, *plan_.chip, plan_.segments);
    Set needed;
    for (size_t j = 0; j < nodes_.size(); j++) {
      if (nodes_[j].queue == node.queue && in_order(node.queue)) continue;
      if (core::find_conflict(nodes_[j].accesses, node.accesses)) needed.set(j);
    }
    for (const size_t step_index : step.after)
      if (nodes_[node_of[step_index]].command.bytes[0] != WEFT_OPCODE_WAIT) needed.set(node_of[step_index]);
    if (const size_t before = last_[node.queue]; before != kNone) needed &= ~nodes_[before].retires_before_start;
    prefer_fence(needed);
    reduce(needed);
    while (needed.count() > 2 && !(needed.count() < 6 && below(3) == 0 && can_join(needed)))
      if (!gather(needed)) return false;
    return wait_for(node, needed) && append(std::move(node));
  }

  /// Sometimes a fence stands for what it comes after.
  void prefer_fence(Set& needed) {
    for (size_t j = nodes_.size(); j-- > 0;) {
      if (nodes_[j].command.bytes[0] != WEFT_OPCODE_FENCE) continue;
      const Set covered = needed & nodes_[j].retires_before_retire;
      if (covered.none() || below(2) == 0) return;
      needed &= ~covered;
      needed.set(j);
      return;
    }
  }

  /// Drops what comes before another one of the set anyway.
  void reduce(Set& needed) const {
    for (size_t k = 0; k < nodes_.size(); k++) {
      if (!needed[k]) continue;
      needed &= ~nodes_[k].retires_before_retire;
      needed.set(k);
    }
  }

  /// A SIGNAL that waits for two of them takes their place.
  bool gather(Set& needed) {
    Node signal;
    signal.queue = WEFT_QUEUE_SYNC;
    spec::CommandHeader header;
    header.opcode = WEFT_OPCODE_SIGNAL;
    header.tag = static_cast<uint16_t>(0x8000 + nodes_.size());
    signal.command = spec::encode(spec::NoneCommand{header});
    Set pair;
    for (size_t j = 0; j < nodes_.size() && pair.count() < 2; j++)
      if (needed[j]) pair.set(j);
    if (!wait_for(signal, pair) || !append(std::move(signal))) return false;
    needed &= ~pair;
    needed.set(nodes_.size() - 1);
    reduce(needed);
    return true;
  }

  [[nodiscard]] bool can_join(const Set& needed) const {
    for (size_t j = 0; j < nodes_.size(); j++)
      if (needed[j] && nodes_[j].posts[1].semaphore != WEFT_NO_SEMAPHORE) return false;
    return true;
  }

  bool wait_for(Node& node, const Set& needed) {
    if (needed.none()) return true;
    if (can_join(needed) && (needed.count() > 2 || below(4) == 0)) return join(node, needed);
    unsigned slot = 0;
    const Set started = started_before(node.queue);
    Set covered;
    for (size_t j = 0; j < nodes_.size(); j++) {
      if (!needed[j] || covered[j]) continue;
      Post& wait = node.waits[slot++];
      const size_t poster = wait_in_turn(wait, j, node.queue) ? j : wait_for_one(wait, j, started);
      if (poster == kNone) return false;
      covered |= nodes_[poster].retires_before_retire;
    }
    return true;
  }

  /// What starts before the next command of a queue whatever that waits for.
  [[nodiscard]] Set started_before(unsigned queue) const {
    if (last_[queue] == kNone) return {};
    Set started = nodes_[last_[queue]].starts_before_start;
    started.set(last_[queue]);
    return started;
  }

  /// One semaphore that all of them post and only this command waits for.
  bool join(Node& node, const Set& needed) {
    const uint8_t semaphore = free_semaphore(needed, started_before(node.queue));
    if (semaphore == WEFT_NO_SEMAPHORE) return false;
    unsigned total = 0;
    for (size_t j = 0; j < nodes_.size(); j++) {
      if (!needed[j]) continue;
      const auto count = static_cast<unsigned>(below(8) == 0 ? 1 + below(kMaxCount / 8) : 1);
      nodes_[j].posts[1] = {semaphore, count, true};
      total += count;
    }
    node.waits[0] = {semaphore, total, false};
    waiters_[semaphore].set(nodes_.size());
    return true;
  }

  /// Often a semaphore that ties two queues: each post is for the next wait, and many may be under way. False: not this
  /// time.
  bool wait_in_turn(Post& wait, size_t poster, unsigned queue) {
    Post& post = nodes_[poster].posts[1];
    if (!in_order(nodes_[poster].queue) || post.semaphore != WEFT_NO_SEMAPHORE || below(2) == 0) return false;
    Turn& turn = turns_[nodes_[poster].queue][queue];
    if (turn.semaphore == WEFT_NO_SEMAPHORE) {
      const auto unused = std::ranges::find_if(order_, [&](uint8_t s) { return waiters_[s].none(); });
      if (unused == order_.end()) return false;
      turn.semaphore = *unused;
      waiters_[turn.semaphore].set();  // for good
    } else if (poster <= turn.last_poster) {
      return false;
    }
    turn.last_poster = poster;
    const auto count = static_cast<unsigned>(1 + below(3));
    post = {turn.semaphore, count, true};
    wait = {turn.semaphore, count, false};
    return true;
  }

  /// A share of what `poster`, or something after it, posts. Returns the one that posts; kNone: none can.
  size_t wait_for_one(Post& wait, size_t poster, const Set& started) {
    for (size_t j = poster; j < nodes_.size(); j++) {
      if (j != poster && !nodes_[j].retires_before_retire[poster]) continue;
      if (nodes_[j].command.bytes[0] == WEFT_OPCODE_WAIT) continue;
      Post& post = nodes_[j].posts[0];
      const auto count = static_cast<unsigned>(below(8) == 0 ? 1 + below(below(4) == 0 ? kMaxCount : 300) : 1);
      if (post.closed || post.count + count > kMaxCount) continue;
      if (post.semaphore == WEFT_NO_SEMAPHORE) {
        Set posters;
        posters.set(j);
        post.semaphore = free_semaphore(posters, started);
        if (post.semaphore == WEFT_NO_SEMAPHORE) return kNone;
      } else if ((earlier_waiters_[post.semaphore] & ~started).any()) {
        continue;
      }
      post.count += count;
      waiters_[post.semaphore].set(nodes_.size());
      wait = {post.semaphore, count, false};
      return j;
    }
    return kNone;
  }

  /// A semaphore for a new use: never used; or all who waited for it have always started before one of `posters` posts
  /// (they cannot take what is new), and before the new waiter starts (it cannot take what is theirs): they are among
  /// `started`.
  uint8_t free_semaphore(const Set& posters, const Set& started) {
    const bool reuse_first = below(3) == 0;
    for (const bool reuse : {reuse_first, !reuse_first}) {
      for (const uint8_t semaphore : order_) {
        Set& waiters = waiters_[semaphore];
        if (reuse != waiters.any() || (waiters & ~started).any() || !taken_before(waiters, posters)) continue;
        for (Node& node : nodes_)
          if (node.posts[0].semaphore == semaphore) node.posts[0].closed = true;
        earlier_waiters_[semaphore] = waiters;
        waiters.reset();
        return semaphore;
      }
    }
    return WEFT_NO_SEMAPHORE;
  }
  [[nodiscard]] bool taken_before(const Set& waiters, const Set& posters) const {
    for (size_t j = 0; j < nodes_.size(); j++)
      if (posters[j] && (waiters & ~nodes_[j].starts_before_retire).any()) return false;
    return true;
  }

  /// What always comes before the start and the retirement of the next command.
  bool append(Node node) {
    const size_t index = nodes_.size();
    if (index >= kMaxCommands) return false;
    const size_t before = last_[node.queue];
    if (before != kNone) {
      node.starts_before_start |= nodes_[before].starts_before_start;
      node.starts_before_start.set(before);
      node.retires_before_start |= nodes_[before].retires_before_start;
    }
    for (size_t j = 0; j < index; j++) {
      for (const Post& wait : node.waits) {
        if (wait.semaphore == WEFT_NO_SEMAPHORE || !posts_now(j, wait.semaphore)) continue;
        node.starts_before_start |= nodes_[j].starts_before_retire;
        node.retires_before_start |= nodes_[j].retires_before_retire;
        node.retires_before_start.set(j);
      }
    }
    node.starts_before_retire = node.starts_before_start;
    node.starts_before_retire.set(index);
    node.retires_before_retire = node.retires_before_start;
    auto retires_after = [&](size_t j) {
      node.starts_before_retire |= nodes_[j].starts_before_retire;
      node.retires_before_retire |= nodes_[j].retires_before_retire;
      node.retires_before_retire.set(j);
    };
    if (before != kNone && in_order(node.queue)) retires_after(before);
    if (node.command.bytes[0] == WEFT_OPCODE_FENCE)
      for (size_t j = 0; j < index; j++)
        if (node.starts_before_start[j]) retires_after(j);
    last_[node.queue] = index;
    nodes_.push_back(std::move(node));
    return true;
  }
  /// Earlier users of the semaphore have had all of theirs taken: they come before anyway.
  [[nodiscard]] bool posts_now(size_t j, uint8_t semaphore) const {
    return nodes_[j].posts[0].semaphore == semaphore || nodes_[j].posts[1].semaphore == semaphore;
  }

  [[nodiscard]] Program encoded() {
    Program program{.chip = plan_.chip,
                    .seed = plan_.seed,
                    .data_seed = plan_.data_seed,
                    .stall_percent = plan_.stall_percent,
                    .jitter = plan_.jitter,
                    .prefetch = plan_.prefetch,
                    .segments = plan_.segments,
                    .commands = {},
                    .fault = {}};
    for (Node& node : nodes_) {
      spec::CommandHeader header = spec::decode_header(node.command);
      const bool swap_posts = below(4) == 0, swap_waits = below(4) == 0;
      if (swap_posts) std::swap(node.posts[0], node.posts[1]);
      if (swap_waits) std::swap(node.waits[0], node.waits[1]);
      header.wait_sem0 = node.waits[0].semaphore, header.wait_count0 = static_cast<uint16_t>(node.waits[0].count);
      header.wait_sem1 = node.waits[1].semaphore, header.wait_count1 = static_cast<uint16_t>(node.waits[1].count);
      header.post_sem0 = node.posts[0].semaphore, header.post_count0 = static_cast<uint16_t>(node.posts[0].count);
      header.post_sem1 = node.posts[1].semaphore, header.post_count1 = static_cast<uint16_t>(node.posts[1].count);
      QueuedCommand queued{node.queue, node.command};
      spec::encode_into(queued.command, header);
      program.commands.push_back(queued);
    }
    return program;
  }

  bool damage(Program& program, size_t index) const {
    const Damage& d = *plan_.damage;
    QueuedCommand& victim = program.commands[index];
    spec::store_le(victim.command, d.offset, d.bytes, d.value);
    const auto fault = golden::check_command(victim.command, victim.queue, *plan_.chip, plan_.segments);
    if (!fault) return false;
    program.fault = ExpectedFault{fault->code, fault->address, victim.queue, spec::decode_header(victim.command).tag};
    return true;
  }

  /// What the steps leave for the commands of an ending.
  EndingRoom room() {
    EndingRoom room;
    for (const uint8_t semaphore : order_) {
      if (waiters_[semaphore].any()) continue;
      room.drained.push_back(semaphore);
      if (earlier_waiters_[semaphore].none()) room.unused.push_back(semaphore);
    }
    const uint64_t word_bytes = plan_.chip->word_bytes, bytes = kEndingWords * word_bytes;
    for (unsigned attempt = 0; attempt < 64 && !room.vmem; attempt++) {
      const uint64_t at = below(plan_.chip->vmem_words - kEndingWords) * word_bytes;
      const core::CommandAccesses there{{}, {{core::AccessSpace::kVmem, at, at + bytes}}};
      if (std::ranges::none_of(nodes_,
                               [&](const Node& n) { return core::find_conflict(n.accesses, there).has_value(); }))
        room.vmem = at;
    }
    room.draw = random_();
    return room;
  }

  const Plan& plan_;
  std::mt19937_64 random_;
  std::vector<Node> nodes_;
  std::array<size_t, WEFT_CORE_QUEUES> last_;
  std::array<uint8_t, WEFT_SEMAPHORES> order_;                              // in which semaphores are given out
  std::array<Set, WEFT_SEMAPHORES> waiters_;                                // of a semaphore's present use
  std::array<Set, WEFT_SEMAPHORES> earlier_waiters_;                        // of the use before
  std::array<std::array<Turn, WEFT_CORE_QUEUES>, WEFT_CORE_QUEUES> turns_;  // from poster's queue to waiter's
};

}  // namespace

std::optional<Program> make_program(const Plan& plan) { return Lowering(plan).run(); }

}  // namespace weft::random
