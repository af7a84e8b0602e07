// Plans as modules of L1: each step on what is there, or not at all.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

#include "host/compiler/ir/builder.hpp"
#include "testbench/graphs/graph_plan.hpp"
#include "testbench/random/draw.hpp"

namespace weft::graphs {
namespace {

using compiler::ir::Builder;
using compiler::ir::count_of;
using compiler::ir::counting;
using compiler::ir::Dims;
using compiler::ir::ElementType;
using compiler::ir::OpKind;
using compiler::ir::Tensor;
using compiler::ir::ValueId;
using random::Draw;
using Kind = StepPlan::Kind;
using Made = std::optional<ValueId>;

constexpr uint64_t kMostSummed = 512;  // terms of a product's sum

class Building {
 public:
  explicit Building(const GraphPlan& plan) : plan_(plan), builder_(result_.module) {
    builder_.precision = plan.precision;
    for (size_t i = 0; i < plan.inputs.size(); i++)
      values_.push_back(result_.module.add_parameter("x" + std::to_string(i), {ElementType::kF32, plan.inputs[i]}));
  }

  PlannedModule run() {
    for (size_t i = 0; i < plan_.steps.size(); i++) {
      builder_.origin.node = "step" + std::to_string(i);
      if (const Made made = add(plan_.steps[i])) values_.push_back(*made);
    }
    for (unsigned layer = 0; layer < plan_.layers; layer++)
      if (!add_layer(layer)) break;
    // What the last value would be without any step has to be computed too.
    if (values_.size() == plan_.inputs.size()) values_.push_back(builder_.max(values_.back(), zero()));
    result_.module.outputs = {{"y", values_.back()}};
    const size_t computed = values_.size() - plan_.inputs.size();
    if (computed > 1 && plan_.data_seed % 4 == 0)
      result_.module.outputs.push_back({"z", values_[plan_.inputs.size() + plan_.data_seed / 4 % (computed - 1)]});
    return std::move(result_);
  }

 private:
  [[nodiscard]] ValueId value(uint32_t back) const { return values_[values_.size() - 1 - back % values_.size()]; }
  [[nodiscard]] uint64_t count(ValueId x) const { return builder_.type(x).count(); }
  [[nodiscard]] bool fits(const Dims& dims) const {
    return std::ranges::all_of(dims, [](int64_t d) { return d > 0; }) && count_of(dims) <= plan_.most_elements;
  }
  ValueId zero() { return builder_.scalar(ElementType::kF32, 0); }

  /// Numbers from -1 to 1 times `scale`, bf16 values half of the time.
  ValueId numbers(Draw& draw, const Dims& dims, float scale) {
    auto tensor = std::make_shared<Tensor>(compiler::ir::TensorType{ElementType::kF32, dims});
    const bool coarse = draw.once_in(2);
    for (uint64_t i = 0; i < tensor->type.count(); i++) {
      const auto steps = static_cast<float>(draw.below(coarse ? 129 : 1u << 20));
      tensor->as<float>()[i] = scale * (steps / (coarse ? 64.0f : 524288.0f) - 1);
    }
    return builder_.constant(tensor);
  }

  /// False: another one would begin with another shape.
  bool add_layer(unsigned layer) {
    const ValueId x = values_.back();
    if (builder_.rank(x) == 0) return false;
    for (size_t i = 0; i < plan_.layer.size(); i++) {
      StepPlan step = plan_.layer[i];
      step.operand = 0;
      if (step.kind == Kind::kDense)
        step.seed += layer, step.size = static_cast<uint64_t>(builder_.dims(values_.back()).back());
      builder_.origin.node = "layer" + std::to_string(layer) + "/step" + std::to_string(i);
      if (const Made made = add(step)) values_.push_back(*made);
    }
    if (values_.back() == x || builder_.dims(values_.back()) != builder_.dims(x)) return false;
    if (plan_.residual) values_.push_back(builder_.plus(values_.back(), x));
    return true;
  }

