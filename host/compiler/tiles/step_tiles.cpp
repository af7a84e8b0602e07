// Each step's operands are found by their places; what they come to is kept by its own.
#include "host/compiler/tiles/step_tiles.hpp"

#include <algorithm>
#include <bit>

#include "host/compiler/tiles/chunk_copies.hpp"

namespace weft::compiler::tiles {
namespace {

constexpr uint8_t kScratch = 2;
constexpr uint64_t kChunkParts = 16;  // of VMEM, of which a chunk takes one: two operands, a result, and all that again

}  // namespace

bool only_casts(const VectorStep& step) {
  const bool i32 = step.dtype == WEFT_VPU_DTYPE_I32;
  return step.op == WEFT_VPU_OP_MUL && step.b_mode == WEFT_VPU_B_MODE_SCALAR && !step.bits &&
         step.scalar == (i32 ? 1 : std::bit_cast<uint32_t>(1.0f)) && (i32 || step.dtype == WEFT_VPU_DTYPE_F32) &&
         step.y_dtype != step.dtype;
}

StepTiles::StepTiles(CommandGraph& graph, ProgramBuilder& program, std::span<const Step> readers,
                     std::set<ValueKey> spilled, bool one_product)
    : spilled_(std::move(spilled)), tiles_(graph, program, one_product) {
  for (const auto& step : readers) {
    if (const auto* dense = std::get_if<DenseStep>(&step))
      products_of_[{dense->weights.segment, dense->weights.offset_bytes}]++;
    for (const auto& place : operand_places(step)) readers_of_[key_of(place)]++;
    if (const auto* collective = std::get_if<CollectiveStep>(&step)) collectives_[key_of(collective->x)] = collective;
    if (const auto* pair = std::get_if<PairProductStep>(&step)) weights_for_[key_of(pair->w)][pair->batch]++;
  }
}

void StepTiles::add(const Step& step, bool last) {
  std::visit([&](const auto& s) { add_step(s, last); }, step);
}

const Matrix* StepTiles::value(const TensorPlace& place) const {
  const auto found = values_.find(key_of(place));
  return found == values_.end() ? nullptr : &found->second;
}

void StepTiles::limit_chunks(std::span<const Step> steps) {
  const spec::Chip& chip = tiles_.chip();
  const auto limit = [&](uint64_t rows, uint64_t cols, weft_vpu_dtype dtype) {
    const uint64_t words = (cols + chip.n - 1) / chip.n * row_words(dtype);
    tiles_.limit_chunks(rows, std::max<uint64_t>(1, chip.vmem_words / kChunkParts / std::max<uint64_t>(1, words)));
  };
  for (const Step& step : steps) {
    if (const auto* vector = std::get_if<VectorStep>(&step)) {
      limit(vector->rows, vector->cols, vector->dtype);
      limit(vector->rows, vector->cols, vector->y_dtype);
    }
    if (const auto* reduce = std::get_if<ReduceStep>(&step)) limit(reduce->rows, reduce->cols, reduce->dtype);
  }
}

void StepTiles::stored(const TensorPlace& place) {
  std::erase_if(values_, [&](const auto& value) {
    return std::get<0>(value.first) == place.segment && std::get<1>(value.first) == place.offset_bytes;
  });
}

Matrix& StepTiles::load_all(const TensorPlace& place, uint64_t rows, uint64_t columns, weft_vpu_dtype dtype) {
  // It lies as what is computed: a turn's result takes its place.
  if (!goes_through_memory(place) && !values_.contains(key_of(place)))
    values_.try_emplace(key_of(place, rows, columns, dtype),
                        tiles_.from_memory(rows, columns, dtype, place, TileBuilder::Blocks::kBehind));
  Matrix& value = matrix(place, rows, columns, dtype);
  tiles_.load_all(value);
  return value;
}

Matrix& StepTiles::matrix(const TensorPlace& place, uint64_t rows, uint64_t columns, weft_vpu_dtype dtype) {
  const Key computed = key_of(place);
  // What went to memory comes back for each step that reads it.
  if (goes_through_memory(place)) return values_[computed] = tiles_.from_memory(rows, columns, dtype, place);
  if (const auto found = values_.find(computed); found != values_.end()) return found->second;
  const Key key = key_of(place, rows, columns, dtype);
  if (const auto found = values_.find(key); found != values_.end()) return found->second;
  return values_[key] = tiles_.from_memory(rows, columns, dtype, place);
}
/// How many products read a computed value, and nothing else does, as their weights.
uint64_t StepTiles::only_weights_of(const TensorPlace& y) const {
  const auto found = weights_for_.find(key_of(y));
  if (y.segment != kScratch || goes_through_memory(y) || found == weights_for_.end() || found->second.size() != 1)
    return 0;
  const auto [batch, steps] = *found->second.begin();
  return readers_of_.at(key_of(y)) == steps ? batch : 0;
}
/// Several products can have the same. What has gone to memory does not stay for the next one.
const Matrix& StepTiles::weights(const PairProductStep& step) {
  const auto [made, fresh] = weights_.try_emplace({key_of(step.w), step.batch});
  if (fresh || goes_through_memory(step.w)) made->second = tiles_.as_weights(factor(step), step.batch, step.name);
  return made->second;
}
/// What only one product reads of an input comes in pieces of its own.
Matrix& StepTiles::factor(const PairProductStep& step) {
  const uint64_t rows = step.batch * step.k;
  if (step.w.segment > kScratch && readers_of_[key_of(step.w)] == 1)
    values_.try_emplace(key_of(step.w, rows, step.n, step.w_dtype),
                        tiles_.weights_from_memory(rows, step.n, step.batch, step.w_dtype, step.w));
  return matrix(step.w, rows, step.n, step.w_dtype);
}
bool StepTiles::goes_through_memory(const TensorPlace& place) const {
  return spilled_.contains({place.segment, place.offset_bytes});
}

/// A residual whose rows do not lie as those of the sums: they are added behind the product.
template <typename Sums>
Matrix StepTiles::sum_apart(Product& product, Matrix& residual, Sums sums) {
  const Product whole = product;
  const bool relu = whole.activation == WEFT_VPU_ACTIVATION_RELU;
  product.activation = WEFT_VPU_ACTIVATION_NONE, product.dtype = WEFT_VPU_DTYPE_F32;
  Matrix y = sums();
  y = tiles_.elementwise(y, {.name = whole.name, .b = &residual, .dtype = relu ? WEFT_VPU_DTYPE_F32 : whole.dtype});
  if (!relu) return y;
  return tiles_.elementwise(
      y, {.name = whole.name, .op = WEFT_VPU_OP_MAX, .b_mode = WEFT_VPU_B_MODE_SCALAR, .dtype = whole.dtype});
}

void StepTiles::add_step(const DenseStep& step, bool last) {
  const bool int8 = step.dtype == WEFT_MXU_DTYPE_INT8;
  Matrix& x = matrix(step.x, step.m, int8 ? (step.k + 1) / 2 : step.k, WEFT_VPU_DTYPE_BF16);
  Product product{step.name, step.n, step.weights, step.bias, step.activation, step.y_dtype, {}};
  if (step.y.segment != kScratch || goes_through_memory(step.y)) product.store = step.y;
  product.of_model = step.of_model;
  if (int8) product.int8_k = step.k;
  if (const auto* collective = only_collective_of(step.y)) {
    const ChipGroup& group = collective->group;
    if (collective->what == Exchange::kOwnSums)
      product.order = tiles_.order_of_sends(step.m, step.n, step.y_dtype, group);
    else if (collective->what == Exchange::kSideBySide && collective->dtype == step.y_dtype && tiles_.lands_in_vmem())
      product.into = tiles_.part_of_landing(step.m, step.n, step.y_dtype, group.ranks(), group.rank);
  }
  product.again = products_of_[{step.weights.segment, step.weights.offset_bytes}] > 1;
  product.bytes = step.bytes, product.scales = step.scales;
  if (step.y_dtype == WEFT_VPU_DTYPE_I8) product.store.reset();
  Matrix* const residual = step.residual ? &matrix(*step.residual, step.m, step.n, WEFT_VPU_DTYPE_F32) : nullptr;
  if (residual != nullptr && !tiles_.lies_as_result(*residual)) {
    product.store.reset();
    return finish(step.y, sum_apart(product, *residual, [&] { return tiles_.product(x, product, last); }), step.name);
  }
  product.residual = residual;
  Matrix y = tiles_.product(x, product, last);
  if (step.y_dtype == WEFT_VPU_DTYPE_I8) return finish(step.y, std::move(y), step.name);
  keep(step.y, std::move(y));
}

/// What alone reads a computed value, or null.
const CollectiveStep* StepTiles::only_collective_of(const TensorPlace& y) const {
  const auto found = collectives_.find(key_of(y));
  const bool alone = found != collectives_.end() && readers_of_.at(key_of(y)) == 1;
  return alone && y.segment == kScratch && !goes_through_memory(y) ? found->second : nullptr;
}

void StepTiles::add_step(const CollectiveStep& step, bool) {
  Matrix& x = matrix(step.x, step.rows, step.cols, step.dtype);
  if (step.what != Exchange::kSideBySide)
    return finish(step.y, tiles_.sums(x, step.group, step.what, step.landing, step.name), step.name);
  Matrix y = tiles_.gather(x, step.group, step.y, step.name);
  if (!y.source) return finish(step.y, std::move(y), step.name);
  keep(step.y, std::move(y));
}

/// Of an output, what has been computed goes to its place.
void StepTiles::finish(const TensorPlace& place, Matrix value, const std::string& name) {
  if (place.segment != kScratch || goes_through_memory(place)) tiles_.store(value, place, name);
  keep(place, std::move(value));
}

void StepTiles::add_step(const RearrangeStep& step, bool) {
  Rearrangement by{step.name, {}, *step.from, step.rows, step.cols};
  if (step.dtype == WEFT_VPU_DTYPE_BF16) by.weights_of = only_weights_of(step.y);
  for (const auto& source : step.sources)
    by.sources.push_back(&matrix(source.place, source.rows, source.cols, step.dtype));
  Matrix y = tiles_.rearrange(by);
  finish(step.y, step.y_dtype == step.dtype ? std::move(y) : tiles_.cast(y, step.y_dtype, step.name), step.name);
}

void StepTiles::add_step(const ReduceStep& step, bool) {
  Matrix& a = matrix(step.a, step.rows, step.cols, step.dtype);
  keep(step.y, tiles_.reduce(a, step.op, step.name));
}

void StepTiles::add_step(const PairProductStep& step, bool) {
  Matrix& x = matrix(step.x, step.batch * step.m, step.k, WEFT_VPU_DTYPE_BF16);
  finish(step.y, tiles_.pair_product(x, weights(step), step.y_dtype, step.name), step.name);
}

void StepTiles::add_step(const ConvolutionStep& step, bool) {
  Convolution by;
  by.windows = step.windows, by.by_lines = step.by_lines;
  for (const auto& source : step.sources)
    by.sources.push_back(&matrix(source.place, source.rows, source.cols, source.dtype));
  by.product = {step.name, step.n, step.weights, step.bias, step.activation, step.y_dtype, {}};
  by.spread = step.spread;
  const uint64_t rows = step.windows.results() * step.spread[0] * step.spread[1];
  by.int8 = step.int8, by.padding = step.padding, by.bytes = step.bytes;
  Matrix* const residual = step.residual ? &matrix(*step.residual, rows, step.n, WEFT_VPU_DTYPE_F32) : nullptr;
  if (residual != nullptr && !tiles_.lies_as_result(*residual)) {
    Matrix y = sum_apart(by.product, *residual, [&] { return tiles_.convolution(by); });
    return finish(step.y, std::move(y), step.name);
  }
  by.product.residual = residual;
  finish(step.y, tiles_.convolution(by), step.name);
}

void StepTiles::add_step(const WindowStep& step, bool) {
  Matrix& x = matrix(step.x, step.windows.pixels(), step.cols, WEFT_VPU_DTYPE_F32);
  Matrix y = tiles_.fold_windows(x, {step.name, step.windows, step.op, step.padding, step.weights});
  finish(step.y, step.y_dtype == WEFT_VPU_DTYPE_F32 ? std::move(y) : tiles_.cast(y, step.y_dtype, step.name),
         step.name);
}

void StepTiles::add_step(const RowsStep& step, bool) {
  Matrix& indices = matrix(step.indices, 1, step.rows, WEFT_VPU_DTYPE_I32);
  finish(step.y, tiles_.rows_by(indices, {step.name, step.table, step.table_rows, step.cols, step.dtype}), step.name);
}

void StepTiles::add_step(const VectorStep& step, bool) {
  if (step.dtype == WEFT_VPU_DTYPE_I8) {
    Matrix& bytes = matrix(step.a, step.rows, (step.cols + 1) / 2, WEFT_VPU_DTYPE_BF16);
    return finish(step.y, tiles_.cast_from_i8(bytes, step.cols, step.name), step.name);
  }
  Matrix& a = matrix(step.a, step.rows, step.cols, step.dtype);
  if (step.bits) return finish(step.y, tiles_.bits_as(a, step.y_dtype), step.name);
  if (step.y_dtype == WEFT_VPU_DTYPE_I8) {
    const ToBytes by{std::bit_cast<float>(step.scalar2), static_cast<int32_t>(step.scalar)};
    return finish(step.y, tiles_.cast_to_i8(a, by, step.name), step.name);
  }
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

}  // namespace weft::compiler::tiles
