// Sweeps inputs of exp2, log2, rcp, rsqrt, tanh and erf: the golden model against libm and MPFR (largest error, results
// that are not the nearest, wrong specials) and against the Verilated function unit (bits). docs/vpu_functions.md holds
// the bounds; exceeding one is exit code 1.
#include "model/golden/vpu_functions.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "Vvpu_function_lanes.h"
#include "testbench/numerics/vpu_function_oracle.hpp"
#include "weft/spec/names.hpp"

namespace {
using namespace weft;

/// The bound stated in docs/vpu_functions.md.
struct Function {
  weft_vpu_op op;
  double bound_ulp;
};
constexpr Function kFunctions[] = {{WEFT_VPU_OP_EXP2, 1.0},  {WEFT_VPU_OP_LOG2, 1.4}, {WEFT_VPU_OP_RCP, 1.0},
                                   {WEFT_VPU_OP_RSQRT, 1.1}, {WEFT_VPU_OP_TANH, 1.1}, {WEFT_VPU_OP_ERF, 1.1}};

struct Result {
  uint64_t inputs = 0, not_nearest = 0, wrong_specials = 0;
  double max_ulp = 0;
  uint32_t worst_input = 0, worst_output = 0;
  uint64_t reference_inputs = 0, reference_differing = 0;
  uint64_t rtl_inputs = 0, rtl_differing = 0;
  uint32_t rtl_first_difference = 0;
};

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
    const numerics::Judgement judgement = numerics::judge(op, a[i], y[i]);
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

/// Every `stride`-th input; an odd stride reaches all exponents and, over time, all low bits.
Result sweep(weft_vpu_op op, uint64_t stride, bool with_oracle, Lanes* lanes) {
  constexpr uint64_t kBlock = 1 << 16;
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
  if (result.max_ulp > 0) result.max_ulp = numerics::exact_ulp(op, result.worst_input, result.worst_output);
  return result;
}

nlohmann::json to_json(const Function& f, const Result& r) {
  return {{"function", spec::vpu_op_name(f.op)},
          {"inputs", r.inputs},
          {"max_ulp", r.max_ulp},
          {"bound_ulp", f.bound_ulp},
          {"worst_input", fmt::format("{:08x}", r.worst_input)},
          {"not_nearest", r.not_nearest},
          {"wrong_specials", r.wrong_specials},
          {"reference_inputs", r.reference_inputs},
          {"reference_differing", r.reference_differing},
          {"rtl_inputs", r.rtl_inputs},
          {"rtl_differing", r.rtl_differing}};
}

bool holds(const Function& f, const Result& r) {
  return r.inputs + r.rtl_inputs != 0 && r.max_ulp <= f.bound_ulp && r.wrong_specials == 0 &&
         r.reference_differing == 0 && r.rtl_differing == 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Error of the VPU's functions, and golden model against RTL"};
  std::string level = "ci", only;
  bool json = false, no_rtl = false, no_oracle = false;
  app.add_option("--level", level, "ci: one input in 9973; nightly: one in 101; release: all 2^32")
      ->check(CLI::IsMember({"ci", "nightly", "release"}));
  app.add_option("--function", only, "exp2, log2, rcp, rsqrt, tanh or erf; default all");
  app.add_flag("--json", json, "print JSON");
  app.add_flag("--no-rtl", no_rtl, "golden model only");
  app.add_flag("--no-oracle", no_oracle, "RTL against the golden model only");
  CLI11_PARSE(app, argc, argv);
  const uint64_t stride = level == "release" ? 1 : level == "nightly" ? 101 : 9973;
  Lanes lanes;
  nlohmann::json report = nlohmann::json::array();
  bool ok = true, found = false;
  for (const Function& f : kFunctions) {
    if (!only.empty() && only != spec::vpu_op_name(f.op)) continue;
    found = true;
    const Result r = sweep(f.op, stride, !no_oracle, no_rtl ? nullptr : &lanes);
    ok &= holds(f, r);
    if (json) {
      report.push_back(to_json(f, r));
      continue;
    }
    fmt::print(
        "{:6} {:10} inputs, max {:.4f} ulp (bound {}) at {:08x}, not nearest {}, wrong specials {}; reference differs "
        "in {} of "
        "{}; RTL differs in {} of {}{}\n",
        spec::vpu_op_name(f.op), r.inputs, r.max_ulp, f.bound_ulp, r.worst_input, r.not_nearest, r.wrong_specials,
        r.reference_differing, r.reference_inputs, r.rtl_differing, r.rtl_inputs,
        r.rtl_differing != 0 ? fmt::format(", first at {:08x}", r.rtl_first_difference) : "");
    std::fflush(stdout);
  }
  if (!found) {
    fmt::print(stderr, "no function {}\n", only);
    return 2;
  }
  if (json) fmt::print("{}\n", report.dump(2));
  return ok ? 0 : 1;
}