  Made add(const StepPlan& step) {
    Draw draw(step.seed);
    const ValueId x = value(step.operand);
    switch (step.kind) {
      case Kind::kFunction:
        return function(x, step);
      case Kind::kBinary:
        return binary(x, step, draw);
      case Kind::kDense:
        return dense(x, step, draw);
      case Kind::kPair:
        return pair(x, step);
      case Kind::kReduce:
        return reduce(x, step);
      case Kind::kSoftmax:
        return softmax(x, step);
      case Kind::kNormalize:
        return normalize(x);
      case Kind::kTranspose:
        return builder_.rank(x) < 2 ? Made() : builder_.transpose(x, permutation(builder_.rank(x), draw));
      case Kind::kReshape:
        return builder_.reshape(x, factors(count(x), draw));
      case Kind::kSlice:
        return slice(x, draw);
      case Kind::kPad:
        return pad(x, draw);
      case Kind::kConcatenate:
        return concatenate(x, step);
      case Kind::kReverse:
        return builder_.rank(x) == 0 ? Made() : builder_.reverse(x, {dimension(x, step.choice)});
      case Kind::kTake:
        return take(x, step, draw);
      case Kind::kConvolution:
      case Kind::kDepthwise:
        return convolution(x, step, draw);
      case Kind::kPool:
        return pool(x, draw);
      case Kind::kChoose:
        return choose(x, step, draw);
      case Kind::kIntegers:
        return (step.choice >> 8) % 3 == 0 ? rows(x, step, draw) : integers(x, step);
    }
    return {};
  }

  [[nodiscard]] int64_t dimension(ValueId x, uint32_t choice) const {
    return static_cast<int64_t>(choice % builder_.rank(x));
  }
  static Dims permutation(size_t rank, Draw& draw) {
    Dims order = counting(rank);
    for (size_t i = rank; i > 1; i--) std::swap(order[i - 1], order[draw.below(i)]);
    return order;
  }
  static Dims factors(uint64_t count, Draw& draw) {
    Dims dims;
    for (uint64_t rank = draw.between(1, 4); rank > 1; rank--) {
      uint64_t factor = draw.between(1, 12);
      while (count % factor != 0) factor--;
      dims.push_back(static_cast<int64_t>(factor));
      count /= factor;
    }
    dims.insert(draw.once_in(2) ? dims.begin() : dims.end(), static_cast<int64_t>(count));
    return dims;
  }

  /// Arguments are what the function is made for, unless anything goes.
  Made function(ValueId x, const StepPlan& step) {
    Builder& b = builder_;
    const ValueId size = b.unary(OpKind::kAbs, x);
    const bool any = plan_.special;
    const uint32_t which = step.choice % 16;
    result_.smooth = result_.smooth && which < 12;
    switch (which) {
      case 0:
        return size;
      case 1:
        return b.unary(OpKind::kNegate, x);
      case 2:
        return b.unary(OpKind::kTanh, x);
      case 3:
        return b.unary(OpKind::kErf, x);
      case 4:
        return b.unary(OpKind::kLogistic, x);
      case 5:
        return b.max(x, zero());
      case 6:
        return b.exp(any ? x : b.min(x, b.like(x, 2)));
      case 7:
        return b.log(any ? x : b.plus(size, 0.5));
      case 8:
        return b.sqrt(any ? x : b.plus(size, 0.25));
      case 9:
        return b.unary(OpKind::kRsqrt, any ? x : b.plus(size, 0.25));
      case 10:
        return b.unary(OpKind::kLogPlusOne, any ? x : size);
      case 11:
        return b.times(b.times(x, 0.5), b.plus(b.unary(OpKind::kErf, b.over(x, std::sqrt(2.0))), 1));
      case 12:
        return b.unary(OpKind::kFloor, x);
      case 13:
        return b.unary(OpKind::kCeil, x);
      case 14:
        return b.unary(OpKind::kSign, x);
      default:
        return b.unary(OpKind::kRoundNearestEven, x);
    }
  }

  /// Another value of x's shape, or constants of a shape that broadcasts.
  ValueId beside(ValueId x, uint32_t other, Draw& draw) {
    for (uint32_t i = 0; i < values_.size(); i++)
      if (const ValueId y = value(other + i); y != x && builder_.dims(y) == builder_.dims(x)) return y;
    Dims dims = builder_.dims(x);
    const auto shape = draw.below(4);
    if (shape == 0) dims.clear();
    for (size_t d = 0; d < dims.size(); d++)
      if ((shape == 1 && d + 1 < dims.size()) || (shape == 2 && draw.once_in(2))) dims[d] = 1;
    return numbers(draw, dims, 2);
  }

