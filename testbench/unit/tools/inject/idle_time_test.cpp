// What counts as idle, on a machine that may be busy with something else: bounds are shares of the time that has passed.
#include "host/tools/inject/idle_time.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <ctime>
#include <thread>

using namespace weft;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

/// Uses a processor for so long, however long that takes.
void work(std::chrono::nanoseconds of_processor) {
  const auto used = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  for (const auto end = used() + of_processor; used() < end;) {
  }
}

/// A child process that works and ends; it has been waited for, but is still there, when this returns.
pid_t child_works(std::chrono::nanoseconds of_processor) {
  const pid_t child = ::fork();
  if (child == 0) {
    work(of_processor);
    ::_exit(0);
  }
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  return child;
}

}  // namespace

TEST_CASE("a sleep is idle time, and work is not") {
  auto begin = Clock::now();
  tools::IdleTime idle;
  std::this_thread::sleep_for(300ms);
  const auto slept = idle.elapsed();
  CHECK(slept > 100ms);
  CHECK(slept <= Clock::now() - begin);
  begin = Clock::now();
  work(200ms);
  CHECK(idle.elapsed() - slept < (Clock::now() - begin) / 2);
}

TEST_CASE("while a child works nothing is idle") {
  tools::IdleTime idle;
  const auto begin = Clock::now();
  const pid_t child = child_works(200ms);
  CHECK(idle.elapsed() < (Clock::now() - begin) / 2);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("a child that gets no processor is not idle") {
  // Both on one processor, and the child counts for a hundredth there while the other works: without the time that it
  // waits, most of what passes would be idle.
  cpu_set_t allowed{}, one{};
  REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
    if (CPU_ISSET(i, &allowed)) CPU_SET(i, &one);
  int held[2];
  REQUIRE(::pipe(held) == 0);
  const pid_t rival = ::fork();
  if (rival == 0) {
    ::sched_setaffinity(0, sizeof one, &one);
    // a grandchild of ours would be counted: this one is nobody's child by then
    if (::fork() == 0) {
      ::close(held[0]);
      work(400ms);
      ::_exit(0);
    }
    ::_exit(0);
  }
  ::waitpid(rival, nullptr, 0);
  ::close(held[1]);
  tools::IdleTime idle;
  const auto begin = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    ::sched_setaffinity(0, sizeof one, &one);
    (void)::nice(19);
    work(20ms);
    ::_exit(0);
  }
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  CHECK(idle.elapsed() < (Clock::now() - begin) / 2);
  ::waitpid(child, nullptr, 0);
  char end = 0;
  CHECK(::read(held[0], &end, 1) == 0);  // the rival has ended too
  ::close(held[0]);
}
