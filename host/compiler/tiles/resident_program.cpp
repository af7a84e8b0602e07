// Steps as operators on matrices: a place in scratch is a matrix in VMEM, an argument is loaded or stored.
#include "host/compiler/tiles/resident_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "host/compiler/command_graph/assemble.hpp"
#include "host/compiler/tiles/spills.hpp"
#include "host/compiler/tiles/tile_builder.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint8_t kScratch = 2;
constexpr double kMaxCommands = 100'000;
constexpr std::array<uint64_t, 3> kBudgets{5, 3, 0};  // eighths of VMEM that values may take, one after the other

Error too_many(const Program& program, double commands) {
  return {WEFT_ERROR_UNSUPPORTED, fmt::format("{}: {:.0f} commands or more, and at most {:.0f} are ordered",
                                              program.name, commands, kMaxCommands)};
}

class ResidentProgram {
 public:
  /// Values in scratch at the offsets `spilled` go through memory.
  ResidentProgram(const spec::Chip& chip, const Program& program, std::set<uint64_t> spilled)
      : program_(program), spilled_(std::move(spilled)), builder_(chip), graph_(chip), tiles_(graph_, builder_) {}

  Result<Kernel> run() {
    for (const auto& step : program_.steps) {
      if (const auto* dense = std::get_if<DenseStep>(&step)) products_of_[dense->weights.offset_bytes]++;
      for (const auto& place : operand_places(step)) readers_of_[key_of(place)]++;
    }
    for (size_t i = 0; i < program_.steps.size(); i++) {
      const auto& step = program_.steps[i];
      if (const auto* dense = std::get_if<DenseStep>(&step)) add(*dense, i + 1 == program_.steps.size());
      if (const auto* vector = std::get_if<VectorStep>(&step)) add(*vector);
      if (const auto* rearrange = std::get_if<RearrangeStep>(&step)) add(*rearrange);
      if (const auto* reduce = std::get_if<ReduceStep>(&step)) add(*reduce);
      if (const auto* pair = std::get_if<PairProductStep>(&step)) add(*pair);
      if (const auto* convolution = std::get_if<ConvolutionStep>(&step)) add(*convolution);
      if (const auto* windows = std::get_if<WindowStep>(&step)) add(*windows);
      if (static_cast<double>(graph_.commands().size()) > kMaxCommands) return too_many(program_, kMaxCommands);
    }
    if (auto status = command_graph::assemble(graph_, builder_); !status.ok())
      return Error{status.error().code, fmt::format("{}: {}", program_.name, status.error().message)};
    Kernel kernel = builder_.kernel(program_.name);
    kernel.arguments = program_.arguments;
    kernel.constants = program_.constants;
    if (!spilled_.empty()) kernel.scratch_bytes = program_.scratch_bytes;
    return kernel;
  }

 private:
  Matrix& matrix(const TensorPlace& place, uint64_t rows, uint64_t columns, weft_vpu_dtype dtype) {
    const Key computed = key_of(place);
    // What went to memory comes back for each step that reads it.
    if (goes_through_memory(place)) return values_[computed] = tiles_.from_memory(rows, columns, dtype, place);
    if (const auto found = values_.find(computed); found != values_.end()) return found->second;
    const Key key = key_of(place, rows, columns, dtype);
    if (const auto found = values_.find(key); found != values_.end()) return found->second;
    return values_[key] = tiles_.from_memory(rows, columns, dtype, place);
  }
  /// Several products can have the same. What has gone to memory does not stay for the next one.
  const Matrix& weights(const PairProductStep& step) {
    const auto [made, fresh] = weights_.try_emplace({key_of(step.w), step.batch});
    if (fresh || goes_through_memory(step.w)) made->second = tiles_.as_weights(factor(step), step.batch, step.name);
    return made->second;
  }
  /// What only one product reads of an input comes in pieces of its own.
  Matrix& factor(const PairProductStep& step) {
    const uint64_t rows = step.batch * step.k;
    if (step.w.segment > kScratch && readers_of_[key_of(step.w)] == 1)
      values_.try_emplace(key_of(step.w, rows, step.n, WEFT_VPU_DTYPE_F32),
                          tiles_.weights_from_memory(rows, step.n, step.batch, step.w));
    return matrix(step.w, rows, step.n, WEFT_VPU_DTYPE_F32);
  }
  void keep(const TensorPlace& place, Matrix value) { values_.insert_or_assign(key_of(place), std::move(value)); }

  [[nodiscard]] bool goes_through_memory(const TensorPlace& place) const {
    return place.segment == kScratch && spilled_.contains(place.offset_bytes);
  }

