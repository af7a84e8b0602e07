// Windows: one operation for each tap, on all places side by side.
#include <limits>
#include <numeric>

#include "host/compiler/partition/graph_builder.hpp"

namespace weft::compiler {

using ir::Dims;
using ir::Op;

namespace {

struct Combination {
  weft_vpu_op op;
  float neutral;
};

Combination combination_of(const std::string& kind) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (kind == "add") return {WEFT_VPU_OP_ADD, -0.0f};
  if (kind == "multiply") return {WEFT_VPU_OP_MUL, 1};
  if (kind == "maximum" || kind == "or") return {WEFT_VPU_OP_MAX, kind == "or" ? 0 : -kInfinity};
  return {WEFT_VPU_OP_MIN, kind == "and" ? 1 : kInfinity};
}

}  // namespace

/// Where each tap of a window reads at each of its places: elements of the operand, in its order of dimensions.
class WindowTaps {
 public:
  /// Four dimensions lie with the second one last, as convolutions leave them, unless windows are one element wide along
  /// the last one: rows then keep their lanes.
  WindowTaps(const ir::TensorType& in, const ir::TensorType& places, const Op& op, const Dims& dilation)
      : window_(op.list("window")), stride_(op.list("strides")), low_(op.list("low")), dilation_(dilation) {
    for (size_t d = 0; d < in.rank(); d++) order.push_back(d);
    if (in.rank() == 4 && window_[3] != 1) order = {0, 2, 3, 1};
    for (const size_t d : order) sizes.push_back(in.dims[d]), this->places.push_back(places.dims[d]);
    from_ = ir::strides_of(sizes), to_ = ir::strides_of(this->places), taps_ = ir::strides_of(window_);
  }

  std::vector<size_t> order;  ///< of dimensions, as they lie
  Dims sizes, places;         ///< of operand and result, in this order

  [[nodiscard]] uint64_t count() const { return ir::count_of(window_); }
  /// The element under a tap at place i; -1: beside the operand.
  [[nodiscard]] int64_t at(uint64_t tap, uint64_t i) const {
    int64_t element = 0;
    for (size_t d = 0; d < order.size(); d++) {
      const size_t dim = order[d];
      const int64_t place = static_cast<int64_t>(i) / to_[d] % places[d],
                    x = place * stride_[dim] + static_cast<int64_t>(tap) / taps_[dim] % window_[dim] * dilation_[dim] -
                        low_[dim];
      if (x < 0 || x >= sizes[d]) return -1;
      element += x * from_[d];
    }
    return element;
  }
  [[nodiscard]] std::vector<size_t> back() const {
    std::vector<size_t> back(order.size());
    for (size_t d = 0; d < order.size(); d++) back[order[d]] = d;
    return back;
  }

 private:
  const Dims &window_, &stride_, &low_;
  const Dims dilation_;
  Dims from_, to_, taps_;
};

/// For each tap, what lies under it at all places; `neutral` beside the operand.
std::vector<size_t> GraphBuilder::under_taps(const Op& op, const WindowTaps& taps, float neutral) {
  const auto& in = module_.type(op.operands[0]);
  const uint64_t count = ir::count_of(taps.places);
  const uint64_t columns = taps.places.empty() ? 1 : static_cast<uint64_t>(taps.places.back()),
                 in_columns = taps.sizes.empty() ? 1 : static_cast<uint64_t>(taps.sizes.back());
  const ValueView lies = picked(graph_, view(op.operands[0], op.origin.node), permuted(in.dims, taps.order));
  const size_t whole = tensor_of(op.origin.node, lies, in.count(), in_columns);
  ValueView source{{whole, constant_tensor(op.origin.node, std::vector<float>(columns, neutral), columns)}, nullptr};
  std::vector<uint32_t> both(in.count() + columns);
  std::iota(both.begin(), both.end(), 0u);
  source.from = std::make_shared<const std::vector<uint32_t>>(std::move(both));
  std::vector<size_t> under;
  for (uint64_t tap = 0; tap < taps.count(); tap++) {
    std::vector<uint32_t> pick(count);
    for (uint64_t i = 0; i < count; i++) {
      const int64_t at = taps.at(tap, i);
      pick[i] = static_cast<uint32_t>(at >= 0 ? static_cast<uint64_t>(at) : in.count() + i % columns);
    }
    under.push_back(tensor_of(op.origin.node, picked(graph_, source, std::move(pick)), count, columns));
  }
  return under;
}