  Made binary(ValueId x, const StepPlan& step, Draw& draw) {
    ValueId y = beside(x, step.other, draw);
    if (step.choice % 2 != 0 && builder_.dims(x) == builder_.dims(y)) std::swap(x, y);
    switch (step.choice / 2 % 6) {
      case 0:
        return builder_.plus(x, y);
      case 1:
        return builder_.minus(x, y);
      case 2:
        return builder_.times(x, y);
      case 3:
        return builder_.max(x, y);
      case 4:
        return builder_.min(x, y);
      default:  // by what is no number near zero
        return builder_.over(x, builder_.plus(builder_.unary(OpKind::kAbs, y), 0.5));
    }
  }

  Made dense(ValueId x, const StepPlan& step, Draw& draw) {
    Builder& b = builder_;
    if (b.rank(x) == 0) return {};
    const int64_t k = b.dims(x).back(), n = static_cast<int64_t>(step.size);
    Dims out = b.dims(x);
    out.back() = n;
    if (!fits(out) || static_cast<uint64_t>(k) > kMostSummed) return {};
    const auto last = static_cast<int64_t>(b.rank(x)) - 1;
    ValueId y =
        b.dot(x, numbers(draw, {k, n}, 2 / std::sqrt(static_cast<float>(k))), {}, {}, {last}, {0}, ElementType::kF32);
    if (step.choice % 2 != 0) y = b.plus(y, numbers(draw, {n}, 1));
    return step.choice / 2 % 3 == 0 ? b.max(y, zero()) : y;
  }

  /// Rows of x by rows of another value of its shape, or of its own: scores; and those by the rows again.
  Made pair(ValueId x, const StepPlan& step) {
    Builder& b = builder_;
    const size_t rank = b.rank(x);
    if (rank < 2) return {};
    ValueId y = value(step.other);
    if (b.dims(y) != b.dims(x)) y = x;
    Dims out = b.dims(x);
    const int64_t k = out.back();
    out.back() = out[rank - 2];
    if (!fits(out) || static_cast<uint64_t>(k) > kMostSummed) return {};
    const auto last = static_cast<int64_t>(rank) - 1;
    const Dims batch = counting(rank - 2);
    const ValueId scores =
        b.times(b.dot(x, y, batch, batch, {last}, {last}, ElementType::kF32), 1 / std::sqrt(static_cast<double>(k)));
    if (step.choice % 2 != 0 || static_cast<uint64_t>(out.back()) > kMostSummed) return scores;
    return b.dot(*softmax(scores, {.choice = static_cast<uint32_t>(rank - 1)}), y, batch, batch, {last}, {last - 1},
                 ElementType::kF32);
  }

  Made reduce(ValueId x, const StepPlan& step) {
    if (builder_.rank(x) == 0) return {};
    Dims gone;
    for (size_t d = 0; d < builder_.rank(x); d++)
      if ((step.choice >> d & 1) != 0) gone.push_back(static_cast<int64_t>(d));
    if (gone.empty()) gone.push_back(static_cast<int64_t>(builder_.rank(x)) - 1);
    const auto keep = (step.choice >> 8 & 1) != 0 ? Builder::Keep::kYes : Builder::Keep::kNo;
    switch (step.choice / 16 % 3) {
      case 0:
        return builder_.mean(x, gone, keep);
      case 1:
        return builder_.reduce("maximum", x, gone, keep);
      default:
        return builder_.reduce("minimum", x, gone, keep);
    }
  }

  Made softmax(ValueId x, const StepPlan& step) {
    if (builder_.rank(x) == 0) return {};
    const Dims along{dimension(x, step.choice)};
    const ValueId powers = builder_.exp(builder_.minus(x, builder_.reduce("maximum", x, along, Builder::Keep::kYes)));
    return builder_.over(powers, builder_.reduce("add", powers, along, Builder::Keep::kYes));
  }