  void add(const DenseStep& step, bool last) {
    Matrix& x = matrix(step.x, step.m, step.k, WEFT_VPU_DTYPE_BF16);
    Product product{step.name, step.n, step.weights, step.bias, step.activation, step.y_dtype, {}};
    if (step.y.segment != kScratch || goes_through_memory(step.y)) product.store = step.y;
    product.again = products_of_[step.weights.offset_bytes] > 1;
    keep(step.y, tiles_.product(x, product, last));
  }

  /// Of an output, what has been computed goes to its place.
  void finish(const TensorPlace& place, Matrix value, const std::string& name) {
    if (place.segment != kScratch || goes_through_memory(place)) tiles_.store(value, place, name);
    keep(place, std::move(value));
  }

  void add(const RearrangeStep& step) {
    Rearrangement by{step.name, {}, *step.from, step.rows, step.cols};
    for (const auto& source : step.sources)
      by.sources.push_back(&matrix(source.place, source.rows, source.cols, step.dtype));
    Matrix y = tiles_.rearrange(by);
    finish(step.y, step.y_dtype == step.dtype ? std::move(y) : tiles_.cast(y, step.y_dtype, step.name), step.name);
  }

  void add(const ReduceStep& step) {
    Matrix& a = matrix(step.a, step.rows, step.cols, step.dtype);
    keep(step.y, tiles_.reduce(a, step.op, step.name));
  }

  void add(const PairProductStep& step) {
    Matrix& x = matrix(step.x, step.batch * step.m, step.k, WEFT_VPU_DTYPE_BF16);
    finish(step.y, tiles_.pair_product(x, weights(step), step.y_dtype, step.name), step.name);
  }

  void add(const ConvolutionStep& step) {
    Convolution by;
    by.windows = step.windows, by.by_lines = step.by_lines;
    for (const auto& source : step.sources)
      by.sources.push_back(&matrix(source.place, source.rows, source.cols, source.dtype));
    by.product = {step.name, step.n, step.weights, step.bias, step.activation, step.y_dtype, {}};
    by.spread = step.spread;
    finish(step.y, tiles_.convolution(by), step.name);
  }

  void add(const WindowStep& step) {
    Matrix& x = matrix(step.x, step.windows.pixels(), step.cols, WEFT_VPU_DTYPE_F32);
    Matrix y = tiles_.fold_windows(x, {step.name, step.windows, step.op, step.padding, step.weights});
    finish(step.y, step.y_dtype == WEFT_VPU_DTYPE_F32 ? std::move(y) : tiles_.cast(y, step.y_dtype, step.name),
           step.name);
  }

  /// A multiplication by one whose result has another type is a cast.
  [[nodiscard]] static bool only_casts(const VectorStep& step) {
    const bool i32 = step.dtype == WEFT_VPU_DTYPE_I32;
    return step.op == WEFT_VPU_OP_MUL && step.b_mode == WEFT_VPU_B_MODE_SCALAR &&
           step.scalar == (i32 ? 1 : std::bit_cast<uint32_t>(1.0f)) && (i32 || step.dtype == WEFT_VPU_DTYPE_F32) &&
           step.y_dtype != step.dtype;
  }

  void add(const VectorStep& step) {
    Matrix& a = matrix(step.a, step.rows, step.cols, step.dtype);
    if (only_casts(step)) return finish(step.y, tiles_.cast(a, step.y_dtype, step.name), step.name);
    Elementwise by{.name = step.name,
                   .op = step.op,
                   .b_mode = step.b_mode,
                   .scalar = step.scalar,
                   .scalar2 = step.scalar2,
                   .dtype = step.y_dtype,
                   .uniform = step.uniform};
    if (step.b_mode == WEFT_VPU_B_MODE_TENSOR || step.b_mode == WEFT_VPU_B_MODE_ROW)
      by.b = &matrix(step.b, step.b_mode == WEFT_VPU_B_MODE_ROW ? 1 : step.rows, step.cols, step.dtype);
    finish(step.y, tiles_.elementwise(a, by), step.name);
  }

  const Program& program_;
  const std::set<uint64_t> spilled_;
  ProgramBuilder builder_;
  CommandGraph graph_;
  TileBuilder tiles_;
  /// Segment and offset. Of what lies in memory also rows, columns and type: equal constants of several shapes lie in one
  /// place, and so do an input and its first rows.
  using Key = std::tuple<uint8_t, uint64_t, uint64_t, uint64_t, int>;
  [[nodiscard]] static Key key_of(const TensorPlace& place, uint64_t rows = 0, uint64_t columns = 0, int dtype = 0) {
    return {place.segment, place.offset_bytes, rows, columns, dtype};
  }
  std::map<Key, Matrix> values_;
  std::map<uint64_t, uint64_t> products_of_;            ///< of weights by their offset
  std::map<std::pair<Key, uint64_t>, Matrix> weights_;  ///< of products of two computed matrices, by place and batch
  std::map<Key, uint64_t> readers_of_;                  ///< of what begins at a place, whatever its shape
};

