// Recipes: drawn, built step by step, compiled, made smaller.
#include "testbench/random/compiled_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/round_up.hpp"
#include "host/compiler/layout.hpp"
#include "host/compiler/program.hpp"
#include "host/compiler/tiles/resident_program.hpp"
#include "host/compiler/training.hpp"
#include "testbench/random/draw.hpp"
#include "weft/spec/command_fields.hpp"
#include "weft/spec/names.hpp"

namespace weft::random {
namespace {

using compiler::TensorPlace;
using Kind = LayerRecipe::Kind;

constexpr uint64_t kAlign = 64;

// ---------------------------------------------------------------- drawing

/// Sizes of a product whose weights have up to `elements` elements.
void draw_product(const spec::Chip& chip, Draw& draw, uint64_t elements, LayerRecipe& layer) {
  const uint64_t n = chip.n;
  layer.inner = draw.once_in(3) ? draw.between(1, std::max<uint64_t>(1, elements / n)) : draw.size(n, 12 * n);
  layer.cols = draw.size(n, std::max<uint64_t>(1, elements / layer.inner));
  layer.rows = draw.once_in(2) ? draw.between(1, 3 * n) : draw.size(n, 6 * n);
}

/// Wide or deep: weights stream through VMEM, and rings of semaphores wrap.
void draw_large_product(const spec::Chip& chip, Draw& draw, LayerRecipe& layer) {
  const uint64_t longer = draw.between(60 * chip.n, 375 * chip.n), shorter = draw.size(chip.n, 8 * chip.n);
  const bool wide = draw.once_in(2);
  layer.inner = wide ? shorter : longer;
  layer.cols = wide ? longer : shorter;
  layer.rows = draw.size(chip.n, 2 * chip.n);
}

/// `resident`: of a network whose values stay in VMEM.
LayerRecipe draw_layer(const spec::Chip& chip, Draw& draw, bool large, bool resident) {
  const uint64_t n = chip.n;
  LayerRecipe layer;
  layer.kind = draw.one_of(
      {Kind::kProduct, Kind::kProduct, Kind::kProduct, Kind::kProduct, Kind::kProduct, Kind::kVector, Kind::kVector});
  layer.int8 = draw.once_in(4);
  layer.bias = draw.once_in(2);
  layer.relu = draw.once_in(2);
  layer.narrow = draw.once_in(2);
  layer.narrow_input = draw.once_in(2);
  layer.chained = !draw.once_in(4);
  layer.op =
      draw.one_of<uint8_t>({WEFT_VPU_OP_ADD, WEFT_VPU_OP_SUB, WEFT_VPU_OP_MUL, WEFT_VPU_OP_MIN, WEFT_VPU_OP_MAX});
  layer.b_mode = draw.one_of<uint8_t>({WEFT_VPU_B_MODE_TENSOR, WEFT_VPU_B_MODE_ROW, WEFT_VPU_B_MODE_SCALAR});
  if (resident)
    layer.kind = draw.one_of({Kind::kProduct, Kind::kVector, Kind::kTranspose, Kind::kRowSums, Kind::kPairProduct});
  if (large) {
    layer.kind = Kind::kProduct;
    draw_large_product(chip, draw, layer);
  } else if (layer.kind == Kind::kProduct) {
    draw_product(chip, draw, 24 * n * n, layer);
  } else {
    layer.rows = draw.size(n, 8 * n);
    layer.cols = draw.size(n, 8 * n);
    if (layer.kind == Kind::kPairProduct) layer.inner = draw.size(n, 8 * n);
  }
  return layer;
}

// ---------------------------------------------------------------- building

/// A network of steps; each tensor is an argument of its own.
class Network {
 public:
  explicit Network(const spec::Chip& chip) : chip_(chip) { program_.name = "random"; }

