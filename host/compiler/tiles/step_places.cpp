#include "host/compiler/tiles/step_places.hpp"

#include <concepts>
#include <type_traits>

namespace weft::compiler::tiles {
namespace {

struct Operands {
  template <typename Other>
  std::vector<StepOperand> operator()(Other&) const {
    return {};
  }
  std::vector<StepOperand> operator()(DenseStep& s) const {
    const uint64_t columns = s.dtype == WEFT_MXU_DTYPE_INT8 ? (s.k + 1) / 2 : s.k;  // two values of i8 to one
    std::vector<StepOperand> operands{{&s.x, s.m, columns, WEFT_VPU_DTYPE_BF16}, {&s.weights}};
    if (s.bias) operands.push_back({&*s.bias});
    if (s.scales) operands.push_back({&*s.scales});
    if (s.residual) operands.push_back({&*s.residual, s.m, s.n, WEFT_VPU_DTYPE_F32});
    return operands;
  }
  std::vector<StepOperand> operator()(VectorStep& s) const {
    if (s.dtype == WEFT_VPU_DTYPE_I8) return {{&s.a, s.rows, (s.cols + 1) / 2, WEFT_VPU_DTYPE_BF16}};
    std::vector<StepOperand> operands{{&s.a, s.rows, s.cols, s.dtype}};
    if (s.b_mode == WEFT_VPU_B_MODE_TENSOR) operands.push_back({&s.b, s.rows, s.cols, s.dtype});
    if (s.b_mode == WEFT_VPU_B_MODE_ROW) operands.push_back({&s.b, 1, s.cols, s.dtype});
    return operands;
  }
  std::vector<StepOperand> operator()(RearrangeStep& s) const {
    std::vector<StepOperand> operands;
    for (auto& source : s.sources) operands.push_back({&source.place, source.rows, source.cols, s.dtype});
    return operands;
  }
  std::vector<StepOperand> operator()(ReduceStep& s) const { return {{&s.a, s.rows, s.cols, s.dtype}}; }
  std::vector<StepOperand> operator()(PairProductStep& s) const {
    return {{&s.x, s.batch * s.m, s.k, WEFT_VPU_DTYPE_BF16}, {&s.w, s.batch * s.k, s.n, WEFT_VPU_DTYPE_F32}};
  }
  std::vector<StepOperand> operator()(ConvolutionStep& s) const {
    std::vector<StepOperand> operands;
    for (auto& source : s.sources) operands.push_back({&source.place, source.rows, source.cols, source.dtype});
    operands.push_back({&s.weights});
    if (s.bias) operands.push_back({&*s.bias});
    if (s.residual)
      operands.push_back({&*s.residual, s.windows.results() * s.spread[0] * s.spread[1], s.n, WEFT_VPU_DTYPE_F32});
    return operands;
  }
  std::vector<StepOperand> operator()(CollectiveStep& s) const { return {{&s.x, s.rows, s.cols, s.dtype}}; }
  std::vector<StepOperand> operator()(RowsStep& s) const {
    return {{&s.indices, 1, s.rows, WEFT_VPU_DTYPE_I32}, {&s.table}};
  }
  std::vector<StepOperand> operator()(WindowStep& s) const {
    std::vector<StepOperand> operands{{&s.x, s.windows.pixels(), s.cols, WEFT_VPU_DTYPE_F32}};
    if (s.weights) operands.push_back({&*s.weights});
    return operands;
  }
};

}  // namespace

std::vector<StepOperand> operands_of(Step& step) { return std::visit(Operands{}, step); }

TensorPlace* result_of(Step& step) {
  return std::visit(
      [](auto& s) -> TensorPlace* {
        if constexpr (requires { s.y; })
          return &s.y;
        else
          return nullptr;
      },
      step);
}

Step bare(const Step& step) {
  Step left = step;
  for (const StepOperand& operand : operands_of(left)) *operand.place = {};
  std::visit(
      [](auto& s) {
        s.name.clear();
        if constexpr (requires { s.y; }) s.y = {};
      },
      left);
  return left;
}

bool equal(const Step& a, const Step& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& one) {
        using One = std::decay_t<decltype(one)>;
        const auto& other = std::get<One>(b);
        if constexpr (std::is_same_v<One, RearrangeStep>) {
          RearrangeStep same = one;
          same.from = other.from;
          return same == other && (one.from == other.from || *one.from == *other.from);
        } else if constexpr (std::equality_comparable<One>) {
          return one == other;
        } else {
          return false;
        }
      },
      a);
}

}  // namespace weft::compiler::tiles