  Made normalize(ValueId x) {
    Builder& b = builder_;
    if (b.rank(x) == 0) return {};
    const Dims along{static_cast<int64_t>(b.rank(x)) - 1};
    const ValueId centred = b.minus(x, b.mean(x, along, Builder::Keep::kYes));
    const ValueId variance = b.mean(b.times(centred, centred), along, Builder::Keep::kYes);
    return b.over(centred, b.sqrt(b.plus(variance, 0.25)));
  }

  Made slice(ValueId x, Draw& draw) {
    Dims start, limit, stride;
    for (const int64_t size : builder_.dims(x)) {
      const auto from = static_cast<int64_t>(draw.once_in(2) ? 0 : draw.below(static_cast<uint64_t>(size)));
      start.push_back(from);
      limit.push_back(
          draw.once_in(2) ? size : from + static_cast<int64_t>(draw.between(1, static_cast<uint64_t>(size - from))));
      stride.push_back(static_cast<int64_t>(draw.one_of<uint64_t>({1, 1, 2, 3})));
    }
    return builder_.slice(x, start, limit, stride);
  }

  Made pad(ValueId x, Draw& draw) {
    Dims low, high, interior, out;
    for (const int64_t size : builder_.dims(x)) {
      low.push_back(static_cast<int64_t>(draw.below(3))), high.push_back(static_cast<int64_t>(draw.below(3)));
      interior.push_back(static_cast<int64_t>(draw.once_in(3) ? draw.below(3) : 0));
      out.push_back(low.back() + size + (size - 1) * interior.back() + high.back());
    }
    return fits(out) ? builder_.pad(x, builder_.like(x, draw.once_in(2) ? 0 : 0.5), low, high, interior) : Made();
  }

  Made concatenate(ValueId x, const StepPlan& step) {
    if (builder_.rank(x) == 0) return {};
    const auto along = static_cast<size_t>(dimension(x, step.choice));
    ValueId y = value(step.other);
    Dims one = builder_.dims(x), two = builder_.dims(y);
    if (one.size() != two.size()) y = x, two = one;
    Dims out = one;
    out[along] += two[along];
    one[along] = two[along] = 1;
    if (one != two) y = x, out[along] = 2 * builder_.dim(x, along);
    return fits(out) ? builder_.concatenate({x, y}, along) : Made();
  }

  Made take(ValueId x, const StepPlan& step, Draw& draw) {
    if (builder_.rank(x) == 0) return {};
    const auto along = static_cast<size_t>(dimension(x, step.choice));
    Dims places, out = builder_.dims(x);
    for (uint64_t i = 0, n = draw.between(1, 20); i < n; i++)
      places.push_back(static_cast<int64_t>(draw.below(static_cast<uint64_t>(builder_.dim(x, along)))));
    out[along] = static_cast<int64_t>(places.size());
    return fits(out) ? builder_.take(x, builder_.integers(places), along) : Made();
  }

  /// Images, channels and pixels of any value.
  ValueId as_images(ValueId x, Draw& draw) {
    if (builder_.rank(x) == 4) return x;
    uint64_t left = count(x);
    Dims dims;
    for (const uint64_t most : {uint64_t{2}, uint64_t{10}, uint64_t{12}}) {
      uint64_t factor = draw.between(1, most);
      while (left % factor != 0) factor--;
      dims.push_back(static_cast<int64_t>(factor));
      left /= factor;
    }
    dims.push_back(static_cast<int64_t>(left));
    return builder_.reshape(x, dims);
  }

  struct WindowShape {
    Dims taps, stride, low, high, dilation, places;
  };
  static WindowShape windows(const Dims& x, Draw& draw, uint64_t most_taps) {
    WindowShape w;
    for (size_t d = 2; d < 4; d++) {
      const auto taps = static_cast<int64_t>(draw.between(1, most_taps)),
                 dilation = static_cast<int64_t>(draw.once_in(5) ? 2 : 1);
      w.taps.push_back(taps), w.dilation.push_back(dilation);
      w.stride.push_back(static_cast<int64_t>(draw.one_of<uint64_t>({1, 1, 2, 3})));
      w.low.push_back(static_cast<int64_t>(draw.below(static_cast<uint64_t>(taps)))),
          w.high.push_back(static_cast<int64_t>(draw.below(static_cast<uint64_t>(taps))));
      const int64_t room = x[d] + w.low.back() + w.high.back() - (taps - 1) * dilation - 1;
      w.places.push_back(room < 0 ? 0 : room / w.stride.back() + 1);
    }
    return w;
  }

