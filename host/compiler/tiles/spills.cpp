#include "host/compiler/tiles/spills.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "host/compiler/tiles/step_places.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint8_t kScratch = 2;

struct Result {
  TensorPlace place;
  uint64_t rows = 0, columns = 0;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_F32;
  bool uniform = false;
};
struct ResultOf {
  template <typename Other>
  Result operator()(const Other&) const {
    return {};
  }
  Result operator()(const DenseStep& s) const {
    if (s.y_dtype == WEFT_VPU_DTYPE_I8) return {s.y, s.m, (s.n + 1) / 2, WEFT_VPU_DTYPE_BF16};
    return {s.y, s.m, s.n, s.y_dtype};
  }
  Result operator()(const VectorStep& s) const {
    if (s.y_dtype == WEFT_VPU_DTYPE_I8) return {s.y, s.rows, (s.cols + 1) / 2, WEFT_VPU_DTYPE_BF16};
    return {s.y, s.rows, s.cols, s.y_dtype, s.uniform};
  }
  Result operator()(const RearrangeStep& s) const { return {s.y, s.rows, s.cols, s.y_dtype}; }
  Result operator()(const ReduceStep& s) const { return {s.y, s.rows, s.cols, s.dtype, true}; }
  Result operator()(const PairProductStep& s) const { return {s.y, s.batch * s.m, s.n, s.y_dtype}; }
  Result operator()(const ConvolutionStep& s) const {
    return {s.y, s.windows.results() * s.spread[0] * s.spread[1], s.n, s.y_dtype};
  }
  Result operator()(const RowsStep& s) const { return {s.y, s.rows, s.cols, s.dtype}; }
  Result operator()(const WindowStep& s) const { return {s.y, s.windows.results(), s.cols, s.y_dtype}; }
};

struct Value {
  uint64_t bytes = 0;
  bool uniform = false;              ///< has no row in memory that could be read back
  std::vector<size_t> readers = {};  ///< steps, ascending
};

class Liveness {
 public:
  Liveness(const spec::Chip& chip, const Program& program) : steps_(program.steps.size()) {
    for (size_t i = 0; i < program.steps.size(); i++) {
      for (const auto& place : operand_places(program.steps[i]))
        if (place.segment == kScratch)
          touched_at(i).insert(place.offset_bytes), values_[place.offset_bytes].readers.push_back(i);
      const Result y = std::visit(ResultOf{}, program.steps[i]);
      if (y.place.segment != kScratch) continue;
      touched_at(i).insert(y.place.offset_bytes);
      Value& value = values_[y.place.offset_bytes];
      const uint64_t blocks = y.uniform ? 1 : (y.columns + chip.n - 1) / chip.n;
      value.bytes = y.rows * blocks * chip.n * (y.dtype == WEFT_VPU_DTYPE_BF16 ? 2 : 4);
      value.uniform = y.uniform;
      made_.emplace_back(i, y.place.offset_bytes);
    }
  }

  /// Calls `visit` for each step with what is live during it.
  template <typename F>
  void for_each_step(F visit) {
    std::set<uint64_t> live;
    size_t next = 0;
    for (size_t i = 0; i < steps_; i++) {
      while (next < made_.size() && made_[next].first == i) live.insert(made_[next++].second);
      visit(i, live);
      std::erase_if(live, [&](uint64_t offset) {
        const auto& readers = values_[offset].readers;
        return readers.empty() || readers.back() <= i;
      });
    }
  }
  [[nodiscard]] uint64_t bytes_of(const std::set<uint64_t>& live) const {
    uint64_t bytes = 0;
    for (const uint64_t offset : live) bytes += values_.at(offset).bytes;
    return bytes;
  }
  [[nodiscard]] bool touches(size_t step, uint64_t offset) const {
    const auto found = touched_.find(step);
    return found != touched_.end() && found->second.contains(offset);
  }
  [[nodiscard]] const Value& value(uint64_t offset) const { return values_.at(offset); }

 private:
  std::set<uint64_t>& touched_at(size_t step) { return touched_[step]; }

  const size_t steps_;
  std::map<uint64_t, Value> values_;  ///< by offset
  std::vector<std::pair<size_t, uint64_t>> made_;
  std::map<size_t, std::set<uint64_t>> touched_;  ///< by step
};

}  // namespace

std::vector<TensorPlace> operand_places(const Step& step) {
  Step copy = step;
  std::vector<TensorPlace> places;
  for (const StepOperand& operand : operands_of(copy))
    if (operand.rows != 0) places.push_back(*operand.place);
  return places;
}

std::set<uint64_t> choose_spills(const spec::Chip& chip, const Program& program, uint64_t budget) {
  Liveness liveness(chip, program);
  std::set<uint64_t> spilled;
  liveness.for_each_step([&](size_t step, const std::set<uint64_t>& live) {
    std::set<uint64_t> here;
    for (const uint64_t offset : live)
      if (!spilled.contains(offset) || liveness.touches(step, offset)) here.insert(offset);
    while (liveness.bytes_of(here) > budget) {
      uint64_t latest = 0;
      auto found = here.end();
      for (auto at = here.begin(); at != here.end(); at++) {
        const Value& value = liveness.value(*at);
        if (spilled.contains(*at) || value.uniform || value.readers.empty()) continue;
        const auto next = std::ranges::upper_bound(value.readers, step);
        const uint64_t reader = next == value.readers.end() ? step : *next;
        if (found == here.end() || reader > latest || (reader == latest && value.bytes > liveness.value(*found).bytes))
          found = at, latest = reader;
      }
      if (found == here.end()) break;
      spilled.insert(*found);
      here.erase(found);  // of what this step touches, row chunks come and go
    }
  });
  return spilled;
}

}  // namespace weft::compiler::tiles
