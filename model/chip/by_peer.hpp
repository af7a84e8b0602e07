/// What a chip keeps of each other chip that it deals with.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::chip {

/// Things by the other chip's number. Most chips deal with their neighbours only: of few things their numbers are
/// looked through, of more there is a table. A reference lives until the next thing is made or erased. One thread.
template <typename T>
class ByPeer {
 public:
  /// Made if it is not there.
  [[nodiscard]] T& operator[](uint32_t peer) {
    if (T* thing = find(peer)) return *thing;
    peers_.push_back(peer);
    things_.emplace_back();
    if (!places_.empty() || peers_.size() > kFew)
      for (size_t i = places_.empty() ? 0 : peers_.size() - 1; i < peers_.size(); i++) note(peers_[i], i);
    return things_.back();
  }
  /// nullptr: it is not there.
  [[nodiscard]] T* find(uint32_t peer) {
    if (!places_.empty()) {
      const uint32_t place = peer < places_.size() ? places_[peer] : 0;
      return place == 0 ? nullptr : &things_[place - 1];
    }
    for (size_t i = 0; i < peers_.size(); i++)
      if (peers_[i] == peer) return &things_[i];
    return nullptr;
  }
  void erase(uint32_t peer) {
    T* const thing = find(peer);
    if (thing == nullptr) return;
    const auto at = static_cast<size_t>(thing - things_.data());
    if (at + 1 != things_.size()) {
      *thing = std::move(things_.back());
      peers_[at] = peers_.back();
      if (!places_.empty()) note(peers_[at], at);
    }
    if (!places_.empty()) places_[peer] = 0;
    things_.pop_back();
    peers_.pop_back();
  }
  void clear() {
    peers_.clear();
    things_.clear();
    places_.clear();
  }

 private:
  static constexpr size_t kFew = 16;

  void note(uint32_t peer, size_t at) {
    if (peer >= places_.size()) places_.resize(peer + 1);
    places_[peer] = static_cast<uint32_t>(at + 1);
  }

  std::vector<uint32_t> peers_;
  std::vector<T> things_;         // of peers_
  std::vector<uint32_t> places_;  // by peer: 1 and the place of its thing, 0: none; empty: there are few
};

}  // namespace weft::chip
