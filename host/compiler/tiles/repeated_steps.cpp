// Steps get numbers, equal ones the same; a run of equal numbers at a distance is a repetition. Whether it is a loop is
// told by what each step reads: the same thing of its own layer or of the one before in every layer.
#include "host/compiler/tiles/repeated_steps.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace weft::compiler::tiles {
namespace {

constexpr uint8_t kConstants = 1, kScratch = 2, kFirstArgument = 3;
constexpr size_t kMostSteps = 4096;
constexpr size_t kFewestLayers = 3;
constexpr size_t kMostRepetitions = 64;
constexpr size_t kRoomForCopies = 1 << 20;  // bytes of constants that layers have shared

/// What an operand is of a layer.
struct Origin {
  enum class Kind : uint8_t { kOwn, kCarried, kOutside, kMemory, kOther };
  Kind kind = Kind::kOther;
  size_t step = 0;    ///< of a layer: in that
  TensorPlace place;  ///< otherwise
};

class LoopFinder {
 public:
  LoopFinder(const Program& program, const Repetition& repetition, uint32_t layers_of_turn)
      : steps_(program.steps), program_(program), of_(repetition), group_(layers_of_turn) {
    for (size_t i = 0; i < steps_.size(); i++)
      if (const TensorPlace* y = result_of(steps_[i]); y != nullptr)
        (y->segment == kScratch ? producer_[y->offset_bytes] : output_of_[{y->segment, y->offset_bytes}]) = i;
  }

  std::optional<LoopedSteps> run() {
    of_.layers = of_.layers / group_ * group_;
    if (of_.layers < std::max<size_t>(kFewestLayers, size_t{group_} + 1) || !results_stay() || !layers_agree() ||
        !later_steps_agree())
      return std::nullopt;
    lay_out_constants();
    cut();
    return std::move(loop_);
  }

 private:
  [[nodiscard]] size_t end() const { return of_.first + of_.layers * of_.period; }
  [[nodiscard]] size_t index(size_t layer, size_t step) const { return of_.first + layer * of_.period + step; }

  [[nodiscard]] Origin origin_of(const TensorPlace& place, size_t layer) const {
    const auto output = output_of_.find({place.segment, place.offset_bytes});
    if (place.segment != kScratch && output == output_of_.end()) return {Origin::Kind::kMemory, 0, place};
    const auto found = producer_.find(place.offset_bytes);
    if (place.segment == kScratch && found == producer_.end()) return {};
    const size_t from = place.segment == kScratch ? found->second : output->second;
    if (from < of_.first && place.segment != kScratch) return {};
    if (from < of_.first) return {Origin::Kind::kOutside, 0, place};
    if (from >= end()) return {};
    const size_t layer_of = (from - of_.first) / of_.period, step = (from - of_.first) % of_.period;
    if (layer_of == layer) return {Origin::Kind::kOwn, step, {}};
    if (layer_of + 1 == layer) return {Origin::Kind::kCarried, step, {}};
    return {};
  }

  /// No value of a layer is an output of the program, except one of the last layer that a next layer would read.
  bool results_stay() {
    for (size_t layer = 0; layer < of_.layers; layer++)
      for (size_t j = 0; j < of_.period; j++)
        if (const TensorPlace* y = result_of(steps_[index(layer, j)]); y == nullptr || y->segment != kScratch) {
          if (y == nullptr || layer + 1 < of_.layers) return false;
          outputs_.insert(j);
        }
    return true;
  }

  bool layers_agree() {
    for (size_t j = 0; j < of_.period; j++) {
      const auto second = operands_of(steps_[index(1, j)]);
      for (size_t k = 0; k < second.size(); k++) {
        const Origin expected = origin_of(*second[k].place, 1);
        if (expected.kind == Origin::Kind::kOther) return false;
        if (expected.kind == Origin::Kind::kCarried && !note_carry(expected.step, operands_of(steps_[index(0, j)])[k]))
          return false;
        std::vector<uint64_t> offsets;
        for (size_t layer = 0; layer < of_.layers; layer++) {
          const auto operands = operands_of(steps_[index(layer, j)]);
          const Origin origin = origin_of(*operands[k].place, layer);
          if (layer == 0 && expected.kind == Origin::Kind::kCarried) continue;
          if (origin.kind != expected.kind || origin.step != expected.step) return false;
          if (origin.kind == Origin::Kind::kOutside && origin.place != expected.place) return false;
          if (origin.kind != Origin::Kind::kMemory) continue;
          if (origin.place.segment != expected.place.segment || origin.place.pitch_bytes != expected.place.pitch_bytes)
            return false;
          if (origin.place.segment >= kFirstArgument && origin.place != expected.place) return false;
          offsets.push_back(origin.place.offset_bytes);
        }
        if (expected.kind == Origin::Kind::kOutside) kept_.insert(expected.place.offset_bytes);
        if (expected.kind == Origin::Kind::kMemory &&
            std::ranges::any_of(offsets, [&](uint64_t offset) { return offset != offsets[0]; }))
          moving_[{j, k}] = std::move(offsets);
      }
    }
    return !carries_.empty() && std::ranges::all_of(outputs_, [&](size_t step) { return carries_.contains(step); });
  }

