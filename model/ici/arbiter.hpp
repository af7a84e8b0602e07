/// Which of the packets that wait for a link goes next.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::ici {

/// The head of a queue that goes out by a link.
struct Waiting {
  uint32_t queue;
  uint32_t packet;   ///< its head
  uint32_t sent_on;  ///< the head's last link
  uint32_t bytes;    ///< of credits that the head takes
  uint8_t channel;   ///< in which
  uint8_t account;   ///< of the chip that has sent it (Arbiter::account_of)
  bool control;      ///< its class, else data
  bool sets_out;     ///< from this chip, else it is on its way
};

/// A link's arbiter. Control goes before data; but after kControlRun control packets in a row a data packet that has
/// room goes. Data are shared out by the chips that have sent them, not by the queues in which they happen to stand:
/// fair queueing by start times (Goyal, Vin, Cheng: "Start-time fair queueing", 1996) with an account for each sender.
///
/// - A packet starts where its sender's account stands, which then moves on by the packet's bytes. The packet with the
///   first start goes; starts within kQuantum of each other count as alike, and of those what is on its way goes before
///   what sets out, then what has waited longest.
/// - What sets out from this chip starts kLag bytes later. A ring that is as full as its links carry stays at full rate
///   only if packets on their way go first; a chip that has fallen behind by kLag gets as much as each of the others.
/// - An account lags by kClaim at most: a sender that was kept away by queues elsewhere catches up, one that has been
///   silent for long has no claim on all of that time.
///
/// Senders whose numbers are alike modulo kAccounts share an account. Accounts are kept from the first time on that two
/// packets wait, and all begin anew with `period`. One thread.
class Arbiter {
 public:
  static constexpr unsigned kAccounts = 256, kControlRun = 4;
  static constexpr uint32_t kLag = 256 << 10, kClaim = 512 << 10, kQuantum = 64 << 10;  // bytes
  static constexpr uint8_t account_of(uint32_t chip) { return static_cast<uint8_t>(chip % kAccounts); }

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] const std::vector<Waiting>& waiting() const { return waiting_; }
  void add(const Waiting& waiting) { waiting_.push_back(waiting); }
  void clear() { waiting_.clear(); }
  template <class Which>
  void remove_if(Which which) {
    std::erase_if(waiting_, which);
  }

  /// kFirstCome: the data packet that has waited longest goes first, whichever source sent it.
  enum class Sharing : uint8_t { kFair, kFirstCome };

  /// Takes the one that goes next of those that have room, into `what`; false: none has. `credits`: bytes, by channel.
  template <class Credits>
  [[nodiscard]] bool take(const Credits& credits, uint32_t period, Waiting& what) {
    return take_if([&](const Waiting& candidate) { return credits[candidate.channel] >= candidate.bytes; }, period,
                   what, Sharing::kFair);
  }
  /// The same of those that may go. Asks for each of them once.
  template <class MayGo>
  [[nodiscard]] bool take_if(MayGo may_go, uint32_t period, Waiting& what, Sharing sharing) {
    open_accounts(period);
    const auto none = waiting_.size();
    auto control = none, data = none;
    uint64_t first = ~uint64_t{0};
    for (size_t place = 0; place < none; place++) {
      const auto& candidate = waiting_[place];
      if (!may_go(candidate)) continue;
      if (candidate.control) {
        if (control == none) control = place;
      } else if (sharing == Sharing::kFirstCome) {
        if (data == none) data = place;
      } else if (const auto key = uint64_t{start(candidate) / kQuantum} << 1 | (candidate.sets_out ? 1 : 0);
                 key < first) {
        first = key;
        data = place;
      }
    }
    const bool control_goes = control != none && (data == none || control_run_ < kControlRun);
    const auto place = control_goes ? control : data;
    if (place == none) return false;
    control_run_ = control_goes && data != none ? control_run_ + 1 : 0;
    what = waiting_[place];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(place));
    if (!control_goes && sharing == Sharing::kFair) charge(what);
    return true;
  }

  /// Fetches what take() will touch.
  void prefetch() const { __builtin_prefetch(waiting_.data()); }
  /// Once that is here: their accounts.
  void prefetch_accounts() const {
    constexpr size_t kFew = 6;
    if (accounts_.empty()) return;
    for (size_t place = 0; place < std::min(waiting_.size(), kFew); place++)
      __builtin_prefetch(&accounts_[waiting_[place].account]);
  }

 private:
  static constexpr uint32_t kFar = uint32_t{1} << 31;  // bytes: accounts are counted from a later point before that

  void open_accounts(uint32_t period) {
    if (period_ != period) {
      period_ = period;
      now_ = control_run_ = 0;
      std::ranges::fill(accounts_, 0);
    }
    if (waiting_.size() > 1 && accounts_.empty()) accounts_.resize(kAccounts);
  }
  [[nodiscard]] uint32_t oldest_claim() const { return now_ > kClaim ? now_ - kClaim : 0; }
  [[nodiscard]] uint32_t start(const Waiting& waiting) const {
    if (accounts_.empty()) return 0;
    return std::max(accounts_[waiting.account] + (waiting.sets_out ? kLag : 0), oldest_claim());
  }

  void charge(const Waiting& what) {
    if (accounts_.empty()) return;
    const auto from = start(what), lag = what.sets_out ? kLag : 0;
    now_ = std::max(now_, from);
    accounts_[what.account] = std::max(from + what.bytes, lag) - lag;
    if (now_ < kFar) return;
    const auto shift = oldest_claim();
    for (auto& account : accounts_) account = std::max(account, shift) - shift;
    now_ -= shift;
  }

  std::vector<Waiting> waiting_;    // the one that waits longest first
  std::vector<uint32_t> accounts_;  // bytes: where a sender's next packet starts; empty: no two have waited yet
  uint32_t now_ = 0;                // the last start
  uint32_t control_run_ = 0;        // control packets in a row that went before data
  uint32_t period_ = 0;
};

}  // namespace weft::ici