  void add(const LayerRecipe& layer) {
    switch (layer.kind) {
      case Kind::kProduct:
        return add_product(layer);
      case Kind::kVector:
        return add_vector(layer);
      case Kind::kTranspose:
        return add_transpose(layer);
      case Kind::kRowSums:
        return add_row_sums(layer);
      case Kind::kPairProduct:
        return add_pair_product(layer);
    }
  }
  [[nodiscard]] compiler::Program take() { return std::move(program_); }

 private:
  struct Previous {
    TensorPlace place;
    uint64_t rows = 0, cols = 0;
  };

  TensorPlace bytes(uint64_t size, uint64_t pitch) {
    compiler::Argument argument;
    argument.name = fmt::format("t{}", program_.arguments.size());
    argument.size_bytes = round_up(size, kAlign);
    program_.arguments.push_back(argument);
    return {static_cast<uint8_t>(2 + program_.arguments.size()), 0, pitch};
  }
  TensorPlace rows(uint64_t count, uint64_t cols, uint64_t element) {
    const uint64_t pitch = compiler::row_pitch_bytes(cols, element);
    return bytes(count * pitch, pitch);
  }
  TensorPlace wide_row(uint64_t cols) { return bytes(round_up(cols, chip_.n) * 4, 0); }
  static weft_vpu_dtype dtype(bool narrow) { return narrow ? WEFT_VPU_DTYPE_BF16 : WEFT_VPU_DTYPE_F32; }
  static uint64_t element(bool narrow) { return narrow ? 2 : 4; }
  /// What a later product can read.
  void keep(bool narrow, const TensorPlace& place, uint64_t count, uint64_t cols) {
    last_ = narrow ? std::optional(Previous{place, count, cols}) : std::nullopt;
  }

  void add_product(const LayerRecipe& layer) {
    compiler::DenseStep step;
    const bool chained = layer.chained && last_ && !layer.int8;
    const bool narrow = layer.narrow && !layer.int8;
    step.name = "product";
    step.m = chained ? last_->rows : layer.rows;
    step.k = chained ? last_->cols : layer.inner;
    step.n = layer.cols;
    step.dtype = layer.int8 ? WEFT_MXU_DTYPE_INT8 : WEFT_MXU_DTYPE_BF16;
    step.x = chained ? last_->place : rows(step.m, step.k, layer.int8 ? 1 : 2);
    step.weights = bytes(compiler::packed_weight_bytes(chip_, step.dtype, step.k, step.n), 0);
    if (layer.bias) step.bias = wide_row(step.n);
    step.activation = layer.relu ? WEFT_VPU_ACTIVATION_RELU : WEFT_VPU_ACTIVATION_NONE;
    step.y = rows(step.m, step.n, element(narrow));
    step.y_dtype = layer.int8 ? WEFT_VPU_DTYPE_I32 : dtype(narrow);
    program_.steps.push_back(step);
    keep(narrow, step.y, step.m, step.n);
  }

  void add_vector(const LayerRecipe& layer) {
    compiler::VectorStep step;
    const bool chained = layer.chained && last_ && layer.narrow_input;
    step.name = "vector";
    step.rows = chained ? last_->rows : layer.rows;
    step.cols = chained ? last_->cols : layer.cols;
    step.op = static_cast<weft_vpu_op>(layer.op);
    step.b_mode = static_cast<weft_vpu_b_mode>(layer.b_mode);
    step.dtype = dtype(layer.narrow_input);
    step.y_dtype = dtype(layer.narrow);
    step.a = chained ? last_->place : rows(step.rows, step.cols, element(layer.narrow_input));
    if (step.b_mode == WEFT_VPU_B_MODE_TENSOR) step.b = rows(step.rows, step.cols, element(layer.narrow_input));
    if (step.b_mode == WEFT_VPU_B_MODE_ROW) step.b = rows(1, round_up(step.cols, chip_.n), element(layer.narrow_input));
    if (step.b_mode == WEFT_VPU_B_MODE_SCALAR) step.scalar = layer.narrow_input ? 0x3f80 : 0x3f800000;
    step.y = rows(step.rows, step.cols, element(layer.narrow));
    program_.steps.push_back(step);
    keep(layer.narrow, step.y, step.rows, step.cols);
  }

