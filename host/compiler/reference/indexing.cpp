// Gather, scatter and sort. Start indices of gather are moved into the operand, updates of scatter beyond it are
// dropped.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "host/compiler/reference/region.hpp"
#include "host/compiler/reference/rules.hpp"

namespace weft::compiler::reference {
namespace {

using ir::Dims;

bool contains(const Dims& list, size_t d) { return std::ranges::find(list, static_cast<int64_t>(d)) != list.end(); }

/// What gather and scatter have in common: a coordinate in the batched tensor (result of gather, updates of scatter) is
/// one of the batch and one of a window; the batch's coordinate names an index vector.
class Windows {
 public:
  Windows(const ir::Op& op, const ir::Tensor& indices, const Dims& window_dims, const Dims& map, const Dims& dropped,
          size_t operand_rank)
      : indices_(indices), window_dims_(window_dims), map_(map) {
    vector_ = static_cast<size_t>(op.integer("index_vector_dim"));
    strides_ = ir::strides_of(indices.type.dims);
    for (size_t d = 0; d < operand_rank; d++)
      if (!contains(dropped, d)) kept_.push_back(d);
  }

  /// The start of the window in the operand, and the place in the window.
  void split(const Dims& at, Dims& start, Dims& inside) const {
    std::ranges::fill(start, 0);
    std::ranges::fill(inside, 0);
    int64_t vector = 0;
    size_t window = 0, dim = 0;
    for (size_t d = 0; d < at.size(); d++) {
      if (contains(window_dims_, d)) {
        inside[kept_[window++]] = at[d];
      } else {
        if (dim == vector_) dim++;
        vector += at[d] * strides_[dim++];
      }
    }
    const int64_t step = vector_ < strides_.size() ? strides_[vector_] : 0;
    for (size_t i = 0; i < map_.size(); i++)
      start[static_cast<size_t>(map_[i])] =
          indices_.integer(static_cast<uint64_t>(vector + static_cast<int64_t>(i) * step));
  }

 private:
  const ir::Tensor& indices_;
  const Dims &window_dims_, &map_;
  size_t vector_;
  Dims strides_;
  std::vector<size_t> kept_;
};

}  // namespace

Results gather(const ir::Op& op, const Operands& in, const ir::Types& out) {
  auto result = make(out[0]);
  const ir::Tensor& operand = *in[0];
  const Dims& sizes = op.list("slice_sizes");
  const Windows windows(op, *in[1], op.list("offset_dims"), op.list("start_index_map"), op.list("collapsed_slice_dims"),
                        operand.type.rank());
  const Dims strides = ir::strides_of(operand.type.dims);
  const size_t bytes = ir::bytes_of(out[0].element);
  Dims start(operand.type.rank()), inside(operand.type.rank());
  Odometer at(out[0].dims);
  for (uint64_t i = 0, n = out[0].count(); i < n; i++, at.next()) {
    windows.split(at.at(), start, inside);
    int64_t from = 0;
    for (size_t d = 0; d < start.size(); d++)
      from += (std::clamp<int64_t>(start[d], 0, operand.type.dims[d] - sizes[d]) + inside[d]) * strides[d];
    std::memcpy(&result->data[i * bytes], &operand.data[static_cast<uint64_t>(from) * bytes], bytes);
  }
  return {result};
}

namespace {

/// The place in the operand of each element of the updates; -1: beside it.
std::vector<int64_t> scatter_places(const ir::Op& op, const Operands& in) {
  const ir::Tensor& updates = *in[2];
  const Dims& dims = in[0]->type.dims;
  const Windows windows(op, *in[1], op.list("update_window_dims"), op.list("scatter_dims_to_operand_dims"),
                        op.list("inserted_window_dims"), dims.size());
  const Dims strides = ir::strides_of(dims);
  Dims start(dims.size()), inside(dims.size());
  std::vector<int64_t> places(updates.type.count(), -1);
  Odometer at(updates.type.dims);
  for (auto& place : places) {
    windows.split(at.at(), start, inside);
    int64_t to = 0;
    bool lands = true;
    for (size_t d = 0; d < start.size(); d++) {
      lands = lands && start[d] >= 0 && start[d] < dims[d] && start[d] + inside[d] < dims[d];
      if (lands) to += (start[d] + inside[d]) * strides[d];
    }
    if (lands) place = to;
    at.next();
  }
  return places;
}

}  // namespace

Results scatter(const ir::Op& op, const Operands& in, const ir::Types& out) {
  const auto places = scatter_places(op, in);
  auto result = std::make_shared<ir::Tensor>(*in[0]);
  const auto& kind = op.word("kind");
  ir::visit_type(out[0].element, [&](auto t) {
    using T = typename decltype(t)::type;
    using C = computed_t<T>;
    for (size_t i = 0; i < places.size(); i++) {
      if (places[i] < 0) continue;
      T& element = result->as<T>()[places[i]];
      const T update = in[2]->as<T>()[i];
      element =
          kind == "set" ? update : narrow<T>(combine(combine_of(op), static_cast<C>(element), static_cast<C>(update)));
    }
  });
  return {result};
}

Results scatter_by(const ir::Op& op, const Operands& in, const ir::Types&) {
  auto result = std::make_shared<ir::Tensor>(*in[0]);
  map_region_at(*op.regions[0], *result, scatter_places(op, in), *in[2]);
  return {result};
}

Results sort(const ir::Op& op, const Operands& in, const ir::Types& out) {
  Results results;
  std::vector<std::shared_ptr<ir::Tensor>> sorted;
  for (const auto& type : out) sorted.push_back(make(type));
  const auto d = static_cast<size_t>(op.integer("dimension"));
  const bool descending = op.integer("descending") != 0;
  const auto size = static_cast<uint64_t>(out[0].dims[d]);
  const auto inner = static_cast<uint64_t>(ir::strides_of(out[0].dims)[d]);
  std::vector<uint64_t> order(size);
  for (uint64_t line = 0, lines = size == 0 ? 0 : out[0].count() / size; line < lines; line++) {
    const uint64_t first = line / inner * inner * size + line % inner;
    std::iota(order.begin(), order.end(), 0);
    ir::visit_type(out[0].element, [&](auto t) {
      using T = typename decltype(t)::type;
      using C = computed_t<T>;
      const T* keys = in[0]->as<T>();
      // NaN counts as the largest number, so that the order is total.
      const auto less = [&](uint64_t a, uint64_t b) {
        const auto x = static_cast<C>(keys[first + a * inner]), y = static_cast<C>(keys[first + b * inner]);
        return is_nan(y) ? !is_nan(x) : x < y;
      };
      std::stable_sort(order.begin(), order.end(),
                       [&](uint64_t a, uint64_t b) { return descending ? less(b, a) : less(a, b); });
    });
    for (size_t operand = 0; operand < in.size(); operand++) {
      const size_t bytes = ir::bytes_of(out[operand].element);
      for (uint64_t i = 0; i < size; i++)
        std::memcpy(&sorted[operand]->data[(first + i * inner) * bytes],
                    &in[operand]->data[(first + order[i] * inner) * bytes], bytes);
    }
  }
  for (auto& tensor : sorted) results.push_back(std::move(tensor));
  return results;
}

}  // namespace weft::compiler::reference
