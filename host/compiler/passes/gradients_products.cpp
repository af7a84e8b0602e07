// Gradients of products, convolutions and reductions.
#include <algorithm>
#include <memory>
#include <utility>

#include "host/compiler/passes/gradient_rules.hpp"

namespace weft::compiler::passes {

using ir::Dims;
using ir::OpKind;
using ir::ValueId;

namespace {

bool contains(const Dims& list, size_t d) { return std::ranges::find(list, static_cast<int64_t>(d)) != list.end(); }

/// Dimensions of a tensor of `rank` that are in neither list, ascending.
Dims others(size_t rank, const Dims& a, const Dims& b) {
  Dims free;
  for (size_t d = 0; d < rank; d++)
    if (!contains(a, d) && !contains(b, d)) free.push_back(static_cast<int64_t>(d));
  return free;
}

/// The permutation that brings dimensions which are numbered `which` into ascending order.
Dims sorting(const Dims& which) {
  Dims order(which.size());
  for (size_t i = 0; i < which.size(); i++) order[static_cast<size_t>(which[i])] = static_cast<int64_t>(i);
  return order;
}

/// Elements of a dimension with spaces between them.
int64_t dilated(int64_t size, int64_t by) { return size == 0 ? 0 : (size - 1) * by + 1; }

}  // namespace

/// The gradient of an operand is a product of the result's gradient with the other operand, summed over the dimensions
/// that are only the other's; side by side what was. Of the two orders of its factors the one is taken whose result lies
/// as the operand does, if there is one.
void GradientRules::dot_general(const ir::Op& op, ValueId g) {
  const Dims *batch[] = {&op.list("lhs_batch"), &op.list("rhs_batch")},
             *sum[] = {&op.list("lhs_contract"), &op.list("rhs_contract")};
  Dims free[2], in_result[2];
  const size_t batches = batch[0]->size();
  size_t next = batches;
  for (size_t i = 0; i < 2; i++) {
    free[i] = others(to_.rank(op.operands[i]), *batch[i], *sum[i]);
    in_result[i] = ir::counting(free[i].size(), static_cast<int64_t>(next));
    next += free[i].size();
  }
  for (size_t i = 0; i < 2; i++) {
    const ValueId x = op.operands[i];
    if (!wanted(x)) continue;
    const ValueId other = to_.convert(op.operands[1 - i], to_.element(g));
    const Dims side = ir::counting(batches);
    // The other's summed dimensions, ascending, as dimensions of x.
    Dims left = *sum[1 - i], of_x;
    std::ranges::sort(left);
    for (const int64_t d : left) {
      const auto at = std::ranges::find(*sum[1 - i], d) - sum[1 - i]->begin();
      of_x.push_back((*sum[i])[static_cast<size_t>(at)]);
    }
    Dims gradient_first = *batch[i], other_first = *batch[i];
    gradient_first.insert(gradient_first.end(), free[i].begin(), free[i].end());
    gradient_first.insert(gradient_first.end(), of_x.begin(), of_x.end());
    other_first.insert(other_first.end(), of_x.begin(), of_x.end());
    other_first.insert(other_first.end(), free[i].begin(), free[i].end());
    ValueId made{};
    if (std::ranges::is_sorted(other_first) && !std::ranges::is_sorted(gradient_first))
      made = to_.transpose(to_.dot(other, g, *batch[1 - i], side, free[1 - i], in_result[1 - i], to_.element(g)),
                           sorting(other_first));
    else
      made = to_.transpose(to_.dot(g, other, side, *batch[1 - i], in_result[1 - i], free[1 - i], to_.element(g)),
                           sorting(gradient_first));
    add(x, to_.convert(made, to_.element(x)));
  }
}

/// With the sizes of image, window and result as they are spread: of the image, the result's gradient spread by the strides
/// goes under the window turned round; of the window, it is itself the window that goes over the image. Groups stay apart:
/// in the latter product the images of a group are its channels.
void GradientRules::convolution(const ir::Op& op, ValueId g) {
  const ValueId x = op.operands[0], w = op.operands[1];
  const Dims &stride = op.list("strides"), &low = op.list("low"), &dilation_x = op.list("lhs_dilation"),
             &dilation_w = op.list("rhs_dilation");
  const int64_t groups = op.integer("groups");
  ir::Builder::Convolution of_x{dilation_x, {}, {}, stride, dilation_w, groups},
      of_w{dilation_w, low, {}, dilation_x, stride, groups};
  Dims swapped = ir::counting(to_.rank(x));
  std::swap(swapped[0], swapped[1]);
  for (size_t d = 0; d < stride.size(); d++) {
    const int64_t image = dilated(to_.dim(x, d + 2), dilation_x[d]), window = dilated(to_.dim(w, d + 2), dilation_w[d]),
                  result = dilated(to_.dim(g, d + 2), stride[d]);
    of_x.low.push_back(window - 1 - low[d]);
    of_x.high.push_back(image + low[d] - result);
    of_w.high.push_back(result + window - 1 - low[d] - image);
  }
  if (wanted(x)) {
    const ValueId turned = to_.reverse(to_.convert(w, to_.element(g)), ir::counting(stride.size(), 2));
    add(x, to_.convert(to_.convolution(g, swapped_in_groups(turned, groups, 0), of_x, to_.element(g)), to_.element(x)));
  }
  if (wanted(w)) {
    const ValueId images = swapped_in_groups(to_.convert(x, to_.element(g)), groups, 1);
    const ValueId made = to_.convolution(images, to_.transpose(g, swapped), of_w, to_.element(g));
    add(w, to_.convert(to_.transpose(made, swapped), to_.element(w)));
  }
}

/// Dimensions 0 and 1 change places, and the groups that one of them is made of go to the other.
ValueId GradientRules::swapped_in_groups(ValueId x, int64_t groups, size_t grouped) {
  Dims apart = to_.dims(x), order = ir::counting(to_.rank(x) + 1), joined = to_.dims(x);
  apart[grouped] /= groups;
  apart.insert(apart.begin() + static_cast<ptrdiff_t>(grouped), groups);
  std::swap(order[grouped == 0 ? 1 : 0],
            order[2]);  // [groups, a, b] to [groups, b, a]; [a, groups, b] to [b, groups, a]
  joined[1 - grouped] = apart[grouped + 1];
  joined[grouped] = groups * to_.dim(x, 1 - grouped);
  return to_.reshape(to_.transpose(to_.reshape(x, apart), order), joined);
}

bool GradientRules::reduce(const ir::Op& op, ValueId y, ValueId g) {
  const ValueId x = op.operands[0];
  const Dims& gone = op.list("dimensions");
  const auto& kind = op.word("kind");
  const Dims kept = others(to_.rank(x), gone, {});
  if (kind == "add") {
    add(x, to_.broadcast_in(g, to_.dims(x), kept));
    return true;
  }
  if (kind != "maximum" && kind != "minimum") return false;
  const ValueId one = to_.like(g, 1), none = to_.like(g, 0);
  const ValueId is = to_.select(to_.compare("eq", x, to_.broadcast_in(y, to_.dims(x), kept)), one, none);
  const ValueId share = to_.over(g, to_.reduce("add", is, gone, ir::Builder::Keep::kNo));
  add(x, to_.times(is, to_.broadcast_in(share, to_.dims(x), kept)));
  return true;
}

/// Of sums each element gets the sum over the windows that it is in. Of the largest or smallest, the first such element of a
/// window gets its gradient.
bool GradientRules::reduce_window(const ir::Op& op, ValueId g) {
  const ValueId x = op.operands[0];
  const auto& kind = op.word("kind");
  if (to_.type(g).count() == 0) return true;
  const Dims &window = op.list("window"), &stride = op.list("strides"), &low = op.list("low"),
             &dilation = op.list("dilation");
  if (kind == "maximum" || kind == "minimum") {
    if (dilation != Dims(window.size(), 1)) return false;
    const auto scalars = [&](auto result) {
      auto region = std::make_shared<ir::Module>();
      const ir::TensorType scalar{to_.element(x), {}};
      const ValueId a = region->add_parameter("a", scalar), b = region->add_parameter("b", scalar);
      ir::Builder inside(*region);
      region->outputs.push_back({"result", result(inside, a, b)});
      return region;
    };
    const char* keeps = kind == "maximum" ? "ge" : "le";
    const auto choose = scalars([&](ir::Builder& to, ValueId a, ValueId b) { return to.compare(keeps, a, b); });
    const auto sum = scalars([](ir::Builder& to, ValueId a, ValueId b) { return to.plus(a, b); });
    add(x, to_.add_with_regions(OpKind::kSelectAndScatter, {x, g, to_.like(g, 0)},
                                {{"window", window}, {"strides", stride}, {"low", low}, {"high", op.list("high")}},
                                {choose, sum})[0]);
    return true;
  }
  if (kind != "add") return false;
  Dims before, behind, between;
  for (size_t d = 0; d < window.size(); d++) {
    before.push_back(dilated(window[d], dilation[d]) - 1 - low[d]);
    behind.push_back(to_.dim(x, d) + low[d] - dilated(to_.dim(g, d), stride[d]));
    between.push_back(stride[d] - 1);
  }
  const Dims none(window.size());
  const ValueId spread = to_.pad(g, to_.like(g, 0), before, behind, between);
  add(x, to_.reduce_window("add", spread, window, Dims(window.size(), 1), none, none, dilation));
  return true;
}

bool GradientRules::product(const ir::Op& op, ValueId y, ValueId g) {
  switch (op.kind) {
    case OpKind::kDotGeneral:
      dot_general(op, g);
      return true;
    case OpKind::kConvolution:
      convolution(op, g);
      return true;
    case OpKind::kReduce:
      return reduce(op, y, g);
    case OpKind::kReduceWindow:
      return reduce_window(op, g);
    default:
      return false;
  }
}

}  // namespace weft::compiler::passes
