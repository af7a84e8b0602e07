// An honest process on a function of its own: products, copies and fills through the driver, each compared with what it
// must give. It is told what to do by lines on its standard input and answers each with one line:
//   alone   each product once, with nobody else at work: the cycles that are the measure from then on
//   go      works until "stop"
//   stop    one more round, then "rounds N elements E differing D bytes B wrong W launch L latency T copy C": what was
//           compared, and the most device cycles beyond those of "alone" that one launch took itself, that one launch
//           took from its doorbell to its completion, and that one copy took
//   again   each product once more, with nobody else at work: "again N different D": launches, and those of them that
//           did not take the very cycles of "alone"
//   cycle   "cycle N": the device's
// An error is a line that begins with "error" and the end.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "testbench/system/product.hpp"
#include "weft/weft.h"

namespace {

using namespace weft;

constexpr size_t kProducts = 3;
constexpr uint64_t kLargest = 32;  // M, K and N
constexpr uint64_t kCopyBytes = 32 * 1024;
constexpr unsigned kPauseUs = 500;  // between two rounds: processors are for the server and its enemies too

[[noreturn]] void give_up(const std::string& what) {
  fmt::print("error {}\n", what);
  std::fflush(stdout);
  std::_Exit(1);
}

void check(weft_status status, const char* what) {
  if (status == WEFT_ERROR_OK) return;
  weft_error_info info = WEFT_INIT(weft_error_info);
  const bool known = weft_last_error(&info) == WEFT_ERROR_OK;
  give_up(fmt::format("{} ({}): {}", what, weft_status_name(status), known ? info.message : ""));
}

/// What was compared since the last "go", and the most cycles beyond the measure.
struct Rounds {
  uint64_t rounds = 0, elements = 0, differing = 0, bytes = 0, wrong = 0;
  uint64_t launch = 0, latency = 0, copy = 0;
  int64_t slowest_ms = 0;
};

class Neighbour {
 public:
  Neighbour(const std::string& socket, uint64_t seed)
      : random_(seed), products_(test::random_products(kProducts, kLargest, seed)), session_(open(socket)) {
    for (size_t i = 0; i < kProducts; i++) golden_[i] = test::golden_product(products_[i]);
    check(weft_buffer_create(session_.device(), WEFT_MEMORY_HOST, 2 * kCopyBytes, &host_), "host buffer");
    check(weft_buffer_create(session_.device(), WEFT_MEMORY_HBM, kCopyBytes, &hbm_), "HBM buffer");
    void* pointer = nullptr;
    check(weft_buffer_map(host_, &pointer), "map");
    bytes_ = static_cast<unsigned char*>(pointer);
  }

  /// Takes the measure: the least of three runs on a chip that nobody else uses.
  void measure() {
    alone_.fill({UINT64_MAX, UINT64_MAX});
    copy_alone_ = UINT64_MAX;
    for (unsigned again = 0; again < 3; again++) {
      for (size_t i = 0; i < kProducts; i++) {
        const Times now = product(i, total_);
        alone_[i] = {std::min(alone_[i].launch, now.launch), std::min(alone_[i].latency, now.latency)};
      }
      copy_alone_ = std::min(copy_alone_, copies(total_));
    }
  }

  /// Launches that take other cycles than alone.
  uint64_t different() {
    uint64_t different = 0;
    for (size_t i = 0; i < kProducts; i++) different += product(i, total_).launch != alone_[i].launch ? 1 : 0;
    return different;
  }

  void round(Rounds& rounds) {
    const auto begin = std::chrono::steady_clock::now();
    const size_t i = rounds.rounds % kProducts;
    const Times now = product(i, rounds);
    rounds.launch = std::max(rounds.launch, now.launch - std::min(now.launch, alone_[i].launch));
    rounds.latency = std::max(rounds.latency, now.latency - std::min(now.latency, alone_[i].latency));
    const uint64_t copy = copies(rounds);
    rounds.copy = std::max(rounds.copy, copy - std::min(copy, copy_alone_));
    rounds.rounds++;
    const auto took = std::chrono::steady_clock::now() - begin;
    rounds.slowest_ms = std::max<int64_t>(
        rounds.slowest_ms,
        std::chrono::milliseconds(std::chrono::duration_cast<std::chrono::milliseconds>(took)).count());
  }

  [[nodiscard]] uint64_t cycle() const {
    uint64_t cycle = 0;
    check(weft_device_cycle(session_.device(), &cycle), "cycle");
    return cycle;
  }

  void close() {
    weft_buffer_release(host_);
    weft_buffer_release(hbm_);
    if (const auto status = session_.close(); !status.ok()) give_up("close: " + status.error().message);
  }

 private:
  struct Times {
    uint64_t launch = 0, latency = 0;
  };