  void add_transpose(const LayerRecipe& layer) {
    compiler::RearrangeStep step;
    step.name = "transpose";
    step.rows = layer.cols, step.cols = layer.rows;
    step.dtype = dtype(layer.narrow_input);
    step.y_dtype = dtype(layer.narrow || layer.narrow_input);
    step.sources.push_back({rows(layer.rows, layer.cols, element(layer.narrow_input)), layer.rows, layer.cols});
    std::vector<uint32_t> from;
    for (uint64_t r = 0; r < step.rows; r++)
      for (uint64_t c = 0; c < step.cols; c++) from.push_back(static_cast<uint32_t>(c * layer.cols + r));
    step.from = std::make_shared<const std::vector<uint32_t>>(std::move(from));
    step.y = rows(step.rows, step.cols, element(step.y_dtype == WEFT_VPU_DTYPE_BF16));
    keep(step.y_dtype == WEFT_VPU_DTYPE_BF16, step.y, step.rows, step.cols);
    program_.steps.emplace_back(std::move(step));
  }

  /// The sums of rows, and rows less their sum.
  void add_row_sums(const LayerRecipe& layer) {
    compiler::ReduceStep step;
    step.name = "row sums";
    step.rows = layer.rows, step.cols = layer.cols;
    step.a = rows(layer.rows, layer.cols, 4);
    step.y = {2, program_.scratch_bytes, step.a.pitch_bytes};
    program_.scratch_bytes += layer.rows * step.a.pitch_bytes;
    program_.steps.emplace_back(step);
    compiler::VectorStep less;
    less.name = "less row sums";
    less.rows = layer.rows, less.cols = layer.cols;
    less.op = WEFT_VPU_OP_SUB;
    less.dtype = WEFT_VPU_DTYPE_F32;
    less.y_dtype = dtype(layer.narrow);
    less.a = step.a, less.b = step.y;
    less.y = rows(layer.rows, layer.cols, element(layer.narrow));
    program_.steps.emplace_back(less);
    keep(layer.narrow, less.y, layer.rows, layer.cols);
  }

  void add_pair_product(const LayerRecipe& layer) {
    compiler::PairProductStep step;
    const bool chained = layer.chained && last_;
    step.name = "pair product";
    step.m = chained ? last_->rows : layer.rows;
    step.k = chained ? last_->cols : layer.inner;
    step.n = layer.cols;
    step.x = chained ? last_->place : rows(step.m, step.k, 2);
    step.w_dtype = dtype(layer.narrow_input);
    step.w = rows(step.k, step.n, element(layer.narrow_input));
    step.y_dtype = dtype(layer.narrow);
    step.y = rows(step.m, step.n, element(layer.narrow));
    program_.steps.emplace_back(step);
    keep(layer.narrow, step.y, step.m, step.n);
  }

