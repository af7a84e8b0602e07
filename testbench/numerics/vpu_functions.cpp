// Sweeps inputs of exp2, log2, rcp, rsqrt, tanh and erf: the golden model against libm and MPFR (largest error, results
// that are not the nearest, wrong specials) and against the Verilated function unit (bits). docs/vpu_functions.md holds
// the bounds; exceeding one is exit code 1.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "testbench/numerics/vpu_function_sweep.hpp"
#include "weft/spec/names.hpp"

namespace {
using namespace weft;
using numerics::Result;

/// The bound stated in docs/vpu_functions.md.
struct Function {
  weft_vpu_op op;
  double bound_ulp;
};
constexpr Function kFunctions[] = {{WEFT_VPU_OP_EXP2, 1.0},  {WEFT_VPU_OP_LOG2, 1.4}, {WEFT_VPU_OP_RCP, 1.0},
                                   {WEFT_VPU_OP_RSQRT, 1.1}, {WEFT_VPU_OP_TANH, 1.1}, {WEFT_VPU_OP_ERF, 1.1}};

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
  nlohmann::json report = nlohmann::json::array();
  bool ok = true, found = false;
  for (const Function& f : kFunctions) {
    if (!only.empty() && only != spec::vpu_op_name(f.op)) continue;
    found = true;
    const Result r = numerics::sweep(f.op, stride, !no_oracle, !no_rtl);
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
