// What ranks that were started one by one tell each other, and which of them are not alike.
#include "model/ranks/rank_start.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "model/ranks/shared_ranks.hpp"

using namespace weft;
using namespace std::chrono_literals;
using ranks::RankStart;

TEST_CASE("All ranks hear what each was started with") {
  std::string error;
  const auto shared = ranks::SharedRanks::make(3, error);
  REQUIRE(shared != nullptr);
  std::vector<std::vector<RankStart>> heard(3);
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < 3; rank++)
    threads.emplace_back([&, rank] {
      RankStart own = ranks::rank_start("slice=nano-2x2\nrank=" + std::to_string(rank));
      own.process = rank;
      heard[rank] = ranks::tell_starts(*shared->link(rank), own);
    });
  for (auto& thread : threads) thread.join();
  CHECK(heard[0] == heard[1]);
  CHECK(heard[0] == heard[2]);
  CHECK(heard[0][1].options == "slice=nano-2x2\nrank=1");
  CHECK(heard[0][2].process == 2);
  CHECK_THAT(heard[0][0].program, Catch::Contains(" bytes with CRC "));
}

TEST_CASE("Ranks that are alike do not differ, wherever they run") {
  CHECK(ranks::find_difference({{"a", "x\n", "east", 1}, {"a", "x\n", "west", 2}}).empty());
}

TEST_CASE("The first rank with another build or other options is named, with what it has") {
  CHECK(ranks::find_difference({{"a", "x", "east", 1}, {"a", "x", "east", 2}, {"b", "y", "west", 3}}) ==
        "rank 2 (process 3 on west) runs another build than rank 0 (process 1 on east): b, and not a");
  CHECK(ranks::find_difference(
            {{"a", "core=\"fast\"\nmpi=true\n", "east", 1}, {"a", "core=\"rtl\"\nmpi=true\n", "west", 2}}) ==
        "rank 1 (process 2 on west) was started with other options than rank 0 (process 1 on east): core=\"rtl\", and "
        "not core=\"fast\"");
  CHECK_THAT(ranks::find_difference({{"a", "x\n", "east", 1}, {"a", "x\nmore\n", "west", 2}}),
             Catch::EndsWith(": more, and not nothing"));
  CHECK_THAT(ranks::find_difference({{"a", "x\nmore\n", "east", 1}, {"a", "x\n", "west", 2}}),
             Catch::EndsWith(": nothing, and not more"));
}

TEST_CASE("A rank of this machine is gone when its process is, one of another machine when it has been waited for") {
  const RankStart own = ranks::rank_start("");
  CHECK_FALSE(ranks::is_gone(own, own, 1h));
  RankStart other = own;
  other.process = static_cast<uint32_t>(::fork());
  if (other.process == 0) ::_exit(0);
  siginfo_t ended{};
  ::waitid(P_PID, other.process, &ended, WEXITED | WNOWAIT);
  CHECK(ranks::is_gone(other, own, 0s));  // nobody has waited for it
  ::waitpid(static_cast<pid_t>(other.process), nullptr, 0);
  CHECK(ranks::is_gone(other, own, 0s));
  other.host = own.host + "-not";
  CHECK_FALSE(ranks::is_gone(other, own, 10ms));
  CHECK(ranks::is_gone(other, own, 1s));
}
