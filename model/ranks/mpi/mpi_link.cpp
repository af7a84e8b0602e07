// The module weft-mpi.so: exchanges as messages of MPI. A rank that waits looks for a while, then naps between looks;
// OpenMPI itself would use its processor up to the end of the wait.
#include <mpi.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "model/ranks/mpi_ranks.hpp"

namespace weft::ranks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kExchangeTag = 1, kCallTag = 2;
constexpr std::chrono::microseconds kLooking{20};  // before the first nap
constexpr std::chrono::microseconds kFirstNap{10}, kLongestNap{160};

// A rank in poll() looks for calls of others so often; less so when none has come for a while.
constexpr long kShortLookNs = 200'000, kLongLookNs = 2'000'000;
constexpr unsigned kShortLooks = 1000;

bool is_asked_to_end() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && (::sigismember(&pending, SIGTERM) == 1 || ::sigismember(&pending, SIGINT) == 1);
}

class Link final : public MpiLink {
 public:
  explicit Link(RankLost lost) : lost_(std::move(lost)) {
    begin_mpi();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::MPI_Comm_dup(MPI_COMM_WORLD, &all_);
    ::MPI_Comm_rank(all_, &rank_);
    ::MPI_Comm_size(all_, &ranks_);
    MPI_Comm here = MPI_COMM_NULL;
    ::MPI_Comm_split_type(all_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    int ranks_here = 1;
    ::MPI_Comm_size(here, &ranks_here);
    ::MPI_Comm_free(&here);
    looks_ = static_cast<unsigned>(ranks_here) <= std::thread::hardware_concurrency();
    timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    look_every(kLongLookNs);
  }
  ~Link() override {
    ::close(timer_);
    drop_calls();
    ::MPI_Waitall(static_cast<int>(call_sends_.size()), call_sends_.data(), MPI_STATUSES_IGNORE);
    ::MPI_Comm_free(&all_);
    ::MPI_Finalize();
  }

  [[nodiscard]] unsigned rank() const override { return static_cast<unsigned>(rank_); }
  [[nodiscard]] unsigned ranks() const override { return static_cast<unsigned>(ranks_); }

  void exchange(const std::vector<Bytes>& out, std::vector<Bytes>& in) override {
    sends_.clear();
    for (int step = 1; step < ranks_; step++) {  // not all to one rank at a time
      const int other = (rank_ + step) % ranks_;
      const Bytes& bytes = out[static_cast<size_t>(other)];
      if (bytes.size() > INT_MAX) refuse(bytes.size());
      sends_.emplace_back();
      ::MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, other, kExchangeTag, all_, &sends_.back());
    }
    for (int step = 1; step < ranks_; step++) {
      const int other = (rank_ + ranks_ - step) % ranks_;
      receive(other, in[static_cast<size_t>(other)]);
    }
    for (int step = 1; step < ranks_; step++)
      wait_for((rank_ + step) % ranks_, [&] { return is_done(sends_[static_cast<size_t>(step) - 1]); });
  }

  void call(uint64_t meeting) override {
    for (int other = 0; other < ranks_; other++) {
      if (other == rank_) continue;
      const uint64_t& word = call_words_.emplace_back(meeting);
      call_sends_.emplace_back();
      ::MPI_Isend(&word, 1, MPI_UINT64_T, other, kCallTag, all_, &call_sends_.back());
    }
    is_called();
  }
  [[nodiscard]] bool called(uint64_t meeting) override {
    uint64_t looks = 0;
    if (::read(timer_, &looks, sizeof looks) < 0) looks = 0;
    quiet_looks_ = static_cast<unsigned>(std::min<uint64_t>(quiet_looks_ + looks, kShortLooks));
    if (quiet_looks_ == kShortLooks && every_ns_ != kLongLookNs) look_every(kLongLookNs);
    take_calls();
    drop_calls();
    return last_call_ >= meeting;
  }
  [[nodiscard]] int wake_fd() const override { return timer_; }

