#include "host/compiler/tiles/spills.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "host/compiler/layout.hpp"
#include "host/compiler/tiles/chunk_copies.hpp"
#include "host/compiler/tiles/step_places.hpp"
#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint64_t kFewTiles = 16;      // of weights that come and go
constexpr uint64_t kStreamEighths = 7;  // of VMEM, that a streamed product is planned for: places have gaps

ValueKey key_of(const TensorPlace& place) { return {place.segment, place.offset_bytes}; }

struct Computed {
  TensorPlace place;
  uint64_t rows = 0, columns = 0;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_F32;
  bool uniform = false;
};
struct ComputedBy {
  template <typename Other>
  Computed operator()(const Other&) const {
    return {};
  }
  Computed operator()(const DenseStep& s) const {
    if (s.y_dtype == WEFT_VPU_DTYPE_I8) return {s.y, s.m, (s.n + 1) / 2, WEFT_VPU_DTYPE_BF16};
    return {s.y, s.m, s.n, s.y_dtype};
  }
  Computed operator()(const VectorStep& s) const {
    if (s.y_dtype == WEFT_VPU_DTYPE_I8) return {s.y, s.rows, (s.cols + 1) / 2, WEFT_VPU_DTYPE_BF16};
    return {s.y, s.rows, s.cols, s.y_dtype, s.uniform};
  }
  Computed operator()(const RearrangeStep& s) const { return {s.y, s.rows, s.cols, s.y_dtype}; }
  Computed operator()(const ReduceStep& s) const { return {s.y, s.rows, s.cols, s.dtype, true}; }
  Computed operator()(const PairProductStep& s) const { return {s.y, s.batch * s.m, s.n, s.y_dtype}; }
  Computed operator()(const ConvolutionStep& s) const {
    return {s.y, s.windows.results() * s.spread[0] * s.spread[1], s.n, s.y_dtype};
  }
  Computed operator()(const RowsStep& s) const { return {s.y, s.rows, s.cols, s.dtype}; }
  Computed operator()(const WindowStep& s) const { return {s.y, s.windows.results(), s.cols, s.y_dtype}; }
};

uint64_t bytes_in_vmem(const spec::Chip& chip, uint64_t rows, uint64_t columns, weft_vpu_dtype dtype) {
  return rows * ((columns + chip.n - 1) / chip.n) * chip.n * vpu_element_bytes(dtype);
}

struct Value {
  uint64_t bytes = 0;
  bool input = false;                ///< not computed: it comes when it is read first
  bool uniform = false;              ///< has no row in memory that could be read back
  std::vector<size_t> readers = {};  ///< steps, ascending
};

class Liveness {
 public:
  Liveness(const spec::Chip& chip, const Program& program) : steps_(program.steps.size()) {
    for (size_t i = 0; i < program.steps.size(); i++) {
      Step copy = program.steps[i];
      for (const StepOperand& operand : operands_of(copy)) {
        if (operand.rows == 0) continue;
        const ValueKey key = key_of(*operand.place);
        if (const auto [value, input] = values_.try_emplace(key); input) {
          value->second.input = true;
          value->second.bytes = bytes_in_vmem(chip, operand.rows, operand.columns, operand.dtype);
          made_.emplace_back(i, key);
        }
        touched_[i].insert(key);
        values_[key].readers.push_back(i);
      }
      const Computed y = std::visit(ComputedBy{}, program.steps[i]);
      touched_[i].insert(key_of(y.place));
      Value& value = values_[key_of(y.place)];
      value.bytes = bytes_in_vmem(chip, y.rows, y.uniform ? 1 : y.columns, y.dtype);
      value.uniform = y.uniform;
      made_.emplace_back(i, key_of(y.place));
    }
  }

  /// Calls `visit` for each step with what is live during it.
  template <typename F>
  void for_each_step(F visit) {
    std::set<ValueKey> live;
    size_t next = 0;
    for (size_t i = 0; i < steps_; i++) {
      // What no step reads is stored as it comes, an input that one step reads comes as it goes.
      for (; next < made_.size() && made_[next].first == i; next++)
        if (const Value& value = values_[made_[next].second]; value.readers.size() > (value.input ? 1 : 0))
          live.insert(made_[next].second);
      visit(i, live);
      std::erase_if(live, [&](const ValueKey& key) {
        const auto& readers = values_[key].readers;
        return readers.empty() || readers.back() <= i;
      });
    }
  }
  [[nodiscard]] uint64_t bytes_of(const std::set<ValueKey>& live) const {
    uint64_t bytes = 0;
    for (const ValueKey& key : live) bytes += values_.at(key).bytes;
    return bytes;
  }
  [[nodiscard]] bool touches(size_t step, const ValueKey& key) const {
    const auto found = touched_.find(step);
    return found != touched_.end() && found->second.contains(key);
  }
  /// Null: no step computes or reads it as a matrix.
  [[nodiscard]] const Value* value(const ValueKey& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }

