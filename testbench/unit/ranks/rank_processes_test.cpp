// Processes that end well, badly, and by signals.
#include "model/ranks/rank_processes.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>

using namespace weft;

namespace {

constexpr int kReported = 42;

struct Run {
  int exit_code = 0;
  std::string how;
  int reports = 0;
  std::chrono::steady_clock::duration took{};
};

Run run(
    unsigned ranks, const std::function<int(unsigned)>& body, const std::function<void()>& begun = [] {}) {
  Run run;
  const auto begin = std::chrono::steady_clock::now();
  run.exit_code = ranks::run_ranks(ranks, body, begun, [&](const ranks::RankEnd& end) {
    run.how = end.how;
    run.reports++;
    return kReported;
  });
  run.took = std::chrono::steady_clock::now() - begin;
  return run;
}

[[noreturn]] int sleep_for_ever(unsigned) {
  ::signal(SIGTERM, SIG_DFL);  // the test program has a handler
  for (;;) ::pause();
}

}  // namespace

TEST_CASE("Ranks that end well are nothing to report") {
  const Run all = run(4, [](unsigned) { return 0; });
  CHECK(all.exit_code == 0);
  CHECK(all.reports == 0);
}

TEST_CASE("A rank that is killed is reported, and those that wait for it are ended") {
  const Run all = run(3, [](unsigned rank) { return rank == 1 ? ::raise(SIGKILL) : sleep_for_ever(rank); });
  CHECK(all.exit_code == kReported);
  CHECK(all.reports == 1);
  CHECK_THAT(all.how, Catch::StartsWith("rank 1 (process ") && Catch::EndsWith("was ended by signal 9 (Killed)"));
  CHECK(all.took < std::chrono::seconds(4));
}

TEST_CASE("A rank that fails is reported with its exit code") {
  const Run all = run(2, [](unsigned rank) { return rank == 1 ? 3 : sleep_for_ever(rank); });
  CHECK(all.exit_code == kReported);
  CHECK_THAT(all.how, Catch::EndsWith("ended with exit code 3"));
}

TEST_CASE("A rank that ends well while the others do not is no reason for them to stay") {
  const Run all = run(2, [](unsigned rank) { return rank == 0 ? 0 : sleep_for_ever(rank); });
  CHECK(all.took < std::chrono::seconds(10));
  CHECK_THAT(all.how, Catch::Contains("as it had not ended after 4 s"));
}

TEST_CASE("A signal to end is passed on to all ranks") {
  // The ranks end by SIGTERM, as a program does that has not asked for anything else.
  const Run all = run(2, sleep_for_ever, [] { ::kill(::getpid(), SIGTERM); });
  CHECK(all.exit_code == kReported);
  CHECK_THAT(all.how, Catch::Contains("signal 15"));
}
