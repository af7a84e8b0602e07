// The multiply-add of a PE on millions of vectors, against the host's, the integer reference and MPFR.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "Vfma_lanes.h"
#include "model/golden/arith.hpp"
#include "testbench/numerics/fma_outcome.hpp"
#include "testbench/numerics/fma_vectors.hpp"
#include "testbench/numerics/host_arith.hpp"
#include "testbench/numerics/mpfr_oracle.hpp"
#include "testbench/numerics/sweep_options.hpp"

namespace {

using namespace weft::numerics;

constexpr unsigned kLanes = 256;
constexpr uint64_t kMpfrSample = 1'000'000;
constexpr std::array<std::string_view, 4> kOracles{"host", "integer", "mpfr", "chain"};
enum Oracle : uint8_t { kHost, kInteger, kMpfr, kChain };

uint64_t vectors_of(const SweepOptions& options) {
  if (options.count != 0) return options.count;
  if (options.level == "ci") return 10'000'000;
  return options.level == "nightly" ? 100'000'000 : 1'000'000'000;
}

struct Counts {
  std::array<uint64_t, kFmaClasses> classes{};
  std::array<uint64_t, kFmaOutcomes> outcomes{};
  std::array<uint64_t, kOracles.size()> compared{}, differing{};

  void add(const Counts& other) {
    const auto sum = [](auto& to, const auto& from) {
      for (size_t i = 0; i < to.size(); i++) to[i] += from[i];
    };
    sum(classes, other.classes);
    sum(outcomes, other.outcomes);
    sum(compared, other.compared);
    sum(differing, other.differing);
  }
};

/// Vectors [first, end) on a probe of its own.
class Sweep {
 public:
  Sweep(uint64_t seed, uint64_t mpfr_every) : seed_(seed), mpfr_every_(mpfr_every) {}

  Counts run(uint64_t first, uint64_t end) {
    for (uint64_t at = first; at < end; at += kLanes)
      batch(at, static_cast<unsigned>(std::min<uint64_t>(kLanes, end - at)));
    return counts_;
  }

 private:
  void batch(uint64_t first, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
      const FmaVector v = fma_vector(seed_, first + i);
      a_[i] = v.a, b_[i] = v.b, c_[i] = v.c;
    }
    std::memcpy(&probe_.a_i[0], a_.data(), sizeof a_);
    std::memcpy(&probe_.b_i[0], b_.data(), sizeof b_);
    std::memcpy(&probe_.c_i[0], c_.data(), sizeof c_);
    probe_.eval();
    host_fma(a_, b_, c_, host_);
    for (unsigned i = 0; i < count; i++) judge(first + i, i);
  }

  void judge(uint64_t index, unsigned lane) {
    const FmaVector v{a_[lane], b_[lane], c_[lane]};
    counts_.classes[static_cast<size_t>(class_of(index))]++;
    counts_.outcomes[static_cast<size_t>(fma_outcome(v))]++;
    const uint32_t rtl = probe_.fma_o[lane];
    compare(kHost, index, v, rtl, host_[lane]);
    compare(kInteger, index, v, rtl, weft::golden::fma_bf16(v.a, v.b, v.c));
    // 8 classes in turn: the quotient, so that the sample has all of them
    if (index / kFmaClasses % mpfr_every_ == 0) compare(kMpfr, index, v, rtl, mpfr_fma_bits(v));
    if (probe_.link_seen_o[lane] == 0) compare(kChain, index, v, probe_.link_o[lane], rtl);
  }

  void compare(Oracle oracle, uint64_t index, const FmaVector& v, uint32_t is, uint32_t should) {
    counts_.compared[oracle]++;
    if (is == should) return;
    if (counts_.differing[oracle]++ != 0) return;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    fmt::print(
        "DIFFERS: {:#06x} * {:#06x} + {:#010x}: {} {:#010x}, {} {:#010x}; class {}, {}\n"
        "rerun: fma_sweep --seed {} --first {} --count 1\n",
        v.a, v.b, v.c, oracle == kChain ? "the chain's link" : "RTL", is,
        oracle == kChain ? "RTL's fma" : kOracles[oracle], should, kFmaClassNames[static_cast<size_t>(class_of(index))],
        kFmaOutcomeNames[static_cast<size_t>(fma_outcome(v))], seed_, index);
  }

  const uint64_t seed_, mpfr_every_;
  Vfma_lanes probe_;
  std::array<uint16_t, kLanes> a_{}, b_{};
  std::array<uint32_t, kLanes> c_{}, host_{};
  Counts counts_;
};

}  // namespace

int main(int argc, char** argv) {
  SweepOptions options;
  const int code = parse_options(
      argc, argv, "RTL multiply-add against the host's, the integer reference and MPFR: bits must be equal.", options);
  if (code >= 0) return code;
  const uint64_t vectors = vectors_of(options);
  const uint64_t mpfr_every = std::max<uint64_t>(1, vectors / kMpfrSample);
  fmt::print("seed {}: {} vectors from {}\n", options.seed, vectors, options.first);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Counts> parts(options.jobs);
  std::vector<std::thread> threads;
  for (unsigned job = 0; job < options.jobs; job++) {
    threads.emplace_back([&, job] {
      const uint64_t from = options.first + vectors * job / options.jobs;
      const uint64_t to = options.first + vectors * (job + 1) / options.jobs;
      parts[job] = std::make_unique<Sweep>(options.seed, mpfr_every)->run(from, to);
    });
  }
  Counts counts;
  for (unsigned job = 0; job < options.jobs; job++) {
    threads[job].join();
    counts.add(parts[job]);
  }
  uint64_t differing = 0;
  for (const uint64_t n : counts.differing) differing += n;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const bool written = write_report(options, {{"name", "fma_sweep"},
                                              {"level", options.level},
                                              {"seed", options.seed},
                                              {"vectors", vectors},
                                              {"compared", named_counts(kOracles, counts.compared)},
                                              {"differing", named_counts(kOracles, counts.differing)},
                                              {"classes", named_counts(kFmaClassNames, counts.classes)},
                                              {"outcomes", named_counts(kFmaOutcomeNames, counts.outcomes)},
                                              {"seconds", seconds}});
  // A rerun of one vector has not all oracles; a sweep has.
  const auto least = options.count != 0 ? counts.compared[kHost] : std::ranges::min(counts.compared);
  if (least == 0) fmt::print(stderr, "fma_sweep: an oracle was compared with nothing\n");
  return differing == 0 && least != 0 && written ? 0 : 1;
}