  /// All steps of the first layer read the same in the place of what the others find in the layer before.
  bool note_carry(size_t step, const StepOperand& operand) {
    const Origin origin = origin_of(*operand.place, 0);
    if (origin.kind != Origin::Kind::kOutside && origin.kind != Origin::Kind::kMemory) return false;
    const auto [found, fresh] = carries_.try_emplace(step);
    Carry& carry = found->second;
    if (fresh) {
      carry.initial = *operand.place;
      carry.rows = operand.rows, carry.columns = operand.columns, carry.dtype = operand.dtype;
      return operand.rows != 0;
    }
    return carry.initial == *operand.place && carry.rows == operand.rows && carry.columns == operand.columns &&
           carry.dtype == operand.dtype;
  }

  /// What is behind the loop reads of it what the last layer would leave to one more.
  bool later_steps_agree() {
    for (size_t i = end(); i < steps_.size(); i++)
      for (const StepOperand& operand : operands_of(steps_[i])) {
        if (const auto output = output_of_.find({operand.place->segment, operand.place->offset_bytes});
            output != output_of_.end() && output->second < of_.first)
          return false;
        if (operand.place->segment != kScratch) continue;
        const auto found = producer_.find(operand.place->offset_bytes);
        if (found == producer_.end()) return false;
        if (found->second < of_.first) kept_.insert(operand.place->offset_bytes);
        if (found->second < of_.first || found->second >= end()) continue;
        const size_t from = found->second - of_.first;
        if (from / of_.period + 1 != of_.layers || !carries_.contains(from % of_.period)) return false;
      }
    return true;
  }

  /// Bytes from `offset` to where the next constant begins.
  [[nodiscard]] uint64_t bytes_at(uint64_t offset) const {
    const auto next = starts_.upper_bound(offset);
    return (next == starts_.end() ? program_.constants.size() : *next) - offset;
  }
  uint64_t append(uint64_t offset, uint64_t bytes) {
    const auto from = program_.constants.begin() + static_cast<ptrdiff_t>(offset);
    const uint64_t at = loop_.constants.size();
    loop_.constants.insert(loop_.constants.end(), from, from + static_cast<ptrdiff_t>(bytes));
    loop_.constants.resize((loop_.constants.size() + 63) / 64 * 64);
    return at;
  }

  void lay_out_constants() {
    std::set<uint64_t> fixed;
    for (size_t i = 0; i < steps_.size(); i++) {
      const auto operands = operands_of(steps_[i]);
      for (size_t k = 0; k < operands.size(); k++) {
        if (operands[k].place->segment != kConstants) continue;
        starts_.insert(operands[k].place->offset_bytes);
        const bool layer = i >= of_.first && i < end();
        if (!layer || !moving_.contains({(i - of_.first) % of_.period, k}))
          fixed.insert(operands[k].place->offset_bytes);
      }
    }
    loop_.constants.reserve(program_.constants.size() + kRoomForCopies);
    for (const uint64_t offset : fixed) placed_[offset] = append(offset, bytes_at(offset));
    loop_.window_offset = loop_.constants.size();
    for (size_t layer = 0; layer < of_.layers; layer++) {
      const uint64_t first = loop_.constants.size();
      std::map<std::vector<uint64_t>, uint64_t> in_layer;
      for (const auto& [slot, offsets] : moving_) {
        const auto [at, fresh] = in_layer.try_emplace(offsets);
        uint64_t most = 0;
        for (const uint64_t offset : offsets) most = std::max(most, bytes_at(offset));
        if (fresh) at->second = append_padded(offsets[layer], most) - first;
        in_window_[slot] = at->second;
      }
      layer_bytes_ = loop_.constants.size() - first;
    }
    loop_.window_bytes = layer_bytes_ * group_;
  }
  /// With as many bytes in each layer.
  uint64_t append_padded(uint64_t offset, uint64_t bytes) {
    const uint64_t at = append(offset, bytes_at(offset));
    loop_.constants.resize(at + (bytes + 63) / 64 * 64);
    return at;
  }

