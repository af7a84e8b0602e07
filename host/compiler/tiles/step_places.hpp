/// Where the operands and the result of a step lie, of the steps that stay in VMEM.
#pragma once
#include <vector>

#include "host/compiler/program.hpp"

namespace weft::compiler::tiles {

/// Something that a step reads: a matrix, or packed weights and rows of constants, which have no shape here.
struct StepOperand {
  TensorPlace* place = nullptr;
  uint64_t rows = 0, columns = 0;
  weft_vpu_dtype dtype = WEFT_VPU_DTYPE_F32;
};

/// In the step's own order; the places are the step's.
[[nodiscard]] std::vector<StepOperand> operands_of(Step& step);
/// Null if the step is of another kind.
[[nodiscard]] TensorPlace* result_of(Step& step);
/// What is left of it without names and places; of a step that has none of that to be left out, itself.
[[nodiscard]] Step bare(const Step& step);
/// Whether two steps that bare() has made are equal; never of other steps than those.
[[nodiscard]] bool equal(const Step& a, const Step& b);

}  // namespace weft::compiler::tiles
