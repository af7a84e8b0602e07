// Windows: one operation for each tap, on all places side by side.
#include <limits>

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

/// Four dimensions lie with the second one last, as convolutions leave them: rows then keep their lanes.
void GraphBuilder::add_window(const Op& op) {
  const auto &in = module_.type(op.operands[0]), &out = module_.type(op.results[0]);
  const Dims &window = op.list("window"), &stride = op.list("strides"), &low = op.list("low"),
             &dilation = op.list("dilation");
  const auto [what, neutral] = combination_of(op.word("kind"));
  if (is_window_fold(module_, op)) return add_window_fold(op, what, neutral);
  std::vector<size_t> order;
  for (size_t d = 0; d < in.rank(); d++) order.push_back(d);
  if (in.rank() == 4) order = {0, 2, 3, 1};
  ValueView source = view(op.operands[0], op.origin);
  const uint64_t columns = in.rank() == 0 ? 1 : static_cast<uint64_t>(out.dims[order.back()]);
  const auto in_columns = static_cast<uint64_t>(in.dims[order.back()]);
  const size_t whole = tensor_of(op.origin, picked(graph_, source, permuted(in.dims, order)), in.count(), in_columns);
  source = {{whole, constant_tensor(op.origin, std::vector<float>(columns, neutral), columns)}, nullptr};
  std::vector<uint32_t> both(in.count() + columns);
  for (uint32_t i = 0; i < both.size(); i++) both[i] = i;
  source.from = std::make_shared<const std::vector<uint32_t>>(std::move(both));
  Dims sizes, places;
  for (const size_t d : order) sizes.push_back(in.dims[d]), places.push_back(out.dims[d]);
  const Dims from = ir::strides_of(sizes), to = ir::strides_of(places), taps = ir::strides_of(window);
  const uint64_t count = out.count();
  size_t y = 0;
  for (uint64_t tap = 0; tap < ir::count_of(window); tap++) {
    std::vector<uint32_t> pick(count);
    for (uint64_t i = 0; i < count; i++) {
      int64_t at = 0;
      bool inside = true;
      for (size_t d = 0; d < order.size(); d++) {
        const size_t dim = order[d];
        const int64_t place = static_cast<int64_t>(i) / to[d] % places[d],
                      x = place * stride[dim] + static_cast<int64_t>(tap) / taps[dim] % window[dim] * dilation[dim] -
                          low[dim];
        inside = inside && x >= 0 && x < sizes[d];
        at += x * from[d];
      }
      pick[i] = static_cast<uint32_t>(inside ? static_cast<uint64_t>(at) : in.count() + i % columns);
    }
    const size_t under = tensor_of(op.origin, picked(graph_, source, std::move(pick)), count, columns);
    y = tap == 0 ? under : emit(op, what, y, under);
  }
  std::vector<size_t> back(order.size());
  for (size_t d = 0; d < order.size(); d++) back[order[d]] = d;
  views_[op.results[0]] = picked(graph_, {{y}, nullptr}, permuted(places, back));
}

}  // namespace weft::compiler
