// A product is moved to where the last of the steps is that it takes over: all that it reads is there by then, since a
// place in scratch is written once.
#include "host/compiler/tiles/fused_epilogues.hpp"

#include <bit>
#include <cmath>
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
        if (!to_bytes(i, step) && !limited(i, step) && !sum(i, step)) relu(i, step);
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
    return dense && std::get<DenseStep>(steps_[*dense]).y_dtype == WEFT_VPU_DTYPE_I32 ? dense : std::nullopt;
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
    const auto of = by.scale == 1 && step.dtype == WEFT_VPU_DTYPE_F32 ? scaled(step.a) : std::nullopt;
    if (!of) return false;
    DenseStep made = bytes(of->dense);
    scale(made, *of);
    put(i, std::move(made), {of->dense, of->wide, of->times});
    return true;
  }

  /// f32 of a product of bytes, times a row or a number.
  struct Scaled {
    size_t dense = 0, wide = 0, times = 0;
  };
  [[nodiscard]] std::optional<Scaled> scaled(const TensorPlace& place) const {
    const auto times = f32_step(place, WEFT_VPU_OP_MUL);
    if (!times) return std::nullopt;
    const auto& by = std::get<VectorStep>(steps_[*times]);
    const bool row = by.b_mode == WEFT_VPU_B_MODE_ROW && by.b.segment == kConstants;
    if (!row && by.b_mode != WEFT_VPU_B_MODE_SCALAR) return std::nullopt;
    const auto wide = maker<VectorStep>(by.a);
    if (!wide) return std::nullopt;
    const auto& cast = std::get<VectorStep>(steps_[*wide]);
    if (!only_casts(cast) || cast.dtype != WEFT_VPU_DTYPE_I32 || cast.y_dtype != WEFT_VPU_DTYPE_F32)
      return std::nullopt;
    const auto dense = product(cast.a);
    if (!dense || (row && !std::get<DenseStep>(steps_[*dense]).bias)) return std::nullopt;
    return Scaled{*dense, *wide, *times};
  }
  void scale(DenseStep& made, const Scaled& of) const {
    const auto& by = std::get<VectorStep>(steps_[of.times]);
    if (by.b_mode == WEFT_VPU_B_MODE_ROW) made.scales = by.b;
    if (by.b_mode == WEFT_VPU_B_MODE_SCALAR) made.bytes.scale = std::bit_cast<float>(by.scalar);
  }

  /// The step that makes a place in f32 by this operation of another place, which nothing else reads; `number`: by it.
  [[nodiscard]] std::optional<size_t> f32_step(const TensorPlace& place, weft_vpu_op op,
                                               std::optional<float> number = {}) const {
    const auto made = maker<VectorStep>(place);
    if (!made) return std::nullopt;
    const auto& step = std::get<VectorStep>(steps_[*made]);
    if (step.op != op || step.dtype != WEFT_VPU_DTYPE_F32 || step.y_dtype != WEFT_VPU_DTYPE_F32 || step.uniform ||
        (number && (step.b_mode != WEFT_VPU_B_MODE_SCALAR || step.scalar != std::bit_cast<uint32_t>(*number))))
      return std::nullopt;
    return made;
  }

  /// Rounded and limited to 256 whole numbers: these are bytes, read back as f32 and moved.
  bool limited(size_t i, const VectorStep& step) {
    constexpr float kShift = 12582912.0f;  // 1.5 x 2^23: a sum with it is a whole number
    if (step.op != WEFT_VPU_OP_MIN || step.b_mode != WEFT_VPU_B_MODE_SCALAR || step.dtype != WEFT_VPU_DTYPE_F32 ||
        step.y_dtype != WEFT_VPU_DTYPE_F32 || step.uniform)
      return false;
    const auto most = std::bit_cast<float>(step.scalar), least = most - 255;
    if (!(least >= -255 && least <= 0) || most != std::nearbyint(most)) return false;
    const auto above = f32_step(step.a, WEFT_VPU_OP_MAX, least == 0 ? 0.0f : least);
    const auto taken_back = above ? f32_step(a_of(*above), WEFT_VPU_OP_SUB, kShift) : std::nullopt;
    const auto added = taken_back ? f32_step(a_of(*taken_back), WEFT_VPU_OP_ADD, kShift) : std::nullopt;
    const auto of = added ? scaled(a_of(*added)) : std::nullopt;
    if (!of) return false;
    const auto zero_point = static_cast<int32_t>(-128 - least);
    DenseStep made = std::get<DenseStep>(steps_[of->dense]);
    made.y_dtype = WEFT_VPU_DTYPE_I8, made.bytes = {1, zero_point};
    scale(made, *of);
    auto cast = std::get<VectorStep>(steps_[of->wide]);
    cast.dtype = WEFT_VPU_DTYPE_I8;
    for (const size_t gone : {of->times, *added, *taken_back, *above}) gone_[gone] = true;
    steps_[of->dense] = std::move(made);
    if (zero_point == 0) {
      cast.y = step.y;
      put(i, std::move(cast), {of->wide});
      return true;
    }
    VectorStep moved = step;
    moved.op = WEFT_VPU_OP_SUB, moved.a = cast.y,
    moved.scalar = std::bit_cast<uint32_t>(static_cast<float>(zero_point));
    steps_[of->wide] = std::move(cast);
    put(i, std::move(moved), {});
    return true;
  }
  [[nodiscard]] const TensorPlace& a_of(size_t step) const { return std::get<VectorStep>(steps_[step]).a; }

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
    if (!of) return false;
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