  const spec::Chip& chip_;
  compiler::Program program_;
  std::optional<Previous> last_;
};

Result<compiler::Program> steps_of(const Recipe& recipe) {
  const compiler::DenseNetwork network{recipe.widths};
  switch (recipe.form) {
    case Recipe::Form::kScores:
      return compiler::scores_program(*recipe.chip, network, recipe.rows);
    case Recipe::Form::kGradient:
      return compiler::gradient_program(*recipe.chip, network, recipe.rows, 1.0F / static_cast<float>(recipe.rows));
    case Recipe::Form::kUpdate:
      return compiler::update_program(*recipe.chip, network, {});
    case Recipe::Form::kLayers:
      break;
  }
  Network layers(*recipe.chip);
  for (const LayerRecipe& layer : recipe.layers) layers.add(layer);
  return layers.take();
}

/// An order that the semaphores allow: a core without time, which takes whatever can go. False: it hangs.
bool order_commands(const compiler::Kernel& kernel, std::vector<QueuedCommand>& out) {
  const auto tag = std::ranges::find(spec::kHeaderFields, "tag", &spec::FieldInfo::name);
  std::array<size_t, WEFT_CORE_QUEUES> next{};
  std::array<uint64_t, WEFT_SEMAPHORES> semaphores{};
  const auto can_go = [&](const spec::CommandHeader& h) {
    return (h.wait_sem0 == WEFT_NO_SEMAPHORE || semaphores[h.wait_sem0] >= h.wait_count0) &&
           (h.wait_sem1 == WEFT_NO_SEMAPHORE || semaphores[h.wait_sem1] >= h.wait_count1);
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
      if (next[q] == kernel.queues[q].size()) continue;
      spec::Command command = kernel.queues[q][next[q]];
      const auto h = spec::decode_header(command);
      if (!can_go(h)) continue;
      if (h.wait_sem0 != WEFT_NO_SEMAPHORE) semaphores[h.wait_sem0] -= h.wait_count0;
      if (h.wait_sem1 != WEFT_NO_SEMAPHORE) semaphores[h.wait_sem1] -= h.wait_count1;
      if (h.post_sem0 != WEFT_NO_SEMAPHORE) semaphores[h.post_sem0] += h.post_count0;
      if (h.post_sem1 != WEFT_NO_SEMAPHORE) semaphores[h.post_sem1] += h.post_count1;
      spec::store_le(command, tag->offset, tag->bytes, out.size());
      out.push_back({q, command});
      next[q]++;
      moved = true;
    }
  }
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
    if (next[q] != kernel.queues[q].size()) return false;
  return true;
}

}  // namespace

Recipe draw_recipe(const spec::Chip& chip, uint64_t seed) {
  Draw draw(seed);
  Recipe recipe;
  recipe.chip = &chip;
  recipe.seed = seed;
  recipe.data_seed = draw.bits();
  recipe.stall_percent = draw.one_of({0u, 0u, 0u, 25u, 75u});
  recipe.jitter = draw.once_in(3);
  recipe.prefetch = prefetch_drawn(recipe.data_seed);
  const uint64_t n = chip.n;
  if (draw.once_in(10)) {
    recipe.form = draw.one_of({Recipe::Form::kScores, Recipe::Form::kGradient, Recipe::Form::kUpdate});
    const uint64_t layers = draw.between(1, 2);
    for (uint64_t i = 0; i <= layers; i++) recipe.widths.push_back(draw.size(n, 4 * n));
    recipe.rows = draw.size(n, 3 * n);
    return recipe;
  }
  const bool large = draw.once_in(16), resident = !large && draw.once_in(3);
  const uint64_t layers = large ? 1 : draw.between(1, 4);
  for (uint64_t i = 0; i < layers; i++) recipe.layers.push_back(draw_layer(chip, draw, large, resident));
  return recipe;
}

std::optional<Program> program_of(const spec::Chip& chip, const compiler::Kernel& kernel) {
  Program program;
  program.chip = &chip;
  const auto map = [&](size_t segment, uint64_t bytes) {
    bytes = round_up(std::max<uint64_t>(bytes, 1), kAlign);
    program.segments[segment] = {program.hbm_bytes, bytes, WEFT_ADDRESS_SPACE_HBM, true, true};
    program.hbm_bytes += bytes;
  };
  map(1, kernel.constants.size());
  map(2, kernel.scratch_bytes);
  for (size_t i = 0; i < kernel.arguments.size(); i++) map(3 + i, kernel.arguments[i].size_bytes);
  golden::copy_to_version1(program.segments);
  if (!order_commands(kernel, program.commands)) return std::nullopt;
  return program;
}

