// Boxes for each pair of ranks, in turns of two, and a bell for each rank.
#include "model/ranks/shared_ranks.hpp"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <thread>

namespace weft::ranks {
namespace {

constexpr size_t kBoxBytes = 64 << 10;  // what is longer goes in several rounds
constexpr size_t kLine = 64;
constexpr std::chrono::microseconds kLooking{20};  // before a rank sleeps
constexpr unsigned kLooks = 16;                    // at a box, between two at the clock

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free,
              "processes share them");

void sleep_on(const std::atomic<uint32_t>& word, uint32_t value) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}
void wake(const std::atomic<uint32_t>& word) { ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

struct SharedRanks::Shared {
  alignas(kLine) std::atomic<uint64_t> meeting{0};  // the last one that a rank has called to
};

/// Rung whenever a box of the rank has been filled.
struct SharedRanks::Bell {
  alignas(kLine) std::atomic<uint32_t> rung{0};
  std::atomic<uint32_t> asleep{0};
};

/// What one rank gives to another one in one round. A rank fills it again two rounds later: by then its owner has come
/// to the next round, hence has read it.
struct SharedRanks::Box {
  alignas(kLine) std::atomic<uint64_t> round{0};
  uint32_t bytes = 0;
  bool more = false;  // its filler has something left for somebody
  alignas(kLine) std::array<std::byte, kBoxBytes> data;
};

size_t SharedRanks::bytes() const {
  return sizeof(Shared) + ranks_ * sizeof(Bell) + size_t{2} * ranks_ * ranks_ * sizeof(Box);
}
SharedRanks::Shared& SharedRanks::shared() const { return *reinterpret_cast<Shared*>(memory_); }
SharedRanks::Bell& SharedRanks::bell(unsigned rank) const {
  return reinterpret_cast<Bell*>(memory_ + sizeof(Shared))[rank];
}
SharedRanks::Box& SharedRanks::box(unsigned parity, unsigned from, unsigned to) const {
  auto* boxes = reinterpret_cast<Box*>(memory_ + sizeof(Shared) + ranks_ * sizeof(Bell));
  return boxes[(size_t{parity} * ranks_ + from) * ranks_ + to];
}

std::unique_ptr<SharedRanks> SharedRanks::make(unsigned ranks, std::string& error) {
  std::unique_ptr<SharedRanks> made(new SharedRanks(ranks));
  // Fresh pages are zeros, which is how all of it begins.
  void* memory =
      ::mmap(nullptr, made->bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    error = fmt::format("no memory for {} processes to share: {}", ranks, std::strerror(errno));
    return nullptr;
  }
  made->memory_ = static_cast<std::byte*>(memory);
  for (unsigned rank = 0; rank < ranks; rank++) {
    made->wakers_.push_back(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (made->wakers_.back() >= 0) continue;
    error = fmt::format("no descriptors for {} processes to wake each other: {}", ranks, std::strerror(errno));
    return nullptr;
  }
  return made;
}

SharedRanks::~SharedRanks() {
  if (memory_ != nullptr) ::munmap(memory_, bytes());
  for (const int waker : wakers_)
    if (waker >= 0) ::close(waker);
}

class SharedRanks::Link final : public chip::RankLink {
  using Clock = std::chrono::steady_clock;

 public:
  Link(SharedRanks& all, unsigned rank)
      : all_(all), rank_(rank), looks_(all.ranks_ <= std::thread::hardware_concurrency()) {}

  [[nodiscard]] unsigned rank() const override { return rank_; }
  [[nodiscard]] unsigned ranks() const override { return all_.ranks_; }

  void exchange(const std::vector<Bytes>& out, std::vector<Bytes>& in) override {
    for (unsigned other = 0; other < ranks(); other++)
      if (other != rank_) in[other].clear();
    bool more = ranks() > 1;
    for (size_t from = 0; more; from += kBoxBytes) {
      round_++;
      more = give(out, from);
      for (unsigned other = 0; other < ranks(); other++)
        if (other != rank_) more |= take(other, in[other]);
    }
  }

  void call(uint64_t meeting) override {
    uint64_t last = all_.shared().meeting.load();
    while (last < meeting && !all_.shared().meeting.compare_exchange_weak(last, meeting)) {
    }
    const uint64_t one = 1;
    for (unsigned other = 0; other < ranks(); other++)
      if (other != rank_) (void)!::write(all_.wakers_[other], &one, sizeof one);
  }
  [[nodiscard]] bool called(uint64_t meeting) override {
    uint64_t calls = 0;
    (void)!::read(wake_fd(), &calls, sizeof calls);
    return all_.shared().meeting.load() >= meeting;
  }
  [[nodiscard]] int wake_fd() const override { return all_.wakers_[rank_]; }

 private:
  /// The next part of each rank's bytes. True: something is left.
  bool give(const std::vector<Bytes>& out, size_t from) {
    const bool more = std::ranges::any_of(out, [&](const Bytes& b) { return b.size() > from + kBoxBytes; });
    for (unsigned other = 0; other < ranks(); other++) {
      if (other == rank_) continue;
      Box& box = all_.box(round_ % 2, rank_, other);
      const size_t size = out[other].size(), count = size > from ? std::min(size - from, kBoxBytes) : 0;
      if (count != 0) std::memcpy(box.data.data(), out[other].data() + from, count);
      box.bytes = static_cast<uint32_t>(count);
      box.more = more;
      box.round.store(round_, std::memory_order_release);  // pairs with take()
      Bell& bell = all_.bell(other);
      bell.rung.fetch_add(1);
      if (bell.asleep.load() != 0) wake(bell.rung);
    }
    return more;
  }

  bool take(unsigned other, Bytes& into) {
    const Box& box = all_.box(round_ % 2, other, rank_);
    wait_for(box);
    into.insert(into.end(), box.data.begin(), box.data.begin() + box.bytes);
    return box.more;
  }

  void wait_for(const Box& box) {
    const auto filled = [&] { return box.round.load(std::memory_order_acquire) == round_; };
    if (filled()) return;
    // By the clock: one pause is 5 ns on some processors, and 50 on others.
    for (const auto end = Clock::now() + kLooking; looks_ && Clock::now() < end;) {
      for (unsigned look = 0; look < kLooks; look++) {
        relax();
        if (filled()) return;
      }
    }
    Bell& bell = all_.bell(rank_);
    for (;;) {
      const uint32_t rung = bell.rung.load();
      bell.asleep.store(1);
      if (filled()) break;
      sleep_on(bell.rung, rung);
    }
    bell.asleep.store(0);
  }

  SharedRanks& all_;
  const unsigned rank_;
  const bool looks_;  // each rank has a processor
  uint64_t round_ = 0;
};

std::unique_ptr<chip::RankLink> SharedRanks::link(unsigned rank) { return std::make_unique<Link>(*this, rank); }

}  // namespace weft::ranks
