// The collective is tried at beginnings all over the program: as fast as it goes and as slow as it may, beside a program
// that is in time and one that is late.
#include "host/compiler/sequence/hiding.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weft::compiler {
namespace {

constexpr uint64_t kPlaces = 64;
constexpr double kMostStretch = 4, kShareOfProgram = 0.9;
constexpr double kWorthDelay =
    1.0 / 32;  // of what is sent: later is riskier, as the collective may outlast the program
/// Of the program: closed forms know nothing of data that come late, so it may be later by so much.
constexpr std::array kLate{0.0, 1.0 / 16, 1.0 / 8, 3.0 / 16};

/// Cycles of work up to any one.
class Work {
 public:
  explicit Work(const std::vector<CycleSpan>& spans) : spans_(spans) {
    for (const CycleSpan& span : spans) {
      before_.push_back(total_);
      total_ += span.end - span.begin;
    }
  }
  [[nodiscard]] double between(double begin, double end) const { return until(end) - until(begin); }

 private:
  [[nodiscard]] double until(double cycle) const {
    const auto behind = std::ranges::upper_bound(spans_, cycle, {},
                                                 [](const CycleSpan& span) { return static_cast<double>(span.begin); });
    if (behind == spans_.begin()) return 0;
    const auto i = static_cast<size_t>(behind - spans_.begin()) - 1;
    const auto begin = static_cast<double>(spans_[i].begin), end = static_cast<double>(spans_[i].end);
    return static_cast<double>(before_[i]) + std::min(cycle, end) - begin;
  }

  const std::vector<CycleSpan>& spans_;
  std::vector<uint64_t> before_;
  uint64_t total_ = 0;
};

}  // namespace

Hiding hiding(const std::vector<CycleSpan>& work, uint64_t program_cycles, const std::vector<CycleSpan>& sent,
              uint64_t collective_cycles) {
  const Work working(work);
  double all = 0;
  for (const CycleSpan& span : sent) all += static_cast<double>(span.end - span.begin);
  const auto hidden = [&](double delay, double stretch) {
    double cycles = 0;
    for (const CycleSpan& span : sent)
      cycles += working.between(delay + stretch * static_cast<double>(span.begin),
                                delay + stretch * static_cast<double>(span.end)) /
                stretch;
    return cycles;
  };
  const double room = kShareOfProgram * static_cast<double>(program_cycles);
  const double length = static_cast<double>(std::max<uint64_t>(1, collective_cycles));
  std::vector<std::pair<Hiding, double>> places;
  double most = 0;
  for (uint64_t place = 0; place < kPlaces; place++) {
    const uint64_t delay = program_cycles * place / kPlaces;
    const double left = room - static_cast<double>(delay);
    if (place > 0 && left < length) break;
    const double stretch = std::clamp(left / length, 1.0, kMostStretch);
    double found = 0;
    for (const double late : kLate) {
      const double from = static_cast<double>(delay) - late * static_cast<double>(program_cycles);
      found += (hidden(from, 1) + hidden(from, stretch)) / 2 / kLate.size();
    }
    most = std::max(most, found);
    places.push_back({{delay, stretch, static_cast<uint64_t>(std::max(0.0, all - found))}, found});
  }
  return std::ranges::find_if(places, [&](const auto& p) { return p.second >= most - kWorthDelay * all; })->first;
}

}  // namespace weft::compiler