std::optional<Program> make_program(const Recipe& recipe, std::string& error) {
  const auto steps = steps_of(recipe);
  if (!steps.ok()) {
    error = steps.error().message;
    return std::nullopt;
  }
  const auto kernel = compiler::tiles::compile_fitting(*recipe.chip, steps.value());
  if (!kernel.ok()) {
    error = kernel.error().message;
    return std::nullopt;
  }
  auto program = program_of(*recipe.chip, kernel.value());
  if (!program) {
    error = "the compiled commands hang";
    return std::nullopt;
  }
  program->seed = recipe.seed;
  program->data_seed = recipe.data_seed;
  program->stall_percent = recipe.stall_percent;
  program->jitter = recipe.jitter;
  program->prefetch = recipe.prefetch;
  program->plain_data = true;
  return program;
}

std::string recipe_text(const Recipe& recipe) {
  static constexpr std::array<std::string_view, 5> kKinds{"product", "vector", "transpose", "row sums", "pair product"};
  static constexpr std::array<std::string_view, 4> kForms{"layers", "scores", "gradient", "update"};
  if (recipe.form != Recipe::Form::kLayers)
    return fmt::format("{} of {} rows, widths {}", kForms[static_cast<size_t>(recipe.form)], recipe.rows,
                       fmt::join(recipe.widths, " "));
  std::string text;
  for (const LayerRecipe& l : recipe.layers) {
    text += fmt::format("{}{} {}x{}x{}", text.empty() ? "" : " -> ", kKinds[static_cast<size_t>(l.kind)], l.rows,
                        l.inner, l.cols);
    for (const auto& [set, name] : {std::pair(l.int8, "int8"), std::pair(l.bias, "bias"), std::pair(l.relu, "relu"),
                                    std::pair(l.narrow, "bf16"), std::pair(l.chained, "chained")})
      if (set) text += fmt::format(" {}", name);
  }
  return text;
}

Recipe shrink_recipe(Recipe recipe, const std::function<bool(const Program&)>& still_fails, unsigned max_runs) {
  const auto fails = [&](const Recipe& smaller) {
    if (max_runs == 0) return false;
    max_runs--;
    std::string error;
    const auto program = make_program(smaller, error);
    return program && !program->commands.empty() && still_fails(*program);
  };
  const auto try_it = [&](const Recipe& smaller) {
    if (!fails(smaller)) return false;
    recipe = smaller;
    return true;
  };
  const auto smaller_numbers = [&](auto number_of) {
    bool any = false;
    for (const auto next : {+[](uint64_t v) { return v / 2; }, +[](uint64_t v) { return v - 1; }})
      for (;;) {
        Recipe smaller = recipe;
        uint64_t& number = number_of(smaller);
        if (number <= 1) break;
        number = next(number);
        if (!try_it(smaller)) break;
        any = true;
      }
    return any;
  };
  for (bool any = true; any && max_runs != 0;) {
    any = false;
    for (size_t i = recipe.layers.size(); recipe.layers.size() > 1 && i-- > 0;) {
      Recipe smaller = recipe;
      smaller.layers.erase(smaller.layers.begin() + static_cast<ptrdiff_t>(i));
      any = try_it(smaller) || any;
    }
    Recipe steady = recipe;
    steady.stall_percent = 0, steady.jitter = false;
    if (recipe.stall_percent != 0 || recipe.jitter) any = try_it(steady) || any;
    Recipe pushed = recipe;
    pushed.prefetch = false;
    if (recipe.prefetch) any = try_it(pushed) || any;
    for (size_t i = 0; i < recipe.layers.size(); i++) {
      any = smaller_numbers([i](Recipe& r) -> uint64_t& { return r.layers[i].rows; }) || any;
      any = smaller_numbers([i](Recipe& r) -> uint64_t& { return r.layers[i].inner; }) || any;
      any = smaller_numbers([i](Recipe& r) -> uint64_t& { return r.layers[i].cols; }) || any;
    }
    for (size_t i = 0; i < recipe.widths.size(); i++)
      any = smaller_numbers([i](Recipe& r) -> uint64_t& { return r.widths[i]; }) || any;
    if (!recipe.widths.empty()) any = smaller_numbers([](Recipe& r) -> uint64_t& { return r.rows; }) || any;
  }
  return recipe;
}

}  // namespace weft::random