void GraphBuilder::add_window(const Op& op) {
  const auto [what, neutral] = combination_of(op.word("kind"));
  if (is_window_fold(module_, op)) return add_window_fold(op, what, neutral);
  const WindowTaps taps(module_.type(op.operands[0]), module_.type(op.results[0]), op, op.list("dilation"));
  const auto under = under_taps(op, taps, neutral);
  size_t y = under[0];
  for (size_t tap = 1; tap < under.size(); tap++) y = emit(op, what, y, under[tap]);
  views_[op.results[0]] = picked(graph_, {{y}, nullptr}, permuted(taps.places, taps.back()));
}

/// The first tap that is its window's extreme takes the source; an element takes from the windows that it lies in.
void GraphBuilder::add_window_scatter(const Op& op) {
  const auto &in = module_.type(op.operands[0]), &sources = module_.type(op.operands[1]);
  const bool largest = window_scatter_of(module_, op) == Extreme::kLargest;
  const auto [what, neutral] = combination_of(largest ? "maximum" : "minimum");
  const WindowTaps taps(in, sources, op, Dims(in.rank(), 1));
  const uint64_t places = sources.count(), elements = in.count();
  const uint64_t columns = taps.places.empty() ? 1 : static_cast<uint64_t>(taps.places.back()),
                 in_columns = taps.sizes.empty() ? 1 : static_cast<uint64_t>(taps.sizes.back());
  const auto under = under_taps(op, taps, neutral);
  size_t top = under[0];
  for (size_t tap = 1; tap < under.size(); tap++) top = emit(op, what, top, under[tap]);
  const ValueView lies = picked(graph_, view(op.operands[1], op.origin.node), permuted(sources.dims, taps.order));
  const size_t source = tensor_of(op.origin.node, lies, places, columns);
  // What each tap takes, and then a row of zeros.
  ValueView taken;
  size_t free = 0;
  for (size_t tap = 0; tap < under.size(); tap++) {
    size_t is = emit(op, WEFT_VPU_OP_EQ, under[tap], top);
    if (tap != 0) is = emit(op, WEFT_VPU_OP_MUL, is, free);
    if (tap + 1 != under.size()) {
      const size_t rest = emit(op, WEFT_VPU_OP_EQ, is, 0.0f);
      free = tap == 0 ? rest : emit(op, WEFT_VPU_OP_MUL, free, rest);
    }
    taken.tensors.push_back(emit(op, WEFT_VPU_OP_SELECT, is, source, 0.0f));
  }
  taken.tensors.push_back(constant_tensor(op.origin.node, std::vector<float>(in_columns), in_columns));
  std::vector<std::vector<uint32_t>> layers;
  for (size_t tap = 0; tap < under.size(); tap++)
    for (uint64_t i = 0; i < places; i++) {
      const int64_t at = taps.at(tap, i);
      if (at < 0) continue;
      const auto e = static_cast<size_t>(at);
      size_t layer = 0;
      while (layer < layers.size() && layers[layer][e] < under.size() * places) layer++;
      if (layer == layers.size()) {
        layers.emplace_back(elements);
        for (uint64_t other = 0; other < elements; other++)
          layers[layer][other] = static_cast<uint32_t>(under.size() * places + other % in_columns);
      }
      layers[layer][e] = static_cast<uint32_t>(tap * places + i);
    }
  std::vector<uint32_t> all(under.size() * places + in_columns);
  std::iota(all.begin(), all.end(), 0u);
  taken.from = std::make_shared<const std::vector<uint32_t>>(std::move(all));
  size_t y = 0;
  for (size_t layer = 0; layer < layers.size(); layer++) {
    const size_t part =
        tensor_of(op.origin.node, picked(graph_, taken, std::move(layers[layer])), elements, in_columns);
    y = layer == 0 ? part : emit(op, WEFT_VPU_OP_ADD, y, part);
  }
  views_[op.results[0]] = picked(graph_, {{y}, nullptr}, permuted(taps.sizes, taps.back()));
}

}  // namespace weft::compiler
