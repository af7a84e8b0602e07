/// Ranks on one machine: forked processes that exchange through memory that they share.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "model/chip/rank_link.hpp"

namespace weft::ranks {

/// Made before the processes are forked, or threads begun; each then takes link() of its own number. A rank that waits
/// looks for a while, then sleeps on a futex. A rank that dies goes unnoticed here: the process that forked the ranks
/// notices, and ends the others.
class SharedRanks {
 public:
  /// nullptr and a message in `error`: no memory, or no descriptors.
  static std::unique_ptr<SharedRanks> make(unsigned ranks, std::string& error);
  ~SharedRanks();
  SharedRanks(const SharedRanks&) = delete;
  SharedRanks& operator=(const SharedRanks&) = delete;

  /// Outlived by this.
  [[nodiscard]] std::unique_ptr<chip::RankLink> link(unsigned rank);

 private:
  class Link;
  struct Shared;
  struct Bell;
  struct Box;

  explicit SharedRanks(unsigned ranks) : ranks_(ranks) {}
  [[nodiscard]] size_t bytes() const;
  [[nodiscard]] Shared& shared() const;
  [[nodiscard]] Bell& bell(unsigned rank) const;
  [[nodiscard]] Box& box(unsigned parity, unsigned from, unsigned to) const;

  const unsigned ranks_;
  std::byte* memory_ = nullptr;
  std::vector<int> wakers_;  // eventfd of each rank
};

}  // namespace weft::ranks