  void cut() {
    loop_.turns = static_cast<uint32_t>(of_.layers / group_);
    loop_.window_segment = static_cast<uint8_t>(kFirstArgument + program_.arguments.size());
    for (size_t turn = 0; turn < loop_.turns; turn++) {
      auto& names = loop_.names.emplace_back();
      for (size_t j = 0; j < group_ * of_.period; j++) names.push_back(name_of(index(turn * group_, j)));
    }
    for (auto& [step, carry] : carries_) {
      // As its second and later layers have them.
      carry.in = *result_of(steps_[index(0, step)]);
      carry.out = *result_of(steps_[index(group_, step)]);
      carry.left = *result_of(steps_[index(of_.layers - 1, step)]);
      carry.name = name_of(index(of_.layers - 1, step));
      if (carry.initial.segment == kConstants) carry.initial.offset_bytes = placed_.at(carry.initial.offset_bytes);
      loop_.carries.push_back(carry);
    }
    for (const uint64_t offset : kept_) loop_.kept.push_back({kScratch, offset, 0});
    for (size_t i = 0; i < of_.first; i++) loop_.before.push_back(moved(i));
    for (size_t i = end(); i < steps_.size(); i++) loop_.after.push_back(moved(i));
    // The second layer and those behind it, whose carried operands are results; with the names of the first.
    for (size_t layer = 0; layer < group_; layer++)
      for (size_t j = 0; j < of_.period; j++) {
        Step step = steps_[index(layer + 1, j)];
        const auto operands = operands_of(step);
        for (size_t k = 0; k < operands.size(); k++) {
          TensorPlace& place = *operands[k].place;
          if (place.segment != kConstants) continue;
          if (const auto slot = in_window_.find({j, k}); slot != in_window_.end())
            place.segment = loop_.window_segment, place.offset_bytes = slot->second + layer * layer_bytes_;
          else
            place.offset_bytes = placed_.at(place.offset_bytes);
        }
        std::visit([&](auto& s) { s.name = name_of(index(layer, j)); }, step);
        loop_.body.push_back(std::move(step));
      }
  }
  [[nodiscard]] std::string name_of(size_t i) const {
    return std::visit([](const auto& s) { return s.name; }, steps_[i]);
  }
  Step moved(size_t i) {
    Step step = steps_[i];
    for (const StepOperand& operand : operands_of(step))
      if (operand.place->segment == kConstants) operand.place->offset_bytes = placed_.at(operand.place->offset_bytes);
    return step;
  }

  std::vector<Step> steps_;
  const Program& program_;
  Repetition of_;
  const uint32_t group_;
  std::map<uint64_t, size_t> producer_;  ///< of a place in scratch
  std::map<std::pair<uint8_t, uint64_t>, size_t> output_of_;
  std::map<size_t, Carry> carries_;  ///< by step of the layer
  std::set<size_t> outputs_;         ///< steps of the last layer
  std::set<uint64_t> kept_;
  using Slot = std::pair<size_t, size_t>;  ///< step of the layer, operand
  std::map<Slot, std::vector<uint64_t>> moving_;
  std::map<Slot, uint64_t> in_window_;
  std::set<uint64_t> starts_;
  std::map<uint64_t, uint64_t> placed_;  ///< constants that do not move
  uint64_t layer_bytes_ = 0;
  LoopedSteps loop_;
};

std::vector<uint32_t> numbers_of(const std::vector<Step>& steps) {
  std::vector<uint32_t> numbers;
  std::vector<Step> known;
  for (const Step& step : steps) {
    Step left = bare(step);
    const auto found = std::ranges::find_if(known, [&](const Step& k) { return equal(k, left); });
    numbers.push_back(static_cast<uint32_t>(found - known.begin()));
    if (found == known.end()) known.push_back(std::move(left));
  }
  return numbers;
}

}  // namespace

std::vector<Repetition> repetitions(const Program& program) {
  std::vector<Repetition> found;
  size_t most = 0;  // steps that one saves
  const auto saved = [](const Repetition& r) { return (r.layers - 1) * r.period; };
  if (program.steps.size() > kMostSteps) return found;
  const auto numbers = numbers_of(program.steps);
  const size_t count = numbers.size();
  for (size_t period = 1; period * kFewestLayers <= count; period++)
    for (size_t first = 0; first + period < count;) {
      size_t equal = 0;
      while (first + equal + period < count && numbers[first + equal] == numbers[first + equal + period]) equal++;
      for (size_t shift = 0; shift < period; shift++) {
        if (equal < shift + (kFewestLayers - 1) * period) break;
        const Repetition one{first + shift, period, (equal - shift) / period + 1};
        if (2 * saved(one) < most) break;
        most = std::max(most, saved(one));
        found.push_back(one);
      }
      first += equal + 1;
    }
  std::ranges::stable_sort(found, [&](const Repetition& a, const Repetition& b) {
    return std::tuple(saved(b), a.period, a.first) < std::tuple(saved(a), b.period, b.first);
  });
  if (found.size() > kMostRepetitions) found.resize(kMostRepetitions);
  return found;
}

std::optional<LoopedSteps> loop_of(const Program& program, const Repetition& repetition, uint32_t layers_of_turn) {
  return LoopFinder(program, repetition, layers_of_turn).run();
}

}  // namespace weft::compiler::tiles
