#include "testbench/numerics/vpu_function_sweep.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "Vvpu_function_lanes.h"
#include "model/golden/vpu_functions.hpp"
#include "testbench/numerics/vpu_function_oracle.hpp"

namespace weft::numerics {
namespace {

/// The function unit at 128 lanes.
class Lanes {
 public:
  static constexpr size_t kLanes = 128, kStages = 6;

  /// y = op(a); sizes are a multiple of kLanes.
  void run(weft_vpu_op op, const std::vector<uint32_t>& a, std::vector<uint32_t>& y) {
    model_->op_i = static_cast<uint8_t>(op);
    const size_t rows = a.size() / kLanes;
    for (size_t r = 0; r < rows + kStages; r++) {
      if (r < rows) std::memcpy(model_->a_i.m_storage, &a[r * kLanes], 4 * kLanes);
      model_->clk_i = 0;
      model_->eval();
      if (r >= kStages) std::memcpy(&y[(r - kStages) * kLanes], model_->y_o.m_storage, 4 * kLanes);
      model_->clk_i = 1;
      model_->eval();
    }
  }

 private:
  std::unique_ptr<Vvpu_function_lanes> model_ = std::make_unique<Vvpu_function_lanes>();
};

void judge_block(weft_vpu_op op, const std::vector<uint32_t>& a, const std::vector<uint32_t>& y, Result& result) {
  for (size_t i = 0; i < a.size(); i++) {
    const Judgement judgement = judge(op, a[i], y[i]);
    result.wrong_specials += !judgement.special;
    result.not_nearest += !judgement.rounded;
    if (judgement.ulp <= result.max_ulp) continue;
    result.max_ulp = judgement.ulp, result.worst_input = a[i], result.worst_output = y[i];
  }
  result.inputs += a.size();
  for (size_t i = 0; i < a.size(); i += 509) {
    result.reference_inputs++;
    result.reference_differing += golden::vpu_function_f32(op, a[i]) != y[i];
  }
}

}  // namespace

Result sweep(weft_vpu_op op, uint64_t stride, bool with_oracle, bool with_rtl) {
  constexpr uint64_t kBlock = 1 << 16;
  const auto lanes = with_rtl ? std::make_unique<Lanes>() : nullptr;
  Result result;
  std::vector<uint32_t> a(kBlock), y(kBlock), rtl(kBlock);
  for (uint64_t first = 0; first < uint64_t{1} << 32; first += kBlock * stride) {
    for (uint64_t i = 0; i < kBlock; i++) a[i] = static_cast<uint32_t>(first + i * stride);
    golden::vpu_function_row(op, a, y);
    if (with_oracle) judge_block(op, a, y, result);
    if (lanes == nullptr) continue;
    lanes->run(op, a, rtl);
    result.rtl_inputs += kBlock;
    for (size_t i = 0; i < kBlock; i++) {
      if (rtl[i] == y[i]) continue;
      if (result.rtl_differing++ == 0) result.rtl_first_difference = a[i];
    }
  }
  if (result.max_ulp > 0) result.max_ulp = exact_ulp(op, result.worst_input, result.worst_output);
  return result;
}

}  // namespace weft::numerics
