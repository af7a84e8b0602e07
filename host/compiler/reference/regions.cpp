// Operators that run regions. A region of elementwise operators runs on vectors: a reduction combines halves, a sort
// compares the pairs of one step of a sorting network, a scatter the updates that meet no other.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "host/compiler/ir/refusal.hpp"
#include "host/compiler/reference/evaluate.hpp"
#include "host/compiler/reference/region.hpp"
#include "host/compiler/reference/window.hpp"

namespace weft::compiler::reference {
namespace {

using ir::Dims;
using ir::OpKind;
using ir::Tensor;
using ir::TensorPtr;

/// Elements of `from` by their places; below 0: `otherwise`, an element's bytes.
TensorPtr pick(const Tensor& from, const std::vector<int64_t>& places, const std::byte* otherwise = nullptr) {
  auto result = make({from.type.element, {static_cast<int64_t>(places.size())}});
  const size_t bytes = ir::bytes_of(from.type.element);
  for (size_t i = 0; i < places.size(); i++)
    std::memcpy(&result->data[i * bytes],
                places[i] < 0 ? otherwise : &from.data[static_cast<size_t>(places[i]) * bytes], bytes);
  return result;
}

/// A scalar as often as asked for.
TensorPtr repeat(const Tensor& scalar, size_t count) { return pick(scalar, std::vector<int64_t>(count)); }

std::shared_ptr<Tensor> with_dims(TensorPtr tensor, const ir::TensorType& type) {
  auto result = writable(std::move(tensor));
  result->type = type;
  return result;
}

/// The place under each tap of a window at each place of the window; -1: beside the tensor.
std::vector<std::vector<int64_t>> window_taps(const ir::Op& op, const Dims& size, const Dims& places,
                                              const Dims& dilation) {
  const Dims& window = op.list("window");
  const Dims dense(size.size(), 1);
  const Window under{size, op.list("strides"), op.list("low"), dilation, dense};
  const uint64_t count = ir::count_of(window), at_all = ir::count_of(places);
  check_work(op, static_cast<double>(count) * static_cast<double>(at_all));
  std::vector<std::vector<int64_t>> taps(count, std::vector<int64_t>(at_all));
  Odometer tap(window);
  for (uint64_t t = 0; t < count; t++, tap.next()) {
    Odometer at(places);
    for (uint64_t i = 0; i < at_all; i++, at.next()) taps[t][i] = under.element(at.at(), tap.at());
  }
  return taps;
}

}  // namespace

std::shared_ptr<Tensor> writable(TensorPtr tensor) {
  // One holder: the parameter. Every tensor is made as one that can be written.
  return tensor.use_count() == 1 ? std::const_pointer_cast<Tensor>(tensor) : std::make_shared<Tensor>(*tensor);
}

Runner::Runner(const ir::Module& module) : module_(module), values_(module.values().size()) {
  std::vector<bool> needed(values_.size());
  for (const auto& output : module.outputs) needed[index_of(output.value)] = true;
  types_.resize(module.ops().size());
  last_.resize(module.ops().size());
  for (size_t i = module.ops().size(); i-- > 0;) {
    const ir::Op& op = module.ops()[i];
    for (const auto result : op.results) types_[i].push_back(module.type(result));
    last_[i].resize(op.operands.size());
    for (size_t o = op.operands.size(); o-- > 0;) {
      auto value = needed[index_of(op.operands[o])];
      last_[i][o] = !value;
      value = true;
    }
  }
}

Results Runner::run(Operands inputs) {
  for (size_t i = 0; i < module_.inputs.size(); i++) values_[index_of(module_.inputs[i])] = std::move(inputs[i]);
  for (size_t i = 0; i < module_.ops().size(); i++) {
    const ir::Op& op = module_.ops()[i];
    if (op.kind == OpKind::kParameter) continue;
    Operands operands(op.operands.size());
    for (size_t o = 0; o < operands.size(); o++) {
      auto& value = values_[index_of(op.operands[o])];
      if (last_[i][o])
        operands[o] = std::move(value);
      else
        operands[o] = value;
    }
    Results results = evaluate_op(op, operands, types_[i]);
    for (size_t r = 0; r < results.size(); r++) values_[index_of(op.results[r])] = std::move(results[r]);
  }
  Results outputs;
  for (const auto& output : module_.outputs) outputs.push_back(values_[index_of(output.value)]);
  std::ranges::fill(values_, nullptr);
  return outputs;
}

Results map_region(const ir::Module& region, const Operands& vectors) {
  const Dims dims{static_cast<int64_t>(vectors[0]->type.count())};
  std::vector<TensorPtr> values(region.values().size());
  for (size_t i = 0; i < vectors.size(); i++) values[index_of(region.inputs[i])] = vectors[i];
  for (const auto& op : region.ops()) {
    if (op.kind == OpKind::kParameter) continue;
    auto& value = values[index_of(op.results[0])];
    if (op.kind == OpKind::kConstant) {
      value = repeat(*op.constant, vectors[0]->type.count());
    } else if (op.kind == OpKind::kReshape || op.kind == OpKind::kBroadcast) {
      value = values[index_of(op.operands[0])];
    } else {
      Operands operands;
      for (const auto operand : op.operands) operands.push_back(values[index_of(operand)]);
      value = evaluate_op(op, operands, {{region.type(op.results[0]).element, dims}})[0];
    }
  }
  Results outputs;
  for (const auto& output : region.outputs) outputs.push_back(values[index_of(output.value)]);
  return outputs;
}

void map_region_at(const ir::Module& region, Tensor& target, const std::vector<int64_t>& places,
                   const Tensor& updates) {
  std::vector<int64_t> waiting;
  for (size_t i = 0; i < places.size(); i++)
    if (places[i] >= 0) waiting.push_back(static_cast<int64_t>(i));
  const size_t bytes = ir::bytes_of(target.type.element);
  std::vector<uint32_t> turn_of(target.type.count());
  // Of the updates of one place, one a turn.
  for (uint32_t turn = 1; !waiting.empty(); turn++) {
    std::vector<int64_t> now, to, later;
    for (const int64_t i : waiting) {
      const int64_t place = places[static_cast<size_t>(i)];
      auto& last = turn_of[static_cast<size_t>(place)];
      if (last == turn) {
        later.push_back(i);
        continue;
      }
      last = turn;
      now.push_back(i);
      to.push_back(place);
    }
    const TensorPtr results = map_region(region, {pick(target, to), pick(updates, now)})[0];
    for (size_t i = 0; i < to.size(); i++)
      std::memcpy(&target.data[static_cast<size_t>(to[i]) * bytes], &results->data[i * bytes], bytes);
    waiting = std::move(later);
  }
}

Results while_loop(const ir::Op& op, const Operands& in, const ir::Types&) {
  const auto carried = static_cast<size_t>(op.integer("carried"));
  Runner condition(*op.regions[0]), body(*op.regions[1]);
  Operands values = in;
  while (condition.run(values)[0]->as<bool>()[0]) {
    Operands inputs = std::move(values);
    values.assign(in.size(), nullptr);
    std::copy(in.begin() + static_cast<std::ptrdiff_t>(carried), in.end(),
              values.begin() + static_cast<std::ptrdiff_t>(carried));
    Results next = body.run(std::move(inputs));
    std::ranges::move(next, values.begin());
  }
  values.resize(carried);
  return values;
}

Results case_of(const ir::Op& op, const Operands& in, const ir::Types&) {
  // An index beyond the branches means the last one.
  const int64_t index = in[0]->integer(0), count = static_cast<int64_t>(op.regions.size());
  const size_t branch = static_cast<size_t>(index < 0 || index >= count ? count - 1 : index);
  return Runner(*op.regions[branch]).run({in.begin() + 1, in.end()});
}

Results reduce_by(const ir::Op& op, const Operands& in, const ir::Types& out) {
  const size_t count = in.size() / 2;
  const ir::Module& region = *op.regions[0];
  const Dims& dims = in[0]->type.dims;
  // Places in the operand: those that become one result stand side by side.
  const Dims own = ir::strides_of(dims);
  Dims order_dims, order_strides;
  int64_t size = 1;
  const auto gone = [&](size_t d) {
    return std::ranges::find(op.list("dimensions"), static_cast<int64_t>(d)) != op.list("dimensions").end();
  };
  for (const bool reduced : {false, true})
    for (size_t d = 0; d < dims.size(); d++)
      if (gone(d) == reduced) {
        order_dims.push_back(dims[d]), order_strides.push_back(own[d]);
        if (reduced) size *= dims[d];
      }
  const auto results = static_cast<int64_t>(out[0].count());
  Operands sums(count);
  std::vector<int64_t> places(static_cast<size_t>(results * size));
  Odometer at(order_dims);
  for (auto& place : places) {
    place = 0;
    for (size_t d = 0; d < order_dims.size(); d++) place += at.at()[d] * order_strides[d];
    at.next();
  }
  for (size_t i = 0; i < count; i++) sums[i] = pick(*in[i], places);
  for (; size > 1; size = (size + 1) / 2) {
    std::vector<int64_t> left, right, rest;
    for (int64_t r = 0; r < results; r++)
      for (int64_t i = 0; i + 1 < size; i += 2) left.push_back(r * size + i), right.push_back(r * size + i + 1);
    Operands pairs;
    for (const auto& sum : sums) pairs.push_back(pick(*sum, left));
    for (const auto& sum : sums) pairs.push_back(pick(*sum, right));
    const Results halves = map_region(region, pairs);
    if (size % 2 == 0) {
      sums = halves;
      continue;
    }
    // The last one of an odd number has no partner.
    const int64_t pairs_each = size / 2;
    for (size_t i = 0; i < count; i++) {
      auto joined = make({sums[i]->type.element, {results * (pairs_each + 1)}});
      const size_t bytes = ir::bytes_of(joined->type.element);
      for (int64_t r = 0; r < results; r++) {
        std::memcpy(&joined->data[static_cast<size_t>(r * (pairs_each + 1)) * bytes],
                    &halves[i]->data[static_cast<size_t>(r * pairs_each) * bytes],
                    static_cast<size_t>(pairs_each) * bytes);
        std::memcpy(&joined->data[static_cast<size_t>(r * (pairs_each + 1) + pairs_each) * bytes],
                    &sums[i]->data[static_cast<size_t>(r * size + size - 1) * bytes], bytes);
      }
      sums[i] = std::move(joined);
    }
  }
  Operands initial;
  for (size_t i = 0; i < count; i++) initial.push_back(repeat(*in[count + i], static_cast<size_t>(results)));
  if (size == 0 || results == 0) {
    sums = std::move(initial);
  } else {
    initial.insert(initial.end(), sums.begin(), sums.end());
    sums = map_region(region, initial);
  }
  Results shaped;
  for (size_t i = 0; i < count; i++) shaped.push_back(with_dims(std::move(sums[i]), out[i]));
  return shaped;
}

Results reduce_window_by(const ir::Op& op, const Operands& in, const ir::Types& out) {
  const size_t count = in.size() / 2;
  Operands sums;
  for (size_t i = 0; i < count; i++) sums.push_back(repeat(*in[count + i], out[0].count()));
  if (out[0].count() != 0)
    for (const auto& tap : window_taps(op, in[0]->type.dims, out[0].dims, op.list("dilation"))) {
      for (size_t i = 0; i < count; i++) sums.push_back(pick(*in[i], tap, in[count + i]->data.data()));
      sums = map_region(*op.regions[0], sums);
    }
  Results shaped;
  for (size_t i = 0; i < count; i++) shaped.push_back(with_dims(std::move(sums[i]), out[i]));
  return shaped;
}

Results select_and_scatter(const ir::Op& op, const Operands& in, const ir::Types& out) {
  const Dims& size = in[0]->type.dims;
  const auto places = in[1]->type.count();
  auto result = with_dims(repeat(*in[2], out[0].count()), out[0]);
  if (places == 0) return {result};
  std::vector<int64_t> chosen(places, -1);
  for (const auto& tap : window_taps(op, size, in[1]->type.dims, Dims(size.size(), 1))) {
    std::vector<int64_t> both_chosen, both_tap;
    for (size_t i = 0; i < places; i++) {
      if (tap[i] < 0) continue;
      if (chosen[i] >= 0) both_chosen.push_back(chosen[i]), both_tap.push_back(tap[i]);
    }
    const TensorPtr keeps = map_region(*op.regions[0], {pick(*in[0], both_chosen), pick(*in[0], both_tap)})[0];
    for (size_t i = 0, pair = 0; i < places; i++) {
      if (tap[i] < 0) continue;
      if (chosen[i] < 0 || !keeps->as<bool>()[pair++]) chosen[i] = tap[i];
    }
  }
  map_region_at(*op.regions[1], *result, chosen, *in[1]);
  return {result};
}

Results sort_by(const ir::Op& op, const Operands& in, const ir::Types& out) {
  const auto d = static_cast<size_t>(op.integer("dimension"));
  const int64_t size = out[0].dims[d], inner = ir::strides_of(out[0].dims)[d];
  std::vector<int64_t> order(out[0].count());  // the place in the operand of each element of the result
  std::iota(order.begin(), order.end(), 0);
  std::vector<int64_t> first;  // elements of lines
  for (int64_t i = 0; i < static_cast<int64_t>(order.size()); i++)
    if (i / inner % size == 0) first.push_back(i);
  // Exchanges where the second element goes before the first; equal ones keep the order of the operand.
  const auto exchange = [&](const std::vector<int64_t>& low, int64_t distance) {
    std::vector<int64_t> a, b;
    for (const int64_t place : low) {
      a.push_back(order[static_cast<size_t>(place)]);
      b.push_back(order[static_cast<size_t>(place + distance * inner)]);
    }
    Operands forward, backward;
    for (const auto& operand : in) {
      const TensorPtr x = pick(*operand, a), y = pick(*operand, b);
      forward.push_back(x), forward.push_back(y);
      backward.push_back(y), backward.push_back(x);
    }
    const TensorPtr before = map_region(*op.regions[0], forward)[0], behind = map_region(*op.regions[0], backward)[0];
    for (size_t i = 0; i < low.size(); i++)
      if (behind->as<bool>()[i] || (!before->as<bool>()[i] && b[i] < a[i]))
        std::swap(order[static_cast<size_t>(low[i])], order[static_cast<size_t>(low[i] + distance * inner)]);
  };
  // Batcher's merge exchange, which sorts any number of elements.
  int64_t top = 1;
  while (top * 2 < size) top *= 2;
  for (int64_t p = size > 1 ? top : 0; p > 0; p /= 2) {
    int64_t r = 0, distance = p;
    for (int64_t q = top;; q /= 2) {
      std::vector<int64_t> low;
      for (const int64_t line : first)
        for (int64_t i = 0; i + distance < size; i++)
          if ((i & p) == r) low.push_back(line + i * inner);
      if (!low.empty()) exchange(low, distance);
      if (q == p) break;
      distance = q - p;
      r = p;
    }
  }
  Results results;
  for (size_t i = 0; i < in.size(); i++) results.push_back(with_dims(pick(*in[i], order), out[i]));
  return results;
}

}  // namespace weft::compiler::reference
