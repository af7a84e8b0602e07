// Integers of 8 bits: conversions to them, and products, which read them packed as i8 with a sign.
#include <algorithm>
#include <bit>
#include <cmath>

#include "host/compiler/partition/graph_builder.hpp"
#include "host/compiler/partition/integer_products.hpp"

namespace weft::compiler {

using ir::ElementType;
using ir::Op;
using ir::OpKind;

namespace {

constexpr float kShift = 12582912.0f;    // 1.5 x 2^23: a sum with it is a whole number
constexpr int32_t kFarOffset = 1 << 20;  // no rounding below it, and far from the ends of i32
constexpr float kFarQuotient = 1 << 20;  // beyond what is quantised

bool is_zero_point(int32_t offset) { return offset >= -128 && offset <= 127; }

}  // namespace

/// Which operators quantise: all that is read of what they round is limited to few whole numbers.
void GraphBuilder::find_quantizers() {
  std::map<ir::ValueId, int> limited;  // what is rounded: readers of this kind
  std::map<ir::ValueId, ir::ValueId> quotients;
  for (const uint32_t index : ops_) {
    const Op& op = module_.ops()[index];
    const auto quantizer = quantizer_of(module_, op);
    if (!quantizer) continue;
    bool alone = true;  // nothing else reads what lies between
    for (ir::ValueId value = op.operands[0]; value != quantizer->rounded; value = module_.op_of(value).operands[0])
      alone = alone && readers_[value] == 1;
    if (!alone) continue;
    quantized_.insert(op.results[0]);
    limited[quantizer->rounded]++;
    if (quantizer->quotient) quotients.emplace(quantizer->rounded, *quantizer->quotient);
  }
  for (const auto& [rounded, count] : limited) {
    if (readers_[rounded] != count) continue;
    rounded_to_few_.insert(rounded);
    if (const auto found = quotients.find(rounded); found != quotients.end() && readers_[found->second] == 1)
      exact_quotients_.insert(found->second);
  }
}

/// The nearest whole number, of what is below 2^22; what is not stays beyond 2^21.
size_t GraphBuilder::rounded_to_few(const Op& op, size_t a) {
  return emit(op, WEFT_VPU_OP_SUB, emit(op, WEFT_VPU_OP_ADD, a, kShift), kShift);
}

/// a / b as IEEE has it, for what is below 2^20; else a number beyond that, or infinity. The quotient by a reciprocal is
/// off by a unit of the last place at most; the rest, which is exact, makes up for it (Markstein 1990).
size_t GraphBuilder::exact_quotient(const Op& op, size_t a, float b) {
  const float reciprocal = 1 / b;
  int exponent = 0;
  if (std::abs(std::frexp(b, &exponent)) == 0.5f) return emit(op, WEFT_VPU_OP_MUL, a, reciprocal);
  const size_t scaled = emit(op, WEFT_VPU_OP_MUL, a, reciprocal);
  const size_t estimate = emit(op, WEFT_VPU_OP_MAX, emit(op, WEFT_VPU_OP_MIN, scaled, kFarQuotient), -kFarQuotient);
  const size_t rest = emit(op, WEFT_VPU_OP_AXPY, estimate, a, -b);
  return emit(op, WEFT_VPU_OP_AXPY, rest, estimate, reciprocal);
}

/// To an integer of 8 or 16 bits, which lies as i32. What has been quantised is in its range; any other f32 goes towards
/// zero and saturates, and an integer loses its upper bits.
size_t GraphBuilder::narrowed(const Op& op, size_t a) {
  const ElementType from = module_.type(op.operands[0]).element, to = module_.type(op.results[0]).element;
  if (from == ElementType::kPred) return cast(op, a, WEFT_VPU_DTYPE_I32);
  if (quantized_.contains(op.operands[0])) {
    const size_t y = cast(op, a, WEFT_VPU_DTYPE_I32);
    quantized_tensors_.insert(y);
    return y;
  }
  const auto [least, most] = *ir::quantized_range(to);
  if (from == ElementType::kF32)
    return emit(op, WEFT_VPU_OP_MIN, emit(op, WEFT_VPU_OP_MAX, towards_zero(op, a), least), most);
  if (from == to) return a;
  const int32_t unused = most - least == 255 ? 24 : 16;
  return emit(op, least < 0 ? WEFT_VPU_OP_SRA : WEFT_VPU_OP_SRL, emit(op, WEFT_VPU_OP_SLL, a, unused), unused);
}

const Node* GraphBuilder::maker_of(size_t tensor) const {
  for (size_t i = graph_.nodes.size(); i-- > 0;)
    if (result_of(graph_.nodes[i]) == tensor) return &graph_.nodes[i];
  return nullptr;
}

/// A tensor, f32 or i32, that gives `t` + offset when it is cast to i8, where these are whole numbers from -128 to 127. What a
/// cast does anyway is left out: to round, and to limit to this range.
GraphBuilder::Bytes GraphBuilder::before_bytes(const Op& op, size_t t, int32_t offset) {
  for (const Node* node = maker_of(t); node != nullptr; node = maker_of(t)) {
    if (const auto* copy = std::get_if<CopyNode>(node)) {
      if (copy->bits || !quantized_tensors_.contains(t)) break;
      t = copy->a;
      continue;
    }
    const auto* vector = std::get_if<VectorNode>(node);
    if (vector == nullptr || graph_.tensors[vector->a].uniform) break;
    const bool adds = vector->op == WEFT_VPU_OP_ADD, takes = vector->op == WEFT_VPU_OP_SUB;
    if (const auto* integer = std::get_if<int32_t>(&vector->b)) {
      if ((!adds && !takes) || std::abs(static_cast<int64_t>(*integer)) > kFarOffset) break;
      offset += adds ? *integer : -*integer;
      t = vector->a;
      continue;
    }
    const auto* number = std::get_if<float>(&vector->b);
    if (number == nullptr) break;
    const size_t before = vector->a;
    if (takes && *number == kShift) {
      const auto* shifted = std::get_if<VectorNode>(maker_of(before));
      if (shifted == nullptr || !is_zero_point(offset)) break;
      return scaled_bytes(shifted->a, offset);
    }
    if (adds && std::abs(*number) < kFarOffset && *number == std::trunc(*number))
      offset += static_cast<int32_t>(*number);
    else if (const auto far = static_cast<int64_t>(*number) + offset; vector->op == WEFT_VPU_OP_MIN   ? far < 127
                                                                      : vector->op == WEFT_VPU_OP_MAX ? far > -128
                                                                                                      : true)
      break;
    t = before;
  }
  if (is_zero_point(offset)) return {t, {1, offset}};
  return {emit(op, WEFT_VPU_OP_ADD, t, number(t, offset))};
}

/// f32(i32) times a number is what a cast to i8 does itself.
GraphBuilder::Bytes GraphBuilder::scaled_bytes(size_t t, int32_t zero_point) const {
  const Bytes unscaled{t, {1, zero_point}};
  const auto* scaled = std::get_if<VectorNode>(maker_of(t));
  if (scaled == nullptr || scaled->op != WEFT_VPU_OP_MUL || !std::holds_alternative<float>(scaled->b)) return unscaled;
  const auto* wide = std::get_if<CopyNode>(maker_of(scaled->a));
  if (wide == nullptr || wide->bits || !is_i32(wide->a)) return unscaled;
  return {wide->a, {std::get<float>(scaled->b), zero_point}};
}

/// The cast itself; the same for all that read it.
size_t GraphBuilder::bytes_tensor(const Op& op, const Bytes& bytes) {
  const auto [made, fresh] = bytes_.try_emplace({bytes.tensor, bytes.by.scale, bytes.by.zero_point});
  if (!fresh) return made->second;
  const auto [rows, columns] = std::pair(graph_.tensors[bytes.tensor].rows, graph_.tensors[bytes.tensor].columns);
  const size_t y =
      new_tensor(op.origin.node, {static_cast<int64_t>(rows), static_cast<int64_t>(columns)}, rows, columns);
  graph_.tensors[y].dtype = WEFT_VPU_DTYPE_I8;
  graph_.nodes.emplace_back(CopyNode{op.origin.node, bytes.tensor, y, false, bytes.by});
  return made->second = y;
}

/// The sums of x W by rows, i32: of bytes, whatever x's range is moved by. Weights that are no bytes are sums of such.
size_t GraphBuilder::product_of_bytes(const Op& op, size_t x, const std::vector<int32_t>& weights, uint64_t n) {
  const auto [rows, k] = std::pair(graph_.tensors[x].rows, graph_.tensors[x].columns);
  const int32_t offset = *integer_range_of(module_, op.operands[0])->to_bytes();
  const size_t bytes = bytes_tensor(op, before_bytes(op, x, offset));
  std::vector<int32_t> rest = weights;
  std::optional<size_t> sums;
  while (!sums || std::ranges::any_of(rest, [](int32_t w) { return w != 0; })) {
    DenseNode dense{op.origin.node, bytes, 0, k, n, {}, {}, false, !sums.has_value()};
    for (int32_t& w : rest) {
      const int32_t part = std::clamp(w, -128, 127);
      dense.weights.push_back(static_cast<float>(part));
      w -= part;
    }
    dense.y = new_tensor(op.origin.node, {static_cast<int64_t>(rows), static_cast<int64_t>(n)}, rows, n);
    graph_.tensors[dense.y].dtype = WEFT_VPU_DTYPE_I32;
    if (!sums && offset != 0) dense.integer_bias = offset_sums(offset, weights, n);
    const size_t y = dense.y;
    graph_.nodes.emplace_back(std::move(dense));
    if (!sums) producer_[y] = graph_.nodes.size() - 1;
    if (sums) producer_.erase(*sums);
    sums = sums ? emit(op, WEFT_VPU_OP_ADD, *sums, y) : y;
  }
  return *sums;
}

/// What the sums are too large by, with its sign turned, where `offset` has been added to all that is multiplied.
std::vector<int32_t> GraphBuilder::offset_sums(int32_t offset, const std::vector<int32_t>& weights, uint64_t n) {
  std::vector<uint32_t> sums(n);
  for (size_t i = 0; i < weights.size(); i++)
    sums[i % n] -= static_cast<uint32_t>(offset) * static_cast<uint32_t>(weights[i]);
  return {sums.begin(), sums.end()};
}

/// x w of i32 tensors as products of bf16, which has the numbers, of so few terms that f32 has the sums.
size_t GraphBuilder::product_in_parts(const Op& op, size_t x, size_t w, uint64_t batch, uint64_t terms) {
  const auto &left = graph_.tensors[x], &right = graph_.tensors[w];
  const uint64_t rows = left.rows, k = left.columns, n = right.columns;
  const auto product = [&](size_t a, size_t b) {
    const size_t y = new_tensor(op.origin.node, {static_cast<int64_t>(rows), static_cast<int64_t>(n)}, rows, n);
    const size_t first = cast(op, a, WEFT_VPU_DTYPE_F32), second = cast(op, b, WEFT_VPU_DTYPE_F32);
    graph_.nodes.emplace_back(PairProductNode{op.origin.node, first, second, y, batch});
    return cast(op, y, WEFT_VPU_DTYPE_I32);
  };
  if (k <= terms) return product(x, w);
  std::optional<size_t> sums;
  for (uint64_t first = 0; first < k; first += terms) {
    const uint64_t some = std::min(terms, k - first);
    std::vector<uint32_t> columns, lines;
    for (uint64_t row = 0; row < rows; row++)
      for (uint64_t i = 0; i < some; i++) columns.push_back(static_cast<uint32_t>(row * k + first + i));
    for (uint64_t b = 0; b < batch; b++)
      for (uint64_t i = 0; i < some * n; i++) lines.push_back(static_cast<uint32_t>((b * k + first) * n + i));
    const size_t part =
        product(tensor_of(op.origin.node, picked(graph_, {{x}, nullptr}, std::move(columns)), rows * some, some),
                tensor_of(op.origin.node, picked(graph_, {{w}, nullptr}, std::move(lines)), batch * some * n, n));
    sums = sums ? emit(op, WEFT_VPU_OP_ADD, *sums, part) : part;
  }
  return *sums;
}

/// A row of integers, or their largest value and zero, joins the product of bytes before it.
bool GraphBuilder::fuse_integers(const Op& op, size_t tensor, const Second& other, bool negative) {
  const auto made = producer_.find(tensor);
  if (made == producer_.end()) return false;
  const auto join = [&](auto& product) {
    const auto* number = std::get_if<int32_t>(&other);
    if (op.kind == OpKind::kMaximum) {
      if (number == nullptr || *number != 0) return false;
      product.relu = true;
      return true;
    }
    if (product.relu || op.kind == OpKind::kMultiply) return false;
    std::vector<int32_t> row(product.n, number == nullptr ? 0 : *number);
    if (const auto* of = std::get_if<size_t>(&other)) {
      const auto* constant = std::get_if<ConstantNode>(maker_of(*of));
      if (constant == nullptr || constant->integers.size() % product.n != 0) return false;
      const auto& all = constant->integers;
      for (size_t i = product.n; i < all.size(); i++)
        if (all[i] != all[i - product.n]) return false;
      row.assign(all.begin(), all.begin() + static_cast<ptrdiff_t>(product.n));
    }
    product.integer_bias.resize(product.n);
    for (size_t i = 0; i < row.size(); i++) {
      auto sum = static_cast<uint32_t>(product.integer_bias[i]);
      sum += negative ? 0u - static_cast<uint32_t>(row[i]) : static_cast<uint32_t>(row[i]);
      product.integer_bias[i] = static_cast<int32_t>(sum);
    }
    return true;
  };
  auto& node = graph_.nodes[made->second];
  if (auto* convolution = std::get_if<ConvolutionNode>(&node)) return join(*convolution);
  return join(std::get<DenseNode>(node));
}

}  // namespace weft::compiler