  static runtime::Session open(const std::string& socket) {
    runtime::Target target;
    target.socket = socket;
    auto session = runtime::Session::open(target);
    if (!session.ok()) give_up("open: " + session.error().message);
    return std::move(session.value());
  }

  Times product(size_t i, Rounds& rounds) {
    const auto run = test::run_product(session_, products_[i]);
    if (!run.ok()) give_up(fmt::format("{} as number {}: {}", products_[i].name(), rounds.rounds, run.error().message));
    const auto difference = test::compare_bits(products_[i], run.value().c, golden_[i]);
    if (difference.differing != 0) fmt::print("difference {}: {}\n", products_[i].name(), difference.first);
    rounds.differing += difference.differing;
    rounds.elements += golden_[i].size();
    const runtime::LaunchCycles& steps = run.value().launch.cycles;
    return {run.value().cycles(), steps.completion - steps.doorbell};
  }

  /// Random bytes to HBM and back, half of them overwritten by a fill. Device cycles from the first to the last.
  uint64_t copies(Rounds& rounds) {
    const uint32_t pattern = static_cast<uint32_t>(random_());
    for (uint64_t at = 0; at < kCopyBytes; at += 8) {
      const uint64_t word = random_();
      std::memcpy(bytes_ + at, &word, 8);
    }
    std::memset(bytes_ + kCopyBytes, 0xee, kCopyBytes);
    weft_queue* const queue = session_.queue();
    const uint64_t begin = cycle();
    weft_event* event = nullptr;
    check(weft_copy(queue, hbm_, 0, host_, 0, kCopyBytes, nullptr, nullptr), "copy to HBM");
    check(weft_fill(queue, hbm_, kCopyBytes / 2, kCopyBytes / 4, pattern, nullptr, nullptr), "fill");
    check(weft_copy(queue, host_, kCopyBytes, hbm_, 0, kCopyBytes, nullptr, &event), "copy from HBM");
    check(weft_event_wait(event, nullptr), "wait for a copy");
    weft_event_info info = WEFT_INIT(weft_event_info);
    check(weft_event_query(event, &info), "query");
    weft_event_release(event);
    for (uint64_t at = 0; at < kCopyBytes; at += 4) {
      uint32_t word = pattern;
      if (at < kCopyBytes / 2 || at >= kCopyBytes / 4 * 3) std::memcpy(&word, bytes_ + at, 4);
      uint32_t found = 0;
      std::memcpy(&found, bytes_ + kCopyBytes + at, 4);
      rounds.wrong += found != word ? 4 : 0;
    }
    rounds.bytes += kCopyBytes;
    return info.end_cycle > begin ? info.end_cycle - begin : 0;
  }

  std::mt19937_64 random_;
  std::vector<test::Product> products_;
  std::array<std::vector<uint32_t>, kProducts> golden_;
  std::array<Times, kProducts> alone_{};
  uint64_t copy_alone_ = 0;
  Rounds total_;
  runtime::Session session_;
  weft_buffer* host_ = nullptr;
  weft_buffer* hbm_ = nullptr;
  unsigned char* bytes_ = nullptr;
};

bool input_waits() {
  pollfd p{STDIN_FILENO, POLLIN, 0};
  return ::poll(&p, 1, 0) == 1;
}

void say(const std::string& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void work(Neighbour& neighbour, Rounds& rounds) {
  while (!input_waits()) {
    neighbour.round(rounds);
    ::usleep(kPauseUs);
  }
}

int serve(Neighbour& neighbour) {
  char line[64];
  Rounds rounds;
  std::setvbuf(stdin, nullptr, _IONBF, 0);  // a line that lies in a buffer here would not be seen by poll
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    const std::string word(line, std::strcspn(line, "\n"));
    if (word == "alone") {
      neighbour.measure();
      say(neighbour.different() == 0 ? "alone" : "error: launches alone on the chip take different cycles");
    } else if (word == "go") {
      rounds = {};
      work(neighbour, rounds);
    } else if (word == "stop") {
      neighbour.round(rounds);
      say(fmt::format("rounds {} elements {} differing {} bytes {} wrong {} launch {} latency {} copy {} slowest {}",
                      rounds.rounds, rounds.elements, rounds.differing, rounds.bytes, rounds.wrong, rounds.launch,
                      rounds.latency, rounds.copy, rounds.slowest_ms));
    } else if (word == "again") {
      say(fmt::format("again {} different {}", kProducts, neighbour.different()));
    } else if (word == "cycle") {
      say(fmt::format("cycle {}", neighbour.cycle()));
    } else {
      give_up("unknown: " + word);
    }
  }
  neighbour.close();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: tenant_neighbour SOCKET SEED\n");
    return 2;
  }
  Neighbour neighbour(argv[1], std::strtoull(argv[2], nullptr, 0));
  say("open");
  return serve(neighbour);
}