/// Its results stay here, and its operands are bf16 or f32.
bool taken(const Step& step) {
  if (const auto* dense = std::get_if<DenseStep>(&step))
    return dense->dtype == WEFT_MXU_DTYPE_BF16 && dense->arrivals.empty() &&
           (dense->sinks.empty() || (dense->sinks.size() == 1 && !dense->sinks[0].chip));
  return std::holds_alternative<VectorStep>(step) || std::holds_alternative<RearrangeStep>(step) ||
         std::holds_alternative<ReduceStep>(step) || std::holds_alternative<PairProductStep>(step) ||
         std::holds_alternative<ConvolutionStep>(step) || std::holds_alternative<WindowStep>(step);
}

uint64_t rows_of(const DenseStep& step) { return step.m; }
uint64_t rows_of(const PairProductStep& step) { return step.batch * step.m; }
uint64_t rows_of(const ConvolutionStep& step) { return step.windows.results() * step.spread[0] * step.spread[1]; }
uint64_t rows_of(const WindowStep& step) { return step.windows.results(); }
template <typename Other>
uint64_t rows_of(const Other& step) {
  return step.rows;
}

/// Commands, about: row chunks times column blocks, of products times K tiles.
double commands_of(const spec::Chip& chip, const Step& step) {
  const auto parts = [&](uint64_t size) { return static_cast<double>((size + chip.n - 1) / chip.n); };
  if (const auto* dense = std::get_if<DenseStep>(&step)) return parts(dense->m) * parts(dense->n) * parts(dense->k);
  const auto area = [&](const auto& s) { return parts(s.rows) * parts(s.cols); };
  if (const auto* vector = std::get_if<VectorStep>(&step)) return area(*vector);
  if (const auto* reduce = std::get_if<ReduceStep>(&step)) return area(*reduce);
  if (const auto* rearrange = std::get_if<RearrangeStep>(&step)) return area(*rearrange);
  if (const auto* windows = std::get_if<ConvolutionStep>(&step))
    return parts(rows_of(*windows)) * parts(windows->n) * parts(windows->k);
  if (const auto* windows = std::get_if<WindowStep>(&step))
    return parts(windows->windows.results()) * parts(windows->cols) * static_cast<double>(windows->windows.tap_count());
  const auto& pair = std::get<PairProductStep>(step);
  return static_cast<double>(pair.batch) * parts(pair.m) * parts(pair.n);
}

/// A result that stays in VMEM fits it.
bool fits(const spec::Chip& chip, const Step& step) {
  return std::visit(
      [&](const auto& s) {
        if constexpr (requires { s.y; })
          return s.y.segment != kScratch || rows_of(s) * s.y.pitch_bytes <= chip.vmem_bytes;
        else
          return true;
      },
      step);
}

/// Nothing, if the program may be laid out.
Status check(const spec::Chip& chip, const Program& program) {
  if (program.barrier || !std::ranges::all_of(program.steps, taken))
    return Error{WEFT_ERROR_UNSUPPORTED, fmt::format("{}: a step is not of those that stay in VMEM", program.name)};
  double commands = 0;
  for (const Step& step : program.steps) commands += commands_of(chip, step);
  if (commands > kMaxCommands) return too_many(program, commands);
  return Ok{};
}

}  // namespace

Result<Kernel> compile_resident(const spec::Chip& chip, const Program& program) {
  for (const Step& step : program.steps)
    if (!fits(chip, step) && taken(step))
      return Error{WEFT_ERROR_NO_DEVICE_MEMORY, fmt::format("{}: a value is larger than VMEM", program.name)};
  if (auto status = check(chip, program); !status.ok()) return status.error();
  return ResidentProgram(chip, program, {}).run();
}

Result<Kernel> compile_spilled(const spec::Chip& chip, const Program& program) {
  if (auto status = check(chip, program); !status.ok()) return status.error();
  Result<Kernel> kernel = Error{WEFT_ERROR_NO_DEVICE_MEMORY, program.name + ": its values do not fit VMEM"};
  for (const uint64_t eighths : kBudgets)
    if (!kernel.ok() && kernel.error().code == WEFT_ERROR_NO_DEVICE_MEMORY) {
      auto spilled = choose_spills(chip, program, chip.vmem_bytes / 8 * eighths);
      if (!spilled.empty()) kernel = ResidentProgram(chip, program, std::move(spilled)).run();
    }
  return kernel;
}

Result<Kernel> compile_fitting(const spec::Chip& chip, const Program& program) {
  auto resident = compile_resident(chip, program);
  if (resident.ok()) return resident;
  auto stepwise = compile(chip, program);
  if (stepwise.ok()) return stepwise;
  if (auto spilled = compile_spilled(chip, program); spilled.ok()) return spilled;
  return stepwise.error().code == WEFT_ERROR_UNSUPPORTED ? resident.error() : stepwise.error();
}

}  // namespace weft::compiler::tiles
