/// What the processes that simulate a slice together exchange.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::chip {

/// Ranks are processes, each with some of the chips. All of them come to the same exchanges in the same order. Owned by
/// the program; one thread of each rank.
class RankLink {
 public:
  using Bytes = std::vector<std::byte>;

  virtual ~RankLink() = default;
  [[nodiscard]] virtual unsigned rank() const = 0;
  [[nodiscard]] virtual unsigned ranks() const = 0;

  /// Gives out[r] to each other rank r, and fills in[r] with what that one has given to this one. Returns when all
  /// ranks have come: blocks for as long as that takes. `out` and `in` have an entry for each rank; its own is empty.
  virtual void exchange(const std::vector<Bytes>& out, std::vector<Bytes>& in) = 0;

  /// An exchange of nothing: returns when all ranks have come.
  void wait_for_all() {
    const std::vector<Bytes> out(ranks());
    std::vector<Bytes> in(ranks());
    exchange(out, in);
  }

  /// Calls ranks that sleep in poll() to meeting number `meeting`: their wake_fd() becomes readable.
  virtual void call(uint64_t meeting) = 0;
  /// Another rank has called to this meeting. Makes wake_fd() unreadable until the next call.
  [[nodiscard]] virtual bool called(uint64_t meeting) = 0;
  [[nodiscard]] virtual int wake_fd() const = 0;
};

}  // namespace weft::chip
