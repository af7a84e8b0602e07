// Shrinking: greedy, biggest pieces first, until a whole round changes nothing.
#include "testbench/random/shrink.hpp"

#include <algorithm>
#include <string_view>

#include "weft/spec/command_fields.hpp"

namespace weft::random {
namespace {

/// Without steps [first, first + count); what waited for them waits for what they waited for no more.
std::optional<Plan> without(const Plan& plan, size_t first, size_t count) {
  if (plan.damage && plan.damage->step >= first && plan.damage->step < first + count) return std::nullopt;
  Plan out = plan;
  const auto begin = out.steps.begin() + static_cast<ptrdiff_t>(first);
  out.steps.erase(begin, begin + static_cast<ptrdiff_t>(count));
  for (Step& step : out.steps) {
    std::erase_if(step.after, [&](size_t i) { return i >= first && i < first + count; });
    for (size_t& i : step.after)
      if (i >= first) i -= count;
  }
  if (out.damage && out.damage->step >= first) out.damage->step -= count;
  return out;
}

/// Sizes become 1, a half, or one less; addresses and strides stay.
constexpr std::string_view kSizes[] = {"size0", "size1", "size2", "size3", "m", "k", "rows", "cols"};

class Shrinker {
 public:
  Shrinker(Plan plan, const StillFails& still_fails, unsigned max_runs)
      : plan_(std::move(plan)), still_fails_(still_fails), runs_left_(max_runs) {}

  Plan run() {
    for (bool smaller = true; smaller && runs_left_ != 0;) {
      smaller = drop_steps();
      smaller = simplify_timing() || smaller;
      smaller = drop_waits() || smaller;
      smaller = reduce_sizes() || smaller;
    }
    return plan_;
  }

 private:
  bool accept(Plan candidate) {
    if (runs_left_ == 0) return false;
    const auto program = make_program(candidate);
    if (!program) return false;
    runs_left_--;
    if (!still_fails_(*program)) return false;
    plan_ = std::move(candidate);
    return true;
  }

  bool drop_steps() {
    bool smaller = false;
    for (size_t count = std::max<size_t>(1, plan_.steps.size() / 2); count != 0; count /= 2) {
      for (size_t end = plan_.steps.size(); end >= count && end != 0;) {  // later ones first: nothing depends on them
        auto candidate = without(plan_, end - count, count);
        const bool dropped = candidate && accept(std::move(*candidate));
        smaller = smaller || dropped;
        end = std::min(plan_.steps.size(), end - (dropped ? count : 1 + (count - 1) / 2));
      }
    }
    return smaller;
  }

  bool simplify_timing() {
    bool smaller = false;
    if (plan_.stall_percent != 0) {
      Plan candidate = plan_;
      candidate.stall_percent = 0;
      smaller = accept(std::move(candidate));
    }
    if (plan_.prefetch) {
      Plan candidate = plan_;
      candidate.prefetch = false;
      smaller = accept(std::move(candidate)) || smaller;
    }
    if (plan_.jitter) {
      Plan candidate = plan_;
      candidate.jitter = false;
      smaller = accept(std::move(candidate)) || smaller;
    }
    return smaller;
  }

  bool drop_waits() {
    bool smaller = false;
    for (size_t i = 0; i < plan_.steps.size(); i++) {
      if (plan_.steps[i].after.empty()) continue;
      Plan candidate = plan_;
      candidate.steps[i].after.clear();
      smaller = accept(std::move(candidate)) || smaller;
    }
    return smaller;
  }

  bool reduce_sizes() {
    bool smaller = false;
    for (size_t i = 0; i < plan_.steps.size(); i++) {
      for (const auto& field : spec::body_fields(spec::find_opcode(plan_.steps[i].command.bytes[0])->body)) {
        if (std::ranges::find(kSizes, field.name) == std::end(kSizes)) continue;
        const uint64_t step = field.name == "size0" ? WEFT_CORE_DMA_GRANULE_BYTES : 1;
        for (const uint64_t smaller_value : {step, value(i, field) / 2 / step * step, value(i, field) - step}) {
          if (smaller_value < step || smaller_value >= value(i, field)) continue;
          Plan candidate = plan_;
          spec::store_le(candidate.steps[i].command, field.offset, field.bytes, smaller_value);
          smaller = accept(std::move(candidate)) || smaller;
        }
      }
    }
    return smaller;
  }
  [[nodiscard]] uint64_t value(size_t step, const spec::FieldInfo& field) const {
    return spec::load_le(plan_.steps[step].command, field.offset, field.bytes);
  }

  Plan plan_;
  const StillFails& still_fails_;
  unsigned runs_left_;
};

}  // namespace

Plan shrink_plan(Plan plan, const StillFails& still_fails, unsigned max_runs) {
  return Shrinker(std::move(plan), still_fails, max_runs).run();
}

}  // namespace weft::random