  [[noreturn]] void abort(int exit_code) override {
    std::fflush(nullptr);
    ::MPI_Abort(all_, exit_code);
    std::_Exit(exit_code);
  }

 private:
  /// OpenMPI's threads leave all signals to this one.
  static void begin_mpi() {
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    ::MPI_Init(nullptr, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void refuse(size_t bytes) {
    std::fprintf(stderr, "weft-sim: %zu bytes in one window for one rank: MPI's messages have 2 GB at most\n", bytes);
    abort(EXIT_FAILURE);
  }

  static bool is_done(MPI_Request& request) {
    int done = 0;
    ::MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }

  void receive(int other, Bytes& into) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    wait_for(other, [&] {
      int there = 0;
      ::MPI_Improbe(other, kExchangeTag, all_, &there, &message, &status);
      return there != 0;
    });
    int count = 0;
    ::MPI_Get_count(&status, MPI_BYTE, &count);
    into.resize(static_cast<size_t>(count));
    MPI_Request request = MPI_REQUEST_NULL;
    ::MPI_Imrecv(into.data(), count, MPI_BYTE, &message, &request);
    wait_for(other, [&] { return is_done(request); });
  }

  /// Until `is_there` says so, which makes MPI go on. Does not return if the other rank has died.
  template <class Condition>
  void wait_for(int other, const Condition& is_there) {
    if (is_there()) return;
    for (const auto end = Clock::now() + kLooking; looks_ && Clock::now() < end;)
      if (is_there()) return;
    auto nap = kFirstNap;
    auto asked = Clock::time_point::max();  // since when this rank knows that it is to end
    while (!is_there()) {
      std::this_thread::sleep_for(nap);
      nap = std::min(2 * nap, kLongestNap);
      if (nap < kLongestNap || !is_asked_to_end()) continue;
      const auto now = Clock::now();
      asked = std::min(asked, now);
      lost_(static_cast<unsigned>(other), now - asked);
    }
  }

  void look_every(long ns) {
    every_ns_ = ns;
    const itimerspec every{{0, ns}, {0, ns}};
    ::timerfd_settime(timer_, 0, &every, nullptr);
  }
  void is_called() {
    quiet_looks_ = 0;
    if (every_ns_ != kShortLookNs) look_every(kShortLookNs);
  }
  void take_calls() {
    for (;;) {
      int there = 0;
      MPI_Status status;
      ::MPI_Iprobe(MPI_ANY_SOURCE, kCallTag, all_, &there, &status);
      if (there == 0) return;
      uint64_t meeting = 0;
      ::MPI_Recv(&meeting, 1, MPI_UINT64_T, status.MPI_SOURCE, kCallTag, all_, MPI_STATUS_IGNORE);
      last_call_ = std::max(last_call_, meeting);
      is_called();
    }
  }
  /// Forgets calls that have been sent.
  void drop_calls() {
    while (!call_sends_.empty() && is_done(call_sends_.front())) {
      call_sends_.erase(call_sends_.begin());
      call_words_.pop_front();
    }
  }

  const RankLost lost_;
  MPI_Comm all_ = MPI_COMM_NULL;
  int rank_ = 0, ranks_ = 1;
  bool looks_ = true;  // every rank of this machine has a processor
  std::vector<MPI_Request> sends_;
  std::vector<MPI_Request> call_sends_;  // few
  std::deque<uint64_t> call_words_;      // that they send: they do not move
  uint64_t last_call_ = 0;
  int timer_ = -1;
  long every_ns_ = 0;
  unsigned quiet_looks_ = 0;
};

}  // namespace
}  // namespace weft::ranks

extern "C" __attribute__((visibility("default"))) weft::ranks::MpiLink* weft_mpi_join(weft::ranks::RankLost lost) {
  return new weft::ranks::Link(std::move(lost));
}
