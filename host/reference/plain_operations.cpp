// A table of operations.
#include "host/reference/plain_operations.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace weft::tools {
namespace {

/// The number that lies in the low 32 bits, signed.
double wrapped(uint64_t bits) { return static_cast<int32_t>(static_cast<uint32_t>(bits)); }

uint64_t word_of(double v) { return static_cast<uint32_t>(static_cast<int64_t>(v)); }

}  // namespace

double operate_fp64(weft_vpu_op op, double a, double b, double c) {
  switch (op) {
    case WEFT_VPU_OP_ADD:
      return a + b;
    case WEFT_VPU_OP_SUB:
      return a - b;
    case WEFT_VPU_OP_MUL:
      return a * b;
    case WEFT_VPU_OP_MIN:
      return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b);
    case WEFT_VPU_OP_MAX:
      return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
    case WEFT_VPU_OP_AXPY:
      return a * c + b;
    case WEFT_VPU_OP_FMA:
      return a * b + c;
    case WEFT_VPU_OP_SELECT:
      return a != 0 ? b : c;
    case WEFT_VPU_OP_EQ:
      return a == b ? 1 : 0;
    case WEFT_VPU_OP_NE:
      return a == b ? 0 : 1;
    case WEFT_VPU_OP_LT:
      return a < b ? 1 : 0;
    case WEFT_VPU_OP_LE:
      return a <= b ? 1 : 0;
    case WEFT_VPU_OP_GT:
      return a > b ? 1 : 0;
    case WEFT_VPU_OP_GE:
      return a >= b ? 1 : 0;
    case WEFT_VPU_OP_EXP2:
      return std::exp2(a);
    case WEFT_VPU_OP_LOG2:
      return std::log2(a);
    case WEFT_VPU_OP_RCP:
      return 1 / a;
    case WEFT_VPU_OP_RSQRT:
      return 1 / std::sqrt(a);
    case WEFT_VPU_OP_TANH:
      return std::tanh(a);
    case WEFT_VPU_OP_ERF:
      return std::erf(a);
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

double operate_words(weft_vpu_op op, double a, double b, double c) {
  const uint64_t x = word_of(a), y = word_of(b), z = word_of(c);
  const uint64_t count = std::min<uint64_t>(y, 32);
  switch (op) {
    case WEFT_VPU_OP_ADD:
      return wrapped(x + y);
    case WEFT_VPU_OP_SUB:
      return wrapped(x - y);
    case WEFT_VPU_OP_MUL:
      return wrapped(x * y);
    case WEFT_VPU_OP_FMA:
      return wrapped(x * y + z);
    case WEFT_VPU_OP_AXPY:
      return wrapped(x * z + y);
    case WEFT_VPU_OP_AND:
      return wrapped(x & y);
    case WEFT_VPU_OP_OR:
      return wrapped(x | y);
    case WEFT_VPU_OP_XOR:
      return wrapped(x ^ y);
    case WEFT_VPU_OP_SLL:
      return wrapped(x << count);
    case WEFT_VPU_OP_SRL:
      return wrapped(x >> count);
    case WEFT_VPU_OP_SRA:
      return std::floor(std::ldexp(a, -static_cast<int>(count)));
    case WEFT_VPU_OP_LTU:
      return x < y ? 1 : 0;
    case WEFT_VPU_OP_LEU:
      return x <= y ? 1 : 0;
    case WEFT_VPU_OP_GTU:
      return x > y ? 1 : 0;
    case WEFT_VPU_OP_GEU:
      return x >= y ? 1 : 0;
    default:  // what does not leave the range
      return operate_fp64(op, a, b, c);
  }
}

}  // namespace weft::tools
