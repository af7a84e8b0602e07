// bf16 products of the RTL, all 2^32 of them, against exact integers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "Vfma_lanes.h"
#include "model/golden/arith.hpp"
#include "testbench/numerics/host_arith.hpp"
#include "testbench/numerics/mpfr_oracle.hpp"
#include "testbench/numerics/sweep_options.hpp"

namespace {

using namespace weft::numerics;

constexpr unsigned kLanes = 256;
constexpr unsigned kOperands = 1 << 16;
constexpr uint32_t kMinusZero = 0x80000000;  // a * b + -0 is a * b, the sign of a zero too
constexpr uint64_t kSampled = 997;           // one product of so many is asked of golden and MPFR too
constexpr std::array<std::string_view, 3> kOracles{"exact", "integer", "mpfr"};
constexpr std::array<std::string_view, 5> kClassNames{"nan", "infinity", "zero", "normal", "out_of_range"};

/// Exponents that a stratified sample takes: both ends, the middle, and where products leave the range.
constexpr std::array<unsigned, 20> kStrata{0,   1,   2,   62,  63,  64,  65,  126, 127, 128,
                                           129, 189, 190, 191, 192, 193, 252, 253, 254, 255};

/// The operands of a sweep, ascending; a is split over the threads, b is run through for each a.
std::vector<uint16_t> operands(bool all) {
  std::vector<uint16_t> list;
  for (unsigned i = 0; i < kOperands; i++)
    if (all || std::ranges::find(kStrata, i >> 7 & 0xff) != kStrata.end()) list.push_back(static_cast<uint16_t>(i));
  return list;
}

struct Counts {
  std::array<uint64_t, kOracles.size()> compared{}, differing{};
  std::array<uint64_t, kClassNames.size()> classes{};
  void add(const Counts& other) {
    for (size_t i = 0; i < compared.size(); i++) compared[i] += other.compared[i], differing[i] += other.differing[i];
    for (size_t i = 0; i < classes.size(); i++) classes[i] += other.classes[i];
  }
};

class Sweep {
 public:
  explicit Sweep(const std::vector<uint16_t>& b) : b_(b), exact_(b.size()) {
    for (unsigned i = 0; i < kLanes; i++) probe_.c_i[i] = kMinusZero;
  }

  void run(uint16_t a) {
    exact_products(a, b_, exact_);
    for (unsigned i = 0; i < kLanes; i++) probe_.a_i[i] = a;
    for (size_t first = 0; first < b_.size(); first += kLanes) {
      const size_t count = std::min<size_t>(kLanes, b_.size() - first);
      std::memcpy(&probe_.b_i[0], &b_[first], count * sizeof b_[0]);
      probe_.eval();
      if (std::memcmp(&probe_.fma_o[0], &exact_[first], count * sizeof exact_[0]) != 0)
        for (unsigned i = 0; i < count; i++) compare(0, a, b_[first + i], probe_.fma_o[i], exact_[first + i]);
    }
    counts_.compared[0] += b_.size();
    count_classes(a);
    for (size_t i = (a * uint64_t{31}) % kSampled; i < b_.size(); i += kSampled) {
      counts_.compared[1]++, counts_.compared[2]++;
      compare(1, a, b_[i], exact_[i], weft::golden::fma_bf16(a, b_[i], kMinusZero));
      compare(2, a, b_[i], exact_[i], mpfr_fma_bits({a, b_[i], kMinusZero}));
    }
  }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  void count_classes(uint16_t a) {
    const bool normal_a = (a >> 7 & 0xff) != 0 && (a >> 7 & 0xff) != 255;
    std::array<uint32_t, kClassNames.size()> seen{};
    for (size_t i = 0; i < b_.size(); i++) {
      const uint32_t magnitude = exact_[i] & 0x7fffffff, eb = b_[i] >> 7 & 0xffu;
      const bool left = normal_a & (eb != 0) & (eb != 255) & ((magnitude == 0) | (magnitude == 0x7f800000));
      seen[0] += magnitude > 0x7f800000;
      seen[1] += (magnitude == 0x7f800000) & !left;
      seen[2] += (magnitude == 0) & !left;
      seen[3] += (magnitude != 0) & (magnitude < 0x7f800000);
      seen[4] += left;
    }
    for (size_t i = 0; i < seen.size(); i++) counts_.classes[i] += seen[i];
  }

  void compare(unsigned oracle, uint16_t a, uint16_t b, uint32_t is, uint32_t should) {
    if (is == should || counts_.differing[oracle]++ != 0) return;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    fmt::print("DIFFERS: {:#06x} * {:#06x}: {} {:#010x}, {} {:#010x}\nrerun: product_sweep --first {} --count 1\n", a,
               b, oracle == 0 ? "RTL" : "exact", is, kOracles[oracle], should, a);
  }

  const std::vector<uint16_t>& b_;
  std::vector<uint32_t> exact_;
  Vfma_lanes probe_;
  Counts counts_;
};

}  // namespace

int main(int argc, char** argv) {
  SweepOptions options;
  const int code = parse_options(
      argc, argv,
      "bf16 products of the RTL against exact integers: all 2^32 (nightly, release) or a stratified part (ci).\n"
      "--first and --count choose values of operand a; with --count, b takes all values.",
      options);
  if (code >= 0) return code;
  const bool all = options.level != "ci" || options.count != 0;
  const std::vector<uint16_t> b = operands(all);
  std::vector<uint16_t> a = b;
  if (options.count != 0) {
    a.resize(std::min<uint64_t>(options.count, kOperands - std::min<uint64_t>(options.first, kOperands)));
    std::iota(a.begin(), a.end(), static_cast<uint16_t>(options.first));
  }
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Counts> parts(options.jobs);
  std::vector<std::thread> threads;
  for (unsigned job = 0; job < options.jobs; job++) {
    threads.emplace_back([&, job] {
      const auto sweep = std::make_unique<Sweep>(b);
      for (size_t i = job; i < a.size(); i += options.jobs) sweep->run(a[i]);
      parts[job] = sweep->counts();
    });
  }
  Counts counts;
  for (unsigned job = 0; job < options.jobs; job++) {
    threads[job].join();
    counts.add(parts[job]);
  }
  const uint64_t differing = std::accumulate(counts.differing.begin(), counts.differing.end(), uint64_t{0});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const bool written = write_report(options, {{"name", "product_sweep"},
                                              {"level", options.level},
                                              {"products", a.size() * b.size()},
                                              {"compared", named_counts(kOracles, counts.compared)},
                                              {"differing", named_counts(kOracles, counts.differing)},
                                              {"classes", named_counts(kClassNames, counts.classes)},
                                              {"seconds", seconds}});
  const bool compared = std::ranges::find(counts.compared, 0u) == counts.compared.end();
  if (!compared) fmt::print(stderr, "product_sweep: an oracle was compared with nothing\n");
  return differing == 0 && compared && written ? 0 : 1;
}