  Made convolution(ValueId x, const StepPlan& step, Draw& draw) {
    Builder& b = builder_;
    x = as_images(x, draw);
    const Dims in = b.dims(x);
    const WindowShape w = windows(in, draw, 4);
    const bool depthwise = step.kind == Kind::kDepthwise;
    const int64_t channels = depthwise ? in[1] : static_cast<int64_t>(step.size);
    if (!fits({in[0], channels, w.places[0], w.places[1]})) return {};
    const int64_t summed = (depthwise ? 1 : in[1]) * w.taps[0] * w.taps[1];
    if (static_cast<uint64_t>(summed) > kMostSummed) return {};
    const ValueId weights = numbers(draw, {channels, depthwise ? 1 : in[1], w.taps[0], w.taps[1]},
                                    2 / std::sqrt(static_cast<float>(summed)));
    ValueId y = b.convolution(x, weights,
                              {.strides = w.stride,
                               .low = w.low,
                               .high = w.high,
                               .lhs_dilation = {1, 1},
                               .rhs_dilation = w.dilation,
                               .groups = depthwise ? in[1] : 1},
                              ElementType::kF32);
    if (step.choice % 2 != 0) y = b.plus(y, numbers(draw, {channels, 1, 1}, 1));
    return step.choice / 2 % 2 == 0 ? b.max(y, zero()) : y;
  }

  Made pool(ValueId x, Draw& draw) {
    x = as_images(x, draw);
    const Dims in = builder_.dims(x);
    const WindowShape w = windows(in, draw, 3);
    if (!fits({in[0], in[1], w.places[0], w.places[1]})) return {};
    const auto all = [](int64_t first, const Dims& of) { return Dims{first, first, of[0], of[1]}; };
    const char* kind = draw.one_of({"maximum", "maximum", "add", "minimum"});
    return builder_.reduce_window(kind, x, all(1, w.taps), all(1, w.stride), all(0, w.low), all(0, w.high),
                                  all(1, w.dilation));
  }

  Made choose(ValueId x, const StepPlan& step, Draw& draw) {
    result_.smooth = false;
    const char* direction = draw.one_of({"eq", "ne", "lt", "le", "gt", "ge"});
    const ValueId y = beside(x, step.other, draw);
    return builder_.select(builder_.compare(direction, x, y), step.choice % 2 != 0 ? x : y, builder_.like(x, 0.25));
  }

  /// Rows of a table by numbers that the network computes, beyond its ends too.
  Made rows(ValueId x, const StepPlan& step, Draw& draw) {
    Builder& b = builder_;
    const auto all = static_cast<int64_t>(count(x)), taken = std::min<int64_t>(all, 40);
    const auto width = static_cast<int64_t>(step.size), table = static_cast<int64_t>(draw.between(1, 60));
    if (!fits({taken, width}) || !fits({table, width})) return {};
    result_.smooth = false;
    const ValueId numbered = b.slice_of(b.reshape(b.convert(b.times(x, 16), ElementType::kI32), {all}), 0, 0, taken);
    return b.take(numbers(draw, {table, width}, 1), numbered, 0);
  }

  Made integers(ValueId x, const StepPlan& step) {
    Builder& b = builder_;
    result_.smooth = false;
    const ValueId i = b.convert(b.times(x, 8), ElementType::kI32), c = b.scalar(ElementType::kI32, 3);
    const ValueId y = step.choice % 4 == 0   ? b.plus(i, c)
                      : step.choice % 4 == 1 ? b.times(i, c)
                      : step.choice % 4 == 2 ? b.min(i, c)
                                             : b.unary(OpKind::kAbs, i);
    return b.convert(y, ElementType::kF32);
  }

  const GraphPlan& plan_;
  PlannedModule result_;
  Builder builder_;
  std::vector<ValueId> values_;
};

}  // namespace

PlannedModule build_module(const GraphPlan& plan) { return Building(plan).run(); }

}  // namespace weft::graphs
