// Steps as operators on matrices: a place in scratch is a matrix in VMEM, an argument is loaded or stored.
#include "host/compiler/tiles/resident_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "host/compiler/command_graph/assemble.hpp"
#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint8_t kScratch = 2;
constexpr double kMaxCommands = 100'000;

class ResidentProgram {
 public:
  ResidentProgram(const spec::Chip& chip, const Program& program)
      : program_(program), builder_(chip), graph_(chip), tiles_(graph_, builder_) {}

  Result<Kernel> run() {
    for (size_t i = 0; i < program_.steps.size(); i++) {
      const auto& step = program_.steps[i];
      if (const auto* dense = std::get_if<DenseStep>(&step))
        add(*dense, i + 1 == program_.steps.size());
      else
        add(std::get<VectorStep>(step));
    }
    if (auto status = command_graph::assemble(graph_, builder_); !status.ok())
      return Error{status.error().code, fmt::format("{}: {}", program_.name, status.error().message)};
    Kernel kernel = builder_.kernel(program_.name);
    kernel.arguments = program_.arguments;
    kernel.constants = program_.constants;
    return kernel;
  }

 private:
  Matrix& matrix(const TensorPlace& place, uint64_t rows, uint64_t columns, weft_vpu_dtype dtype) {
    const auto key = std::pair(place.segment, place.offset_bytes);
    auto found = values_.find(key);
    if (found == values_.end()) found = values_.emplace(key, tiles_.from_memory(rows, columns, dtype, place)).first;
    return found->second;
  }
  void keep(const TensorPlace& place, Matrix value) {
    values_.insert_or_assign(std::pair(place.segment, place.offset_bytes), std::move(value));
  }

  void add(const DenseStep& step, bool last) {
    Matrix& x = matrix(step.x, step.m, step.k, WEFT_VPU_DTYPE_BF16);
    Product product{step.name, step.n, step.weights, step.bias, step.activation, step.y_dtype, {}};
    if (step.y.segment != kScratch) product.store = step.y;
    keep(step.y, tiles_.product(x, product, last));
  }

  void add(const VectorStep& step) {
    Matrix& a = matrix(step.a, step.rows, step.cols, step.dtype);
    Elementwise by{.name = step.name,
                   .op = step.op,
                   .b_mode = step.b_mode,
                   .scalar = step.scalar,
                   .scalar2 = step.scalar2,
                   .dtype = step.y_dtype};
    if (step.b_mode == WEFT_VPU_B_MODE_TENSOR || step.b_mode == WEFT_VPU_B_MODE_ROW)
      by.b = &matrix(step.b, step.b_mode == WEFT_VPU_B_MODE_ROW ? 1 : step.rows, step.cols, step.dtype);
    Matrix y = tiles_.elementwise(a, by);
    if (step.y.segment != kScratch) tiles_.store(y, step.y, step.name);
    keep(step.y, std::move(y));
  }

  const Program& program_;
  ProgramBuilder builder_;
  CommandGraph graph_;
  TileBuilder tiles_;
  std::map<std::pair<uint8_t, uint64_t>, Matrix> values_;  ///< by segment and offset
};

/// Its results stay here, and its operands are bf16 or f32.
bool taken(const Step& step) {
  if (const auto* dense = std::get_if<DenseStep>(&step))
    return dense->dtype == WEFT_MXU_DTYPE_BF16 && dense->arrivals.empty() &&
           (dense->sinks.empty() || (dense->sinks.size() == 1 && !dense->sinks[0].chip));
  return std::holds_alternative<VectorStep>(step);
}

/// Commands, about: row chunks times column blocks, of products times K tiles.
double commands_of(const spec::Chip& chip, const Step& step) {
  const auto parts = [&](uint64_t size) { return static_cast<double>((size + chip.n - 1) / chip.n); };
  if (const auto* dense = std::get_if<DenseStep>(&step)) return parts(dense->m) * parts(dense->n) * parts(dense->k);
  const auto& vector = std::get<VectorStep>(step);
  return parts(vector.rows) * parts(vector.cols);
}

/// A result that stays in VMEM fits it.
bool fits(const spec::Chip& chip, const Step& step) {
  const auto* dense = std::get_if<DenseStep>(&step);
  const auto* vector = std::get_if<VectorStep>(&step);
  const TensorPlace& y = dense != nullptr ? dense->y : vector->y;
  const uint64_t rows = dense != nullptr ? dense->m : vector->rows;
  return y.segment != kScratch || rows * y.pitch_bytes <= chip.vmem_bytes;
}

}  // namespace

Result<Kernel> compile_resident(const spec::Chip& chip, const Program& program) {
  if (program.barrier || !std::ranges::all_of(program.steps, taken))
    return Error{WEFT_ERROR_UNSUPPORTED, fmt::format("{}: not of products and elementwise steps alone", program.name)};
  double commands = 0;
  for (const Step& step : program.steps) {
    commands += commands_of(chip, step);
    if (!fits(chip, step))
      return Error{WEFT_ERROR_NO_DEVICE_MEMORY, fmt::format("{}: a value is larger than VMEM", program.name)};
  }
  if (commands > kMaxCommands)
    return Error{WEFT_ERROR_UNSUPPORTED, fmt::format("{}: about {:.0f} commands, and at most {:.0f} are ordered",
                                                     program.name, commands, kMaxCommands)};
  return ResidentProgram(chip, program).run();
}

}  // namespace weft::compiler::tiles