 private:
  const size_t steps_;
  std::map<ValueKey, Value> values_;
  std::vector<std::pair<size_t, ValueKey>> made_;
  std::map<size_t, std::set<ValueKey>> touched_;  ///< by step
};

}  // namespace

std::vector<TensorPlace> operand_places(const Step& step) {
  Step copy = step;
  std::vector<TensorPlace> places;
  for (const StepOperand& operand : operands_of(copy))
    if (operand.rows != 0) places.push_back(*operand.place);
  return places;
}

namespace {

/// Words of VMEM that a product takes beside values that live before or after it.
uint64_t words_of(const spec::Chip& chip, const DenseStep& step) {
  const auto parts = [](uint64_t size, uint64_t of) { return (size + of - 1) / of; };
  const auto chunks = row_chunks(chip, step.m);
  const uint64_t tiles = parts(step.k, tile_k(chip, step.dtype)), column_blocks = parts(step.n, chip.n);
  // Weights of one row chunk come and go.
  const uint64_t weights = (chunks.size() > 1 ? tiles * column_blocks : std::min(tiles, kFewTiles)) * chip.n;
  uint64_t rows = 0;
  for (const Span& chunk : chunks) rows = std::max(rows, chunk.count);
  return weights + 2 * rows * (tiles + column_blocks * row_words(step.y_dtype));
}

class SpillChoice {
 public:
  SpillChoice(const spec::Chip& chip, const Program& program, uint64_t eighths)
      : chip_(chip), program_(program), liveness_(chip, program), budget_(chip.vmem_bytes / 8 * eighths) {}

  Result<Spills> run() {
    for (size_t i = 0; i < program_.steps.size(); i++)
      if (const auto* dense = std::get_if<DenseStep>(&program_.steps[i]); dense != nullptr && streams(*dense)) {
        streamed_.insert(i);
        for (const TensorPlace& place : {dense->x, dense->y})
          if (liveness_.value(key_of(place)) != nullptr) spills_.values.insert(key_of(place));
      }
    liveness_.for_each_step([&](size_t step, const std::set<ValueKey>& live) { spill_at(step, live); });
    for (const size_t step : streamed_) {
      const auto& dense = std::get<DenseStep>(program_.steps[step]);
      const uint64_t left = chip_.vmem_bytes / 8 * kStreamEighths - std::min(held_[step], budget_);
      auto plan = plan_gemm(chip_, dense, left / chip_.word_bytes);
      if (!plan.ok())
        plan = plan_gemm(chip_, dense, (chip_.vmem_bytes - std::min(held_[step], budget_)) / chip_.word_bytes);
      if (!plan.ok()) return plan.error();
      spills_.products.emplace(step, std::move(plan.value()));
    }
    return std::move(spills_);
  }

 private:
  [[nodiscard]] bool streams(const DenseStep& dense) const {
    const Value* const x = liveness_.value(key_of(dense.x));
    if (x != nullptr && x->uniform) return false;
    return program_.steps.size() == 1 || words_of(chip_, dense) * chip_.word_bytes > chip_.vmem_bytes - budget_;
  }

  void spill_at(size_t step, const std::set<ValueKey>& live) {
    const bool chunks_go = streamed_.contains(step);
    std::set<ValueKey> here;
    for (const ValueKey& key : live)
      if (!spills_.values.contains(key) || (liveness_.touches(step, key) && !chunks_go)) here.insert(key);
    while (liveness_.bytes_of(here) > budget_) {
      uint64_t latest = 0;
      auto found = here.end();
      for (auto at = here.begin(); at != here.end(); at++) {
        const Value& value = *liveness_.value(*at);
        if (spills_.values.contains(*at) || value.uniform || value.readers.empty()) continue;
        const auto next = std::ranges::upper_bound(value.readers, step);
        const uint64_t reader = next == value.readers.end() ? step : *next;
        if (found == here.end() || reader > latest ||
            (reader == latest && value.bytes > liveness_.value(*found)->bytes))
          found = at, latest = reader;
      }
      if (found == here.end()) break;
      spills_.values.insert(*found);
      here.erase(found);  // of what this step touches, row chunks come and go
    }
    held_[step] = liveness_.bytes_of(here);
  }

  const spec::Chip& chip_;
  const Program& program_;
  Liveness liveness_;
  const uint64_t budget_;  ///< bytes
  Spills spills_;
  std::set<size_t> streamed_;
  std::map<size_t, uint64_t> held_;  ///< by step: bytes of values
};

}  // namespace

Result<Spills> choose_spills(const spec::Chip& chip, const Program& program, uint64_t eighths) {
  return SpillChoice(chip, program, eighths).run();
}

}  // namespace weft::compiler::tiles
