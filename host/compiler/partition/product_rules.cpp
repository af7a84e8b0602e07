// Products of matrices, one by one or many, and convolutions as products of what lies under their windows. A constant
// sum, a factor for each column and a relu join the product before them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/compiler/partition/graph_builder.hpp"
#include "host/compiler/partition/integer_products.hpp"

namespace weft::compiler {

using ir::Dims;
using ir::Op;
using ir::OpKind;

namespace {

struct Order {
  std::vector<size_t> dims;
  uint64_t free = 1;  ///< elements of the dimensions that are neither side by side nor summed
};

/// [batch, free, summed], or [batch, summed, free].
Order order_of(const Dims& sizes, const Dims& batch, const Dims& summed, bool summed_last) {
  Order order;
  std::vector<size_t> free;
  for (size_t d = 0; d < sizes.size(); d++)
    if (std::ranges::find(batch, static_cast<int64_t>(d)) == batch.end() &&
        std::ranges::find(summed, static_cast<int64_t>(d)) == summed.end()) {
      free.push_back(d);
      order.free *= static_cast<uint64_t>(sizes[d]);
    }
  order.dims.assign(batch.begin(), batch.end());
  if (summed_last) order.dims.insert(order.dims.end(), free.begin(), free.end());
  order.dims.insert(order.dims.end(), summed.begin(), summed.end());
  if (!summed_last) order.dims.insert(order.dims.end(), free.begin(), free.end());
  return order;
}

uint64_t product_of(const Dims& sizes, const Dims& dims) {
  uint64_t count = 1;
  for (const int64_t d : dims) count *= static_cast<uint64_t>(sizes[static_cast<size_t>(d)]);
  return count;
}

constexpr uint64_t kManyRows = 512;                       // of the second operand, for which sums are products too
constexpr uint64_t kFewerColumns = 4;                     // of the result, by so much, than of the first operand
constexpr uint64_t kManyProducts = 64, kFewElements = 8;  // of the result of each

bool is_zero(const decltype(VectorNode::b)& operand) {
  const auto* number = std::get_if<float>(&operand);
  return number != nullptr && *number == 0;
}

}  // namespace

/// What a product has made and nothing else reads takes a constant sum, a factor for each column, or a relu with it.
bool GraphBuilder::fuse(const Op& op, const Aligned& operands) {
  const bool factor = op.kind == OpKind::kMultiply, difference = op.kind == OpKind::kSubtract;
  if (op.kind != OpKind::kMaximum && op.kind != OpKind::kAdd && !factor && !difference) return false;
  const size_t computed = is_constant(op.operands[0]) ? 1 : 0;
  const auto* tensor = std::get_if<size_t>(&operands.operands[computed]);
  const Second& other = operands.operands[1 - computed];
  if (tensor == nullptr || !is_exclusive(op.operands[computed]) || !is_constant(op.operands[1 - computed]) ||
      (std::holds_alternative<size_t>(other) && !is_i32(*tensor)) || (difference && computed == 1))
    return false;
  if (is_i32(*tensor)) return fuse_integers(op, *tensor, other, difference);
  const auto made = producer_.find(*tensor);
  if (made == producer_.end()) return false;
  const auto join = [&](auto& product) {
    if (op.kind == OpKind::kMaximum) {
      if (!is_zero(other)) return false;
      product.relu = true;
      return true;
    }
    if (product.relu) return false;
    const auto* columns = std::get_if<std::vector<float>>(&other);
    const auto row = columns != nullptr ? *columns : std::vector<float>(product.n, std::get<float>(other));
    auto bias = product.bias ? *product.bias : std::vector<float>();
    if (factor) {
      auto weights = product.weights;
      for (size_t i = 0; i < weights.size(); i++) weights[i] *= row[i % product.n];
      for (size_t i = 0; i < bias.size(); i++) bias[i] *= row[i];
      const auto fine = [](float v) { return v == 0 || std::isnormal(v); };
      if (!std::ranges::all_of(weights, fine) || !std::ranges::all_of(bias, fine)) return false;
      product.weights = std::move(weights);
    } else {
      bias.resize(product.n, -0.0f);
      for (size_t i = 0; i < bias.size(); i++) bias[i] += difference ? -row[i] : row[i];
    }
    if (!bias.empty()) product.bias = std::move(bias);
    return true;
  };
  auto& node = graph_.nodes[made->second];
  if (auto* convolution = std::get_if<ConvolutionNode>(&node)) return join(*convolution);
  return join(std::get<DenseNode>(node));
}

/// A product y that is read as c y, and in y (a e + b), computes c y itself: then (c y) (a / c e + b / c) is the other.
/// This is a gelu, of which one pass over y is left out.
void GraphBuilder::join_factors() {
  std::vector<std::vector<VectorNode*>> readers(graph_.tensors.size());  // null: another kind, or an output
  std::map<size_t, VectorNode*> made;
  for (const size_t t : graph_.outputs) readers[t].push_back(nullptr);
  for (auto& node : graph_.nodes) {
    auto* vector = std::get_if<VectorNode>(&node);
    for (const size_t t : operands_of(node)) readers[t].push_back(vector);
    if (vector != nullptr) made[vector->y] = vector;
  }
  std::set<const VectorNode*> gone;
  for (auto& node : graph_.nodes) {
    auto* dense = std::get_if<DenseNode>(&node);
    if (dense == nullptr || dense->relu || readers[dense->y].size() != 2) continue;
    for (const size_t i : {0u, 1u}) {
      VectorNode *multiple = readers[dense->y][i], *other = readers[dense->y][1 - i];
      if (multiple == nullptr || other == nullptr || multiple == other || multiple->op != WEFT_VPU_OP_MUL ||
          other->op != WEFT_VPU_OP_MUL || !std::holds_alternative<float>(multiple->b) ||
          !std::holds_alternative<size_t>(other->b) || std::ranges::count(readers[multiple->y], nullptr) != 0)
        continue;
      const size_t sum = other->a == dense->y ? std::get<size_t>(other->b) : other->a;
      const auto by = made.find(sum);
      if (by == made.end() || by->second->op != WEFT_VPU_OP_AXPY || !std::holds_alternative<float>(by->second->b) ||
          readers[sum].size() != 1)
        continue;
      const float c = std::get<float>(multiple->b);
      auto weights = dense->weights;
      auto bias = dense->bias.value_or(std::vector<float>());
      for (auto* values : {&weights, &bias})
        for (float& value : *values) value *= c;
      const auto fine = [](float v) { return v == 0 || std::isnormal(v); };
      const float factor = by->second->c / c, constant = std::get<float>(by->second->b) / c;
      if (!std::isnormal(c) || !fine(factor) || !fine(constant) || !std::ranges::all_of(weights, fine) ||
          !std::ranges::all_of(bias, fine))
        continue;
      dense->weights = std::move(weights);
      if (dense->bias) dense->bias = std::move(bias);
      by->second->c = factor, by->second->b = constant;
      for (VectorNode* reader : readers[multiple->y]) {
        if (reader->a == multiple->y) reader->a = dense->y;
        if (auto* b = std::get_if<size_t>(&reader->b); b != nullptr && *b == multiple->y) *b = dense->y;
      }
      gone.insert(multiple);
      break;
    }
  }
  std::erase_if(graph_.nodes, [&](const Node& node) {
    const auto* vector = std::get_if<VectorNode>(&node);
    return vector != nullptr && gone.contains(vector);
  });
}

bool GraphBuilder::is_i32_result(const Op& op) const { return lies_as_i32(module_.type(op.results[0]).element); }

uint64_t GraphBuilder::integer_terms(const Op& op) const {
  return exact_terms(*integer_range_of(module_, op.operands[0]), *integer_range_of(module_, op.operands[1]));
}

void GraphBuilder::add_product(const Op& op) {
  const auto &a = module_.type(op.operands[0]), &b = module_.type(op.operands[1]);
  const Order left = order_of(a.dims, op.list("lhs_batch"), op.list("lhs_contract"), true),
              right = order_of(b.dims, op.list("rhs_batch"), op.list("rhs_contract"), false);
  const uint64_t batch = product_of(a.dims, op.list("lhs_batch")), k = product_of(a.dims, op.list("lhs_contract"));
  const auto ordered = [&](ir::ValueId value, const Dims& dims, const std::vector<size_t>& order) {
    const ValueView v = view(value, op.origin.node);
    return std::ranges::is_sorted(order) ? v : picked(graph_, v, permuted(dims, order));
  };
  if (is_i32_result(op)) {
    const size_t x = tensor_of(op.origin.node, ordered(op.operands[0], a.dims, left.dims), a.count(), k);
    size_t y = 0;
    if (is_product_of_bytes(module_, op)) {
      const auto given = constant_integers(module_, op.operands[1]);
      std::vector<int32_t> weights;
      for (const uint32_t i : permuted(b.dims, right.dims)) weights.push_back(given[i]);
      y = product_of_bytes(op, x, weights, right.free);
    } else {
      const size_t w = tensor_of(op.origin.node, ordered(op.operands[1], b.dims, right.dims), b.count(), right.free);
      y = product_in_parts(op, x, w, batch, integer_terms(op));
    }
    graph_.tensors[y].dims = module_.type(op.results[0]).dims;
    views_[op.results[0]] = {{y}, nullptr};
    return;
  }
  if (k >= kManyRows && k >= kFewerColumns * right.free && is_exclusive(op.operands[0]))
    if (const auto divided = divided_by_its_sums(module_, op)) {
      const size_t x = tensor_of(op.origin.node, ordered(*divided, a.dims, left.dims), a.count(), k);
      const size_t w = tensor_of(op.origin.node, ordered(op.operands[1], b.dims, right.dims), b.count(), right.free);
      return add_quotient(op, x, w, batch);
    }
  if (k == 1 && batch >= kManyProducts && left.free * right.free <= kFewElements) {
    const ValueView x = ordered(op.operands[0], a.dims, left.dims), w = ordered(op.operands[1], b.dims, right.dims);
    return add_single_terms(op, x, w, {batch, left.free, right.free});
  }
  if (batch == 1 && is_constant(op.operands[1])) {
    auto values = constant_values(module_, op.operands[1]);
    DenseNode dense;
    dense.name = op.origin.node;
    dense.x = tensor_of(op.origin.node, ordered(op.operands[0], a.dims, left.dims), a.count(), k);
    dense.k = k, dense.n = right.free;
    if (std::ranges::is_sorted(right.dims)) {
      dense.weights = std::move(values);
    } else {
      dense.weights.reserve(values.size());
      for (const uint32_t i : permuted(b.dims, right.dims)) dense.weights.push_back(values[i]);
    }
    dense.y = new_tensor(op.origin.node, module_.type(op.results[0]).dims, left.free, right.free);
    views_[op.results[0]] = {{dense.y}, nullptr};
    producer_[dense.y] = graph_.nodes.size();
    graph_.nodes.emplace_back(std::move(dense));
    return;
  }
  const size_t x = tensor_of(op.origin.node, ordered(op.operands[0], a.dims, left.dims), a.count(), k);
  const size_t w = tensor_of(op.origin.node, ordered(op.operands[1], b.dims, right.dims), b.count(), right.free);
  const size_t y = new_tensor(op.origin.node, module_.type(op.results[0]).dims, batch * left.free, right.free);
  graph_.nodes.emplace_back(PairProductNode{op.origin.node, x, w, y, batch});
  views_[op.results[0]] = {{y}, nullptr};
}

/// Many products of one term each, of few elements, as one multiplication of the vector unit: three commands for each
/// product would take far longer. Its FMA with 0 is the MXU's first step, bit by bit.
void GraphBuilder::add_single_terms(const Op& op, const ValueView& x, const ValueView& w,
                                    const std::array<uint64_t, 3>& sizes) {
  const auto [batch, rows, columns] = sizes;
  const uint64_t count = batch * rows * columns;
  // In the columns that the readers ask for, if each product is in one row.
  const auto wanted = wanted_.find(op.results[0]);
  const bool fits = wanted != wanted_.end() && count % wanted->second == 0 && wanted->second % (rows * columns) == 0;
  const uint64_t width = fits ? wanted->second : rows * columns;
  std::vector<uint32_t> left, right;
  for (uint32_t i = 0; i < count; i++) {
    left.push_back(i / static_cast<uint32_t>(columns));
    right.push_back(i / static_cast<uint32_t>(rows * columns) * static_cast<uint32_t>(columns) +
                    i % static_cast<uint32_t>(columns));
  }
  const auto rounded = [&](const ValueView& view, std::vector<uint32_t> pick) {
    return widened(op, cast(op, tensor_of(op.origin.node, picked(graph_, view, std::move(pick)), count, width),
                            WEFT_VPU_DTYPE_BF16));
  };
  const size_t a = rounded(x, std::move(left)), b = rounded(w, std::move(right));
  const size_t y = emit(op, WEFT_VPU_OP_FMA, a, b, 0.0f);
  views_[op.results[0]] = {{y}, nullptr};
}

/// The rows of x, divided by their sums, times w: the rows of the product are divided instead, which are shorter, and
/// the sums are a product by ones, as wide as the rows to be divided by them.
void GraphBuilder::add_quotient(const Op& op, size_t x, size_t w, uint64_t batch) {
  const uint64_t rows = graph_.tensors[x].rows, k = graph_.tensors[x].columns, n = graph_.tensors[w].columns;
  const auto& dims = module_.type(op.results[0]).dims;
  const size_t product = new_tensor(op.origin.node, dims, rows, n), sums = new_tensor(op.origin.node, dims, rows, n);
  graph_.nodes.emplace_back(PairProductNode{op.origin.node, x, w, product, batch});
  graph_.nodes.emplace_back(
      DenseNode{op.origin.node, x, sums, k, n, std::vector<float>(k * n, 1.0f), {}, false, false});
  views_[op.results[0]] = {{emit(op, WEFT_VPU_OP_MUL, product, emit(op, WEFT_VPU_OP_RCP, sums))}, nullptr};
}

/// Rows are the places of the windows, columns the channels: x becomes one row for each window, (tap, channel), and the
/// result lies with its channels last.
void GraphBuilder::add_convolution(const Op& op) {
  if (is_windows_product(module_, op) && (!is_i32_result(op) || is_product_of_bytes(module_, op)))
    return add_windows_product(op);
  if (is_depthwise(module_, op)) return add_depthwise(op);
  const auto &x = module_.type(op.operands[0]), &w = module_.type(op.operands[1]), &y = module_.type(op.results[0]);
  const Dims &stride = op.list("strides"), &low = op.list("low"), &dilation_x = op.list("lhs_dilation"),
             &dilation_w = op.list("rhs_dilation");
  const auto groups = static_cast<size_t>(op.integer("groups"));
  const size_t spatial = x.rank() - 2;
  const auto channels = static_cast<size_t>(w.dims[1]), outputs = static_cast<size_t>(w.dims[0]) / groups,
             images = static_cast<size_t>(x.dims[0]);
  const Dims taps(w.dims.begin() + 2, w.dims.end()), places(y.dims.begin() + 2, y.dims.end()),
      size(x.dims.begin() + 2, x.dims.end());
  const size_t tap_count = ir::count_of(taps), place_count = ir::count_of(places), pixels = ir::count_of(size);
  // The pixel under each tap at each place; pixels: none.
  std::vector<size_t> pixel(tap_count * place_count);
  const Dims from = ir::strides_of(size), tap_strides = ir::strides_of(taps), place_strides = ir::strides_of(places);
  for (size_t p = 0; p < place_count; p++)
    for (size_t t = 0; t < tap_count; t++) {
      int64_t at = 0;
      bool inside = true;
      for (size_t d = 0; d < spatial; d++) {
        const int64_t place = static_cast<int64_t>(p) / place_strides[d] % places[d],
                      tap = static_cast<int64_t>(t) / tap_strides[d] % taps[d],
                      i = place * stride[d] + tap * dilation_w[d] - low[d];
        inside = inside && i >= 0 && i % dilation_x[d] == 0 && i / dilation_x[d] < size[d];
        at += i / dilation_x[d] * from[d];
      }
      pixel[p * tap_count + t] = inside ? static_cast<size_t>(at) : pixels;
    }
  // Channels last, and a zero behind the last pixel, then the patches of each group.
  ValueView source = view(op.operands[0], op.origin.node);
  std::vector<size_t> last{0};
  for (size_t d = 0; d < spatial; d++) last.push_back(d + 2);
  last.push_back(1);
  const auto all_channels = static_cast<uint64_t>(x.dims[1]);
  const size_t image = pixel_rows(op.origin.node, picked(graph_, source, permuted(x.dims, last)),
                                  x.count() / all_channels, all_channels);
  source = {{image}, nullptr};
  if (std::ranges::find(pixel, pixels) != pixel.end()) {
    source.tensors.push_back(is_i32_result(op)
                                 ? constant_tensor(op.origin.node, std::vector<int32_t>(all_channels), all_channels)
                                 : constant_tensor(op.origin.node, std::vector<float>(all_channels), all_channels));
    std::vector<uint32_t> both(x.count() + all_channels);
    std::iota(both.begin(), both.end(), 0u);
    source.from = std::make_shared<const std::vector<uint32_t>>(std::move(both));
  }
  const uint64_t k = tap_count * channels, rows = images * place_count;
  std::vector<uint32_t> patches;
  patches.reserve(groups * rows * k);
  for (size_t g = 0; g < groups; g++)
    for (size_t i = 0; i < images; i++)
      for (size_t at = 0; at < place_count * tap_count; at++)
        for (size_t c = 0; c < channels; c++)
          patches.push_back(static_cast<uint32_t>(
              (pixel[at] == pixels ? images * pixels : i * pixels + pixel[at]) * all_channels + g * channels + c));
  const size_t under = tensor_of(op.origin.node, picked(graph_, source, std::move(patches)), groups * rows * k, k);
  // Weights [group][tap, channel][output] from [group, output, channel, tap].
  std::vector<uint32_t> weights;
  weights.reserve(w.count());
  for (size_t g = 0; g < groups; g++)
    for (size_t t = 0; t < tap_count; t++)
      for (size_t c = 0; c < channels; c++)
        for (size_t o = 0; o < outputs; o++)
          weights.push_back(static_cast<uint32_t>(((g * outputs + o) * channels + c) * tap_count + t));
  size_t sums = 0;
  if (!is_i32_result(op)) {
    sums = new_tensor(op.origin.node, {static_cast<int64_t>(groups * rows), static_cast<int64_t>(outputs)},
                      groups * rows, outputs);
  } else if (is_product_of_bytes(module_, op)) {
    const auto given = constant_integers(module_, op.operands[1]);
    std::vector<int32_t> values;
    for (const uint32_t i : weights) values.push_back(given[i]);
    sums = product_of_bytes(op, under, values, outputs);
  } else {
    const size_t filter =
        tensor_of(op.origin.node, picked(graph_, view(op.operands[1], op.origin.node), weights), w.count(), outputs);
    sums = product_in_parts(op, under, filter, groups, integer_terms(op));
  }
  if (is_i32_result(op)) {
    // Done.
  } else if (groups == 1 && is_constant(op.operands[1])) {
    const auto values = constant_values(module_, op.operands[1]);
    DenseNode dense{op.origin.node, under, sums, k, outputs, {}, {}, false};
    for (const uint32_t i : weights) dense.weights.push_back(values[i]);
    producer_[sums] = graph_.nodes.size();
    graph_.nodes.emplace_back(std::move(dense));
  } else {
    const size_t filter = tensor_of(
        op.origin.node, picked(graph_, view(op.operands[1], op.origin.node), std::move(weights)), w.count(), outputs);
    graph_.nodes.emplace_back(PairProductNode{op.origin.node, under, filter, sums, groups});
  }
  // [image, group, output, place] from [group, image, place, output].
  const Dims lies{static_cast<int64_t>(groups), static_cast<int64_t>(images), static_cast<int64_t>(place_count),
                  static_cast<int64_t>(outputs)};
  views_[op.results[0]] = picked(graph_, {{sums}, nullptr}, permuted(lies, {1, 0, 3, 2}));
}

}  // namespace weft::compiler
