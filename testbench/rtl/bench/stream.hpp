/// Both ends of a valid/ready stream: a driver that inserts idles and a sink that pushes back, each at a chance in
/// percent, from one seeded generator.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <random>
#include <utility>
#include <vector>

namespace weft::bench {

/// The levels of idles and of back-pressure at which every stream is tested, in percent of the cycles.
inline constexpr std::array<unsigned, 3> kStreamLevels{0, 25, 75};

inline bool chance(std::mt19937_64& random, unsigned percent) { return percent != 0 && random() % 100 < percent; }

/// Offers what was pushed, in order. What is offered stands until it is taken: an idle comes before an offer, not in
/// it.
template <class Payload>
class StreamDriver {
 public:
  StreamDriver(std::mt19937_64& random, unsigned idle_percent) : random_(random), idle_percent_(idle_percent) {}

  void push(Payload payload) { waiting_.push_back(std::move(payload)); }
  /// What this cycle's valid and payload are; nullptr: valid is 0. Once a cycle.
  [[nodiscard]] const Payload* offer() {
    if (!offered_) offered_ = !waiting_.empty() && !chance(random_, idle_percent_);
    return offered_ ? &waiting_.front() : nullptr;
  }
  /// The edge: `ready` as the block showed it. True: the offer was taken.
  bool edge(bool ready) {
    if (!offered_ || !ready) return false;
    waiting_.pop_front();
    offered_ = false;
    return true;
  }
  void forget() {
    waiting_.clear();
    offered_ = false;
  }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] size_t waiting() const { return waiting_.size(); }

 private:
  std::mt19937_64& random_;
  unsigned idle_percent_;
  std::deque<Payload> waiting_;
  bool offered_ = false;
};

/// Takes a stream with back-pressure and keeps what it took.
template <class Payload>
class StreamSink {
 public:
  StreamSink(std::mt19937_64& random, unsigned refuse_percent) : random_(random), refuse_percent_(refuse_percent) {}

  /// This cycle's ready. Once a cycle; does not look at valid.
  [[nodiscard]] bool ready() { return ready_ = !chance(random_, refuse_percent_); }
  /// The edge: valid and payload as the block showed them. True: taken.
  bool edge(bool valid, const Payload& payload) {
    stalls_ += valid && !ready_;
    if (!valid || !ready_) return false;
    taken_.push_back(payload);
    return true;
  }
  [[nodiscard]] const std::vector<Payload>& taken() const { return taken_; }
  [[nodiscard]] uint64_t stalls() const { return stalls_; }

 private:
  std::mt19937_64& random_;
  unsigned refuse_percent_;
  bool ready_ = false;
  std::vector<Payload> taken_;
  uint64_t stalls_ = 0;
};

}  // namespace weft::bench
