// A product is moved to where the last of the steps is that it takes over: all that it reads is there by then, since a
// place in scratch is written once.
#include "host/compiler/tiles/fused_epilogues.hpp"

#include <bit>
#include <map>
#include <utility>

#include "host/compiler/tiles/step_places.hpp"
#include "host/compiler/tiles/step_tiles.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint8_t kConstants = 1, kScratch = 2;

class Fusion {
 public:
  explicit Fusion(const Program& program) : program_(program), steps_(program.steps), gone_(program.steps.size()) {
    for (size_t i = 0; i < steps_.size(); i++) {
      for (const StepOperand& operand : operands_of(steps_[i])) readers_[key_of(*operand.place)]++;
      if (const TensorPlace* y = result_of(steps_[i]); y != nullptr && y->segment == kScratch) makers_[key_of(*y)] = i;
    }
  }

  Program run() {
    for (size_t i = 0; i < steps_.size(); i++) {
      if (const auto* vector = std::get_if<VectorStep>(&steps_[i])) {
        const VectorStep step = *vector;
        if (!to_bytes(i, step) && !sum(i, step)) relu(i, step);
      }
    }
    Program fused = program_;
    fused.steps.clear();
    for (size_t i = 0; i < steps_.size(); i++)
      if (!gone_[i]) fused.steps.push_back(std::move(steps_[i]));
    return fused;
  }

 private:
  using Key = std::pair<uint8_t, uint64_t>;
  static Key key_of(const TensorPlace& place) { return {place.segment, place.offset_bytes}; }

  /// The step that makes what lies there, if that is a `Kind` and one step reads it.
  template <typename Kind>
  [[nodiscard]] std::optional<size_t> maker(const TensorPlace& place) const {
    const auto made = makers_.find(key_of(place));
    if (made == makers_.end() || readers_.at(key_of(place)) != 1 || !std::holds_alternative<Kind>(steps_[made->second]))
      return std::nullopt;
    return made->second;
  }
  [[nodiscard]] std::optional<size_t> product(const TensorPlace& place) const {
    const auto dense = maker<DenseStep>(place);
    return dense && std::get<DenseStep>(steps_[*dense]).y_dtype == WEFT_VPU_DTYPE_I32 && taken(steps_[*dense])
               ? dense
               : std::nullopt;
  }

  /// `step` takes the place of step i; it is what `from` were.
  void put(size_t i, Step step, std::initializer_list<size_t> from) {
    for (const size_t f : from) gone_[f] = true;
    makers_[key_of(*result_of(step))] = i;
    steps_[i] = std::move(step);
  }

  bool to_bytes(size_t i, const VectorStep& step) {
    if (step.y_dtype != WEFT_VPU_DTYPE_I8) return false;
    const ToBytes by{std::bit_cast<float>(step.scalar2), static_cast<int32_t>(step.scalar)};
    const auto bytes = [&](size_t dense) {
      DenseStep made = std::get<DenseStep>(steps_[dense]);
      made.y = step.y, made.y_dtype = WEFT_VPU_DTYPE_I8, made.bytes = by;
      return made;
    };
    if (step.dtype == WEFT_VPU_DTYPE_I32) {
      const auto dense = product(step.a);
      if (!dense) return false;
      put(i, bytes(*dense), {*dense});
      return true;
    }
    // i32 as f32, times a row
    const auto scaled = maker<VectorStep>(step.a);
    if (!scaled || by.scale != 1 || step.dtype != WEFT_VPU_DTYPE_F32) return false;
    const auto& times = std::get<VectorStep>(steps_[*scaled]);
    if (times.op != WEFT_VPU_OP_MUL || times.b_mode != WEFT_VPU_B_MODE_ROW || times.dtype != WEFT_VPU_DTYPE_F32 ||
        times.y_dtype != WEFT_VPU_DTYPE_F32 || times.b.segment != kConstants)
      return false;
    const auto wide = maker<VectorStep>(times.a);
    if (!wide) return false;
    const auto& cast = std::get<VectorStep>(steps_[*wide]);
    if (!only_casts(cast) || cast.dtype != WEFT_VPU_DTYPE_I32 || cast.y_dtype != WEFT_VPU_DTYPE_F32) return false;
    const auto dense = product(cast.a);
    if (!dense || !std::get<DenseStep>(steps_[*dense]).bias) return false;
    DenseStep made = bytes(*dense);
    made.scales = times.b;
    put(i, std::move(made), {*dense, *wide, *scaled});
    return true;
  }

  /// f32 sums plus a tensor, rounded or not.
  bool sum(size_t i, const VectorStep& step) {
    if (step.op != WEFT_VPU_OP_ADD || step.b_mode != WEFT_VPU_B_MODE_TENSOR || step.dtype != WEFT_VPU_DTYPE_F32 ||
        step.uniform || (step.y_dtype != WEFT_VPU_DTYPE_F32 && step.y_dtype != WEFT_VPU_DTYPE_BF16))
      return false;
    return sum_of<DenseStep>(i, step, step.a, step.b) || sum_of<DenseStep>(i, step, step.b, step.a) ||
           sum_of<ConvolutionStep>(i, step, step.a, step.b) || sum_of<ConvolutionStep>(i, step, step.b, step.a);
  }
  template <typename Kind>
  bool sum_of(size_t i, const VectorStep& step, const TensorPlace& sums, const TensorPlace& other) {
    const auto of = maker<Kind>(sums);
    if (!of || !taken(steps_[*of])) return false;
    Kind made = std::get<Kind>(steps_[*of]);
    if (made.y_dtype != WEFT_VPU_DTYPE_F32 || made.activation != WEFT_VPU_ACTIVATION_NONE || made.residual)
      return false;
    made.y = step.y, made.y_dtype = step.y_dtype, made.residual = other;
    put(i, std::move(made), {*of});
    return true;
  }

  /// max(x, 0) of such a sum.
  void relu(size_t i, const VectorStep& step) {
    if (step.op != WEFT_VPU_OP_MAX || step.b_mode != WEFT_VPU_B_MODE_SCALAR || step.dtype != WEFT_VPU_DTYPE_F32 ||
        step.scalar != 0 || step.uniform || (step.y_dtype != WEFT_VPU_DTYPE_F32 && step.y_dtype != WEFT_VPU_DTYPE_BF16))
      return;
    relu_of<DenseStep>(i, step);
    relu_of<ConvolutionStep>(i, step);
  }
  template <typename Kind>
  void relu_of(size_t i, const VectorStep& step) {
    const auto of = maker<Kind>(step.a);
    if (!of) return;
    Kind made = std::get<Kind>(steps_[*of]);
    if (!made.residual || made.y_dtype != WEFT_VPU_DTYPE_F32 || made.activation != WEFT_VPU_ACTIVATION_NONE) return;
    made.y = step.y, made.y_dtype = step.y_dtype, made.activation = WEFT_VPU_ACTIVATION_RELU;
    put(i, std::move(made), {*of});
  }

  const Program& program_;
  std::vector<Step> steps_;
  std::vector<bool> gone_;
  std::map<Key, size_t> readers_, makers_;
};

}  // namespace

Program with_fused_epilogues(const Program& program) { return Fusion(program).run(); }

}  // namespace weft::compiler::tiles
