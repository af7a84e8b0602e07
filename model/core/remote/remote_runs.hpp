/// Where a remote piece's data go: runs of bytes in the destination segment.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace weft::core {

/// Runs as they were added, except that one which begins where the last one ends prolongs it. Runs of one length at one
/// distance, as strided commands make them, take the room of one. A value type; one thread.
class RemoteRuns {
 public:
  struct Run {
    uint64_t offset;  ///< in the destination segment
    uint32_t bytes;
    friend bool operator==(const Run&, const Run&) = default;
  };
  /// `count` runs, each `distance` behind the one before it.
  struct Series {
    uint64_t offset, distance;
    uint32_t bytes, count;
  };
  class Iterator {
   public:
    Iterator(const Series* series, uint32_t place) : series_(series), place_(place) {}
    [[nodiscard]] Run operator*() const { return {series_->offset + place_ * series_->distance, series_->bytes}; }
    Iterator& operator++() {
      if (++place_ == series_->count) {
        series_++;
        place_ = 0;
      }
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Series* series_;
    uint32_t place_;
  };

  RemoteRuns() = default;
  RemoteRuns(std::initializer_list<Run> runs) {
    for (const Run& run : runs) add(run.offset, run.bytes);
  }
  explicit RemoteRuns(std::vector<Series> series) : series_(std::move(series)) {}

  void add(uint64_t offset, uint32_t bytes) {
    if (!series_.empty()) {
      Series& last = series_.back();
      const uint64_t begin = last.offset + (last.count - 1) * last.distance;
      if (begin + last.bytes == offset) {
        if (last.count == 1) {
          last.bytes += bytes;
        } else {
          last.count--;
          series_.push_back({begin, 0, last.bytes + bytes, 1});
        }
        return;
      }
      join_last();
    }
    series_.push_back({offset, 0, bytes, 1});
  }

  [[nodiscard]] Iterator begin() const { return {series_.data(), 0}; }
  [[nodiscard]] Iterator end() const { return {series_.data() + series_.size(), 0}; }
  [[nodiscard]] const std::vector<Series>& series() const { return series_; }

 private:
  /// The last run is whole: it may go on with the series before it.
  void join_last() {
    if (series_.size() < 2) return;
    const Series last = series_.back();
    Series& before = series_[series_.size() - 2];
    if (last.count != 1 || last.bytes != before.bytes) return;
    const uint64_t end = before.offset + (before.count - 1) * before.distance;
    if (before.count > 1 && last.offset - end != before.distance) return;
    before.distance = last.offset - end;
    before.count++;
    series_.pop_back();
  }

  std::vector<Series> series_;
};

}  // namespace weft::core
